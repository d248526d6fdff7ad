// A call of the kernel driver is refused once, whichever it is: opened, used and closed all the same, a GPU leaves
// nothing behind, nobody waits for ever, and the error says what was refused. CI tries some of the calls;
// REFUSE_EVERY=1 all of them.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/faults/faults.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/traits.h"
#include "base/text/log_history.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;

// What went wrong first, in the library's words.
struct First {
  CUresult error = CUDA_SUCCESS;
  std::string reason;
  bool operator()(CUresult result) {
    if (result != CUDA_SUCCESS && error == CUDA_SUCCESS) error = result, reason = log::lastReason();
    return result == CUDA_SUCCESS;
  }
  template <class T>
  bool operator()(const Result<T>& result) {
    return (*this)(result.ok() ? CUDA_SUCCESS : result.error());
  }
};

CUresult copyRow(GpuDevice& device, std::byte* to, std::byte* from, size_t bytes) {
  copy::Shape shape;
  shape.destination.base = to;
  shape.source.base = from;
  shape.width = bytes;
  return device.transfer().copy(shape);
}

// Copies of every kind, by engines and kernels; what arrives must be right.
void copies(First& first, GpuDevice& device, std::byte* video) {
  std::vector<std::byte> from(3 * kMiB, std::byte{7}), to(from.size());
  const bool locked = first(device.pageLocker().lock(from.data() + 5, kMiB, false));
  const auto there = [&](size_t bytes) {
    if (!first(copyRow(device, video, from.data(), bytes)) || !first(copyRow(device, video + 4 * kMiB, video, bytes)) ||
        !first(copyRow(device, to.data(), video + 4 * kMiB, bytes)))
      return;
    EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0) << bytes;
  };
  there(from.size());
  there(kMiB / 2);
  there(100);
  first(device.transfer().fill({video, 0, 2 * kMiB, 1, 0x5a, 1}));
  if (locked) device.pageLocker().unlock(from.data() + 5, kMiB);
}

// Memory that is mapped, shown to the CPU and given to others.
void sharing(First& first, GpuDevice& device, std::byte* addresses) {
  Result<alloc::PhysicalRef> made = device.memory().create(2 * kMiB, alloc::Sharing::Shareable, "");
  if (!first(made)) return;
  alloc::PhysicalRef memory = std::move(made).value();
  if (first(memory->map(addresses, 0, 2 * kMiB, alloc::Protection::ReadWrite))) {
    device.showToHost(addresses, 2 * kMiB);
    memory->unmap(addresses, 2 * kMiB);
  }
  memory.reset();
  device.memory().trim();
}

void managed(First& first, GpuDevice& device, std::byte* addresses) {
  backend::MovableMemory& memory = *device.managedMemory();
  if (!first(memory.commit(addresses, 2 * kMiB))) return;
  first(memory.moveTo(&device, addresses, 2 * kMiB));
  memory.decommit(addresses, 2 * kMiB);
}

void work(First& first, std::unique_ptr<Gpu> gpu, Addresses& addresses) {
  Result<backend::Traits> traits = traitsOf(*gpu);
  if (!first(traits)) return;
  Window window(32 * kMiB);
  HostPages hostPages(gpu->uvm());
  GpuDevice device(std::move(gpu), hostPages, addresses, traits.value());
  if (first(device.memory().commit(window.start, 8 * kMiB))) {
    copies(first, device, window.start);
    device.memory().decommit(window.start, 8 * kMiB);
  }
  sharing(first, device, window.start + 16 * kMiB);
  managed(first, device, window.start + 24 * kMiB);
  if (Result<TexturePool&> textures = device.parts().engine.textures(); first(textures))
    first(textures.value().addSampler({}));
  if (Result<ComputeEngine&> compute = device.compute(); first(compute)) first(compute.value().reserveLocal(16));
}

void live(First& first, FakeDriver& driver) {
  Result<std::unique_ptr<Client>> client = Client::open(driver);
  if (!first(client)) return;
  Result<std::unique_ptr<Uvm>> uvm = Uvm::open(*client.value());
  rm::CardInfo cards[4];
  if (!first(uvm) || !first(client.value()->cards(cards, 4))) return;
  Result<std::unique_ptr<Gpu>> gpu = Gpu::open(*client.value(), *uvm.value(), cards[0]);
  if (first(gpu)) work(first, std::move(gpu).value(), Addresses::shared().value());
}

FakeDriver::Description gpuOfThisTest() {
  FakeDriver::Description description;
  description.memory = 512 * kMiB;
  description.program = moveBoxes;
  return description;
}

struct EveryCallRefused : ::testing::TestWithParam<Status> {};

TEST_P(EveryCallRefused, LeavesNothingAndIsNamed) {
  backend::cpu::faults::arm();
  const char* const every = std::getenv("REFUSE_EVERY");
  const size_t step = every ? static_cast<size_t>(std::max(std::atoi(every), 1)) : 25;
  size_t errors = 0;
  for (size_t call = 1;; call += step) {
    FakeDriver driver(gpuOfThisTest());
    driver.refuse(call, GetParam());
    First first;
    live(first, driver);
#ifdef __SANITIZE_ADDRESS__  // leaves 1 GiB of the addresses, and memory that could not be freed keeps its own
    if (first.reason.find("left of the addresses") != std::string::npos) return;
#endif
    EXPECT_EQ(driver.objects(), 0u) << "call " << call;
    EXPECT_EQ(driver.openFiles(), 0u) << "call " << call;
    EXPECT_EQ(driver.ranges(), 0u) << "call " << call;
    EXPECT_EQ(driver.usedMemory(), 0u) << "call " << call;
    if (!driver.refused()) {
      EXPECT_EQ(first.error, CUDA_SUCCESS) << first.reason;
      EXPECT_GT(call, 100u);
      break;
    }
    errors += first.error != CUDA_SUCCESS;
    if (first.error) {
      EXPECT_FALSE(first.reason.empty()) << "call " << call;
    }
    if (HasFailure()) {
      ADD_FAILURE() << "call " << call << ": " << first.error << " " << first.reason;
      break;
    }
  }
  EXPECT_GT(errors, 100 / step);
}

INSTANTIATE_TEST_SUITE_P(Statuses, EveryCallRefused, ::testing::Values(kNoMemory, kSystemCall | EIO),
                         [](const auto& info) { return info.param == kNoMemory ? "NoMemory" : "SystemCall"; });

}  // namespace
}  // namespace vg::testing
