#include "backend/nvidia/device.h"

#include <unistd.h>

#include "backend/nvidia/driver/courtesy.h"
#include "backend/nvidia/kernels/gpu_image.h"
#include "backend/nvidia/kernels/kernel_services.h"
#include "backend/nvidia/queue.h"
#include "backend/nvidia/traits.h"
#include "base/log.h"
#include "base/system/os.h"
#include "base/text/log_history.h"
#include "base/undying.h"

namespace vg::backend::nvidia {
namespace {

struct Driver {
  std::unique_ptr<Client> client;
  std::unique_ptr<Uvm> uvm;
  std::unique_ptr<HostPages> hostPages;
};

// Never closed: the end of the process does it.
Result<Driver&> driver() {
  return undyingIfMade<Driver>([]() -> Result<Driver> {
    VG_TRY(std::unique_ptr<Client> client, Client::open(SystemCalls::real()));
    VG_TRY(std::unique_ptr<Uvm> uvm, Uvm::open(*client));
    auto hostPages = std::make_unique<HostPages>(*uvm);
    return Driver{std::move(client), std::move(uvm), std::move(hostPages)};
  });
}

Result<Device*> openDevice(int ordinal, copy::Parallel* threads) {
  VG_TRY(Driver & kernel, driver());
  rm::CardInfo cards[32];
  VG_TRY(const int count, kernel.client->cards(cards, 32));
  if (ordinal >= count) return fail(CUDA_ERROR_NO_DEVICE, "the kernel driver has %d GPUs, not %d", count, ordinal + 1);
  VG_TRY(std::unique_ptr<Gpu> gpu, Gpu::open(*kernel.client, *kernel.uvm, cards[ordinal]));
  VG_TRY(Traits traits, traitsOf(*gpu));
  VG_TRY(Addresses & addresses, Addresses::shared());
  auto* const device = new GpuDevice(std::move(gpu), *kernel.hostPages, addresses, std::move(traits), threads);
  device->prepareEarly();
  device->transfer().meetOthers();
  return device;
}

}  // namespace

bool GpuDevice::driverIsThere() { return !access(Client::kControlNode, F_OK); }

Device* GpuDevice::open(int ordinal, copy::Parallel* threads) {
  Result<Device*> device = openDevice(ordinal, threads);
  if (device.ok()) return *device;
  const bool behindTheLast = ordinal > 0 && device.error() == CUDA_ERROR_NO_DEVICE;
  if (!behindTheLast) VG_LOG(Warn, "GPU %d cannot be used: %s", ordinal, log::lastReason().c_str());
  if (device.error() == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();  // who asks again may find it
  return nullptr;
}

GpuDevice::GpuDevice(std::unique_ptr<Gpu> gpu, HostPages& hostPages, Addresses& addresses, Traits traits,
                     copy::Parallel* threads)
    : gpu_(std::move(gpu)),
      traits_(std::move(traits)),
      memory_(*gpu_, known_),
      managed_(gpu_->uvm()),
      hostPages_(hostPages),
      gpuHostPages_(hostPages_, *gpu_, known_),
      engine_(*gpu_, addresses),
      transfer_(*gpu_, addresses, known_, memory_, managed_, threads,
                [this]() -> Result<ComputeEngine&> { return engine_.compute(); }),
      queueParts_(*gpu_, known_, engine_, transfer_),
      childSender_(queueParts_, Executor::shared()),
      parts_{traits_, memory_, gpuHostPages_, transfer_, engine_, childSender_} {
  known_.alsoAsk(managed_.ranges());
}

namespace {

// Multiprocessors come in pairs, of which a grid can be kept away.
std::array<uint32_t, 4> disabledTpcs(const GpuFacts& facts, const MultiprocessorSet* only) {
  std::array<uint32_t, 4> mask{};
  if (!only) return mask;
  if (facts.tpcs.empty()) VG_LOG(Warn, "the multiprocessors of this GPU are not known: kernels run on all of them");
  for (size_t tpc = 0; tpc < facts.tpcs.size(); ++tpc) {
    bool used = false;
    for (uint32_t i = 0; i < facts.multiprocessorsPerTpc; ++i) used |= (*only)[tpc * facts.multiprocessorsPerTpc + i];
    if (!used) mask[facts.tpcs[tpc] / 32] |= 1u << facts.tpcs[tpc] % 32;
  }
  return mask;
}

}  // namespace

// CUDA counts priorities downwards: 0 is the least urgent, -5 the most.
std::unique_ptr<Queue> GpuDevice::createQueue(int priority, const MultiprocessorSet* only) {
  return std::make_unique<GpuQueue>(queueParts_, Executor::shared(), Executor::urgencyOf(priority),
                                    disabledTpcs(gpu_->facts(), only));
}

Result<std::unique_ptr<Image>> GpuDevice::load(const ImageSource& source, const LoadOptions&) {
  return loadImage(parts_, source);
}

Result<uint64_t> GpuDevice::addTexture(const arrays::TextureView& view, void* owner) {
  VG_TRY(TexturePool & textures, engine_.textures());
  return textures.add(view, owner);
}

void* GpuDevice::textureOwner(uint64_t handle) const {
  const TexturePool* const textures = engine_.texturesIfMade();
  return textures ? textures->owner(handle) : nullptr;
}

void GpuDevice::removeTexture(uint64_t handle) noexcept {
  if (TexturePool* const textures = engine_.texturesIfMade()) textures->remove(handle);
}

bool GpuDevice::canReach(const Device& peer) const {
  const auto* const other = dynamic_cast<const GpuDevice*>(&peer);
  return other && other != this && gpu_->reaches(*other->gpu_);
}

CUresult GpuDevice::reach(Device& peer) {
  auto& other = static_cast<GpuDevice&>(peer);
  VG_CHECK(gpu_->uvm().enablePeers(gpu_->facts().uuid, other.gpu_->facts().uuid));
  return other.memory_.showTo({gpu_.get(), &known_});
}

void GpuDevice::leave(Device& peer) noexcept { static_cast<GpuDevice&>(peer).memory_.hideFrom({gpu_.get(), &known_}); }

CUresult GpuDevice::reachRange(Device& peer, std::byte* start, size_t bytes) {
  auto& other = static_cast<GpuDevice&>(peer);
  VG_CHECK(gpu_->uvm().enablePeers(gpu_->facts().uuid, other.gpu_->facts().uuid));
  return other.memory_.showTo({gpu_.get(), &known_}, start, bytes);
}

void GpuDevice::leaveRange(Device& peer, std::byte* start) noexcept {
  static_cast<GpuDevice&>(peer).memory_.hideFrom({gpu_.get(), &known_}, start);
}

CUresult GpuDevice::grant(Device& owner, std::byte* start, size_t bytes, alloc::Protection protection) {
  auto& other = static_cast<GpuDevice&>(owner);
  if (&other != this && protection != alloc::Protection::None)
    VG_CHECK(gpu_->uvm().enablePeers(gpu_->facts().uuid, other.gpu_->facts().uuid));
  return other.memory_.mappings().grant({gpu_.get(), &known_}, start, bytes, protection);
}

// The kernel driver moves it to every GPU of the process.
void GpuDevice::reachManaged(Device& owner) {
  if (const auto* const gpu = dynamic_cast<const GpuDevice*>(&owner)) known_.alsoAsk(gpu->managed_.ranges());
}

void GpuDevice::contextBegins() noexcept {
  if (early_.exchange(false, std::memory_order_relaxed))
    (void)os::startThread(
        "vg-prepare",
        [](void* self) {
          const InBackground background;
          try {
            (void)static_cast<KernelEngine*>(self)->compute();
          } catch (const std::bad_alloc&) {  // whoever needs it makes it
          }
        },
        &engine_);
}

void GpuDevice::flushOutput() noexcept { KernelServices::flushAll(); }

void GpuDevice::quiesce() noexcept {
  constexpr uint64_t kPatience = 250'000'000;  // ns
  Executor::shared().close(kPatience);
}

}  // namespace vg::backend::nvidia
