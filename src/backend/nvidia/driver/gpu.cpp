#include "backend/nvidia/driver/gpu.h"

#include <sys/mman.h>

#include <atomic>

#include "base/sync/futex.h"
#include "base/system/os.h"

namespace vg::backend::nvidia {
namespace {

// The addresses that UVM may map for us: all that a process has, without the first page.
constexpr uint64_t kSpaceBase = 0x1000, kSpaceBytes = 0x1FFFFFB000000;
constexpr uint64_t kSpareShare = 16;  // the part of the memory that may lie unused

}  // namespace

// UVM's share of opening a GPU, which takes the kernel most of the time: on a thread of its own.
class Gpu::Registration {
 public:
  explicit Registration(Gpu& gpu, const CUuuid& uuid) : gpu_(gpu), uuid_(uuid) {
    const auto main = [](void* self) { static_cast<Registration*>(self)->run(); };
    if (!os::startThread("vg-register", main, this)) run();
  }
  ~Registration() { (void)wait(); }
  Registration(const Registration&) = delete;

  Status wait() {
    while (!done_.load(std::memory_order_acquire)) futex::wait(done_, 0);
    gpu_.registered_ = !status_;
    return status_;
  }

 private:
  void run() {
    status_ = gpu_.uvm_.registerGpu(uuid_);
    done_.store(1, std::memory_order_release);
    futex::wakeAll(done_);
  }

  Gpu& gpu_;
  const CUuuid uuid_;
  Status status_ = kOk;
  std::atomic<uint32_t> done_{0};
};

Result<std::unique_ptr<Gpu>> Gpu::open(Client& client, Uvm& uvm, const rm::CardInfo& card) {
  std::unique_ptr<Gpu> gpu(new Gpu(client, uvm, card));
  VG_TRY(gpu->file_, client.openGpu(card.minor));
  VG_CHECK(gpu->makeDevice());
  VG_TRY(const CUuuid uuid, askUuid(client, gpu->subdevice_));
  Registration registration(*gpu, uuid);
  VG_TRY(gpu->facts_, askFacts(client, gpu->device_, gpu->subdevice_, uuid));
  gpu->spare_ = std::make_unique<SpareMemory>(client, gpu->device_, gpu->facts_.totalMemory / kSpareShare);
  const GpuClasses& classes = gpu->facts_.classes;
  if (!classes.usermode || !classes.channel || !classes.copy) {
    return fail(CUDA_ERROR_NOT_SUPPORTED, "%s has no channels that this library knows", gpu->facts_.name.c_str());
  }
  VG_CHECK(gpu->checkConfidential());
  VG_CHECK(gpu->mapDoorbell());
  VG_CHECK(gpu->makeAddressSpace());
  (void)gpu->boost();  // a hint; slower without it
  VG_CHECK(gpu->registerSpace(registration));
  return gpu;
}

CUresult Gpu::makeDevice() {
  rm::IdInfo id{};
  id.gpuId = card_.gpuId;
  if (const Status status = client_.control(client_.handle(), rm::kGetIdInfo, &id, sizeof id))
    return refused(status, "the identity of GPU %#x", card_.gpuId);
  instance_ = id.deviceInstance;
  rm::DeviceParameters device{};
  device.deviceId = id.deviceInstance;
  device.clientShare = client_.handle();
  Client::Made made = client_.make(client_.handle(), rm::kDevice, &device, sizeof device);
  if (made.status) return refused(made.status, "device %u", id.deviceInstance);
  device_ = made.handle;
  rm::SubdeviceParameters subdevice{id.subdeviceInstance};
  made = client_.make(device_, rm::kSubdevice, &subdevice, sizeof subdevice);
  if (made.status) return refused(made.status, "subdevice %u", id.subdeviceInstance);
  subdevice_ = made.handle;
  return CUDA_SUCCESS;
}

// Where the feature is on, plain system memory is closed to the GPU.
CUresult Gpu::checkConfidential() {
  struct {
    rm::Handle client;
  } parameters{client_.handle()};
  const Client::Made made = client_.make(client_.handle(), rm::kConfidentialCompute, &parameters, sizeof parameters);
  if (made.status) return CUDA_SUCCESS;  // this GPU has no such feature
  uint8_t capabilities[6] = {};
  const Status status = client_.control(made.handle, rm::kConfidentialCapabilities, capabilities, sizeof capabilities);
  client_.free(client_.handle(), made.handle);
  if (!status && capabilities[3]) return fail(CUDA_ERROR_NOT_SUPPORTED, "confidential computing is on");
  return CUDA_SUCCESS;
}

CUresult Gpu::mapDoorbell() {
  const Client::Made made = client_.make(subdevice_, facts_.classes.usermode, nullptr, 0);
  if (made.status) return refused(made.status, "the doorbell");
  usermode_ = made.handle;
  void* const reserved =
      mmap(nullptr, rm::kUsermodeBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no addresses for the doorbell");
  registers_ = static_cast<std::byte*>(reserved);
  VG_CHECK(client_.map(static_cast<int>(card_.minor), subdevice_, usermode_, 0, registers_, rm::kUsermodeBytes,
                       rm::kMapWriteOnly, &registersInKernel_));
  doorbell_ = reinterpret_cast<volatile uint32_t*>(registers_ + rm::kDoorbell);
  return CUDA_SUCCESS;
}

CUresult Gpu::makeAddressSpace() {
  rm::AddressSpaceParameters parameters{};
  parameters.flags = rm::kExternallyOwned | rm::kPageFaulting;
  parameters.base = kSpaceBase;
  parameters.bytes = kSpaceBytes;
  const Client::Made made = client_.make(device_, rm::kAddressSpace, &parameters, sizeof parameters);
  if (made.status) return refused(made.status, "an address space");
  addressSpace_ = made.handle;
  return CUDA_SUCCESS;
}

CUresult Gpu::registerSpace(Registration& registration) {
  if (const Status status = registration.wait()) return refused(status, "the GPU for unified addresses");
  VG_CHECK(uvm_.registerSpace(facts_.uuid, addressSpace_));
  spaceRegistered_ = true;
  return CUDA_SUCCESS;
}

bool Gpu::reaches(const Gpu& other) const {
  rm::PeerCapabilities peers{};
  peers.gpuIds[0] = card_.gpuId;
  peers.gpuIds[1] = other.card_.gpuId;
  peers.count = 2;
  const size_t bytes = client_.abi().peerCapabilities;
  if (client_.control(client_.handle(), rm::kGetPeerCapabilities, &peers, bytes)) return false;
  constexpr uint32_t kBoth = rm::kPeersRead | rm::kPeersWrite;
  return (peers.capabilities & kBoth) == kBoth;
}

// Full clocks for as long as this process lives; a hint of this client alone.
CUresult Gpu::boost() {
  rm::PerfBoost boost{rm::kBoostToMax | rm::kBoostCuda, UINT32_MAX};
  const Status status = client_.control(subdevice_, rm::kPerfBoost, &boost, sizeof boost);
  return status ? refused(status, "full clocks") : CUDA_SUCCESS;
}

Gpu::~Gpu() {
  spare_.reset();
  if (spaceRegistered_) uvm_.unregisterSpace(facts_.uuid);
  if (registered_) uvm_.unregisterGpu(facts_.uuid);
  if (registers_) munmap(registers_, rm::kUsermodeBytes);
  if (registersInKernel_) client_.unmap(subdevice_, usermode_, registersInKernel_);
  if (device_) client_.free(client_.handle(), device_);  // and all below it
}

}  // namespace vg::backend::nvidia
