// An opened GPU on the fake driver, as tests want it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/compute/native_code.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/driver/generation.h"
#include "backend/nvidia/traits.h"
#include "gpu/fake_driver.h"

namespace vg::testing {

// The value, or a test that fails and an exception that ends it.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error("result " + std::to_string(result.error()));
  return std::move(result).value();
}

// Of the native code that the fake's GPUs run: 90 for sm_90.
inline uint32_t fakeArchitecture() {
  for (const backend::nvidia::Generation& row : backend::nvidia::kGenerations)
    if (row.smVersion == FakeDriver::Description{}.smVersion) return static_cast<uint32_t>(row.computeCapability);
  throw std::runtime_error("the fake's GPUs are of no known generation");
}

namespace transfer {
using backend::nvidia::NativeCode;
#include "backend/nvidia/compute/transfer_kernels.inc"
}  // namespace transfer

// What the kernels of VideoKernels do; which one it is, its code tells. Ends with the code of a fault when the grid
// does not cover a row, or when it is none of them.
inline uint32_t moveBoxes(const FakeGrid& grid, const FakeTranslate& translate) {
  namespace qmd = backend::nvidia::qmd;
  const backend::nvidia::Qmd& d = grid.descriptor;
  const auto is = [&](const backend::nvidia::NativeCode& code) {
    const std::byte* const there = translate(grid.program, code.bytes, false);
    return there && std::memcmp(there, code.words, code.bytes) == 0;
  };
  if (is(transfer::kCopyRow)) {
    const uint64_t units = grid.parameter<uint64_t>(16), bytes = units * 16 + grid.parameter<uint32_t>(24);
    if (uint64_t{d.get(qmd::kGridWidth)} * d.get(qmd::kBlockWidth) < (bytes + 15) / 16) return 13;
    std::byte* const to = translate(grid.parameter<uint64_t>(0), bytes, true);
    const std::byte* const from = translate(grid.parameter<uint64_t>(8), bytes, false);
    if (!to || !from) return 31;
    std::memcpy(to, from, bytes);
    return 0;
  }
  const bool copies = is(transfer::kCopyBox), oneRow = is(transfer::kFillRow);
  if (!copies && !oneRow && !is(transfer::kFillBox)) return 13;
  const auto word = [&](size_t index) { return grid.parameter<uint64_t>(8 * index); };
  const auto half = [&](size_t index) { return grid.parameter<uint32_t>(4 * index); };
  const uint64_t to = word(0), width = word(copies ? 6 : oneRow ? 1 : 2);
  const uint32_t height = oneRow ? 1 : half(copies ? 14 : 6), depth = copies ? half(15) : 1;
  const uint64_t toPitch = word(copies ? 2 : 1), toSlice = copies ? word(4) : 0;
  const uint32_t pattern = half(oneRow ? 4 : 7);
  const uint64_t units = uint64_t{d.get(qmd::kGridWidth)} * d.get(qmd::kBlockWidth) * (oneRow ? 4 : 1);
  for (uint64_t slice = 0; slice < depth; ++slice) {
    for (uint64_t row = 0; row < height; ++row) {
      const uint64_t into = to + slice * toSlice + row * toPitch;
      if (into % 16 + width > units * 16) return 13;
      std::byte* const bytes = translate(into, width, true);
      if (!bytes) return 31;
      if (copies) {
        const std::byte* const from = translate(word(1) + slice * word(5) + row * word(3), width, false);
        if (!from) return 31;
        std::memcpy(bytes, from, width);
      } else {
        for (uint64_t i = 0; i < width; ++i) bytes[i] = static_cast<std::byte>(pattern >> (into + i) % 4 * 8);
      }
    }
  }
  return 0;
}

struct FakeGpu {
  explicit FakeGpu(FakeDriver::Description description = {}) : driver(std::move(description)) {
    client = must(backend::nvidia::Client::open(driver));
    uvm = must(backend::nvidia::Uvm::open(*client));
    backend::nvidia::rm::CardInfo cards[4];
    must(client->cards(cards, 4));
    gpu = must(backend::nvidia::Gpu::open(*client, *uvm, cards[0]));
    hostPages = std::make_unique<backend::nvidia::HostPages>(*uvm);
  }

  backend::nvidia::Addresses& addresses() { return backend::nvidia::Addresses::shared().value(); }

  FakeDriver driver;
  std::unique_ptr<backend::nvidia::Client> client;
  std::unique_ptr<backend::nvidia::Uvm> uvm;
  std::unique_ptr<backend::nvidia::HostPages> hostPages;
  std::unique_ptr<backend::nvidia::Gpu> gpu;
};

// The device of such a GPU. Never destroyed, as its watcher is not; what it leaves is known to leak checkers.
inline backend::nvidia::GpuDevice* keptDevice(FakeGpu& fake) {
  static auto* const all = new std::vector<backend::nvidia::GpuDevice*>;
  const backend::Traits traits = must(backend::nvidia::traitsOf(*fake.gpu));
  all->push_back(new backend::nvidia::GpuDevice(std::move(fake.gpu), *fake.hostPages, fake.addresses(), traits));
  return all->back();
}

// Inaccessible addresses at a multiple of a granule, as core's windows are.
struct Window {
  explicit Window(size_t bytes) : bytes_(bytes + backend::nvidia::kHugePage) {
    raw_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const uintptr_t end = reinterpret_cast<uintptr_t>(raw_) + backend::nvidia::kHugePage - 1;
    start = reinterpret_cast<std::byte*>(end & ~(backend::nvidia::kHugePage - 1));
  }
  Window(const Window&) = delete;
  ~Window() { munmap(raw_, bytes_); }
  std::byte* start;

 private:
  void* raw_;
  size_t bytes_;
};

// Of a keptDevice(), zeroed memory of which the CPU sees all; for ever, as what the device has done may still touch it.
inline std::byte* keptMemory(backend::nvidia::GpuDevice& device, size_t bytes) {
  static auto* const all = new std::vector<Window*>;
  all->push_back(new Window(bytes));
  std::byte* const start = all->back()->start;
  EXPECT_EQ(device.memory().commit(start, bytes), CUDA_SUCCESS);
  device.showToHost(start, bytes);
  std::memset(start, 0, bytes);
  return start;
}

// The first fault.
struct Sink final : backend::FaultSink {
  void report(CUresult error, const char*) noexcept override {
    CUresult none = CUDA_SUCCESS;
    seen.compare_exchange_strong(none, error);
  }
  CUresult state() const noexcept override { return seen; }
  std::atomic<CUresult> seen{CUDA_SUCCESS};
};

}  // namespace vg::testing
