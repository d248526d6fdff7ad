// An opened GPU on the fake driver, as tests want it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/traits.h"
#include "gpu/fake_driver.h"

namespace vg::testing {

// The value, or a test that fails and an exception that ends it.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error("result " + std::to_string(result.error()));
  return std::move(result).value();
}

// What the kernels of VideoKernels do: the first moves units of 16 bytes, the second writes them.
inline uint32_t moveUnits(const FakeGrid& grid, const FakeTranslate& translate) {
  const bool copies = grid.program % backend::nvidia::kHugePage == 0;
  const auto to = grid.parameter<uint64_t>(0), units = grid.parameter<uint64_t>(copies ? 16 : 8);
  const backend::nvidia::Qmd& d = grid.descriptor;
  if (units > uint64_t{d.get(backend::nvidia::qmd::kGridWidth)} * d.get(backend::nvidia::qmd::kBlockWidth) * 4)
    return 13;
  for (uint64_t i = 0; i < units; ++i) {
    std::byte* const unit = translate(to + 16 * i, 16, true);
    if (!unit) return 31;
    if (copies) {
      const std::byte* const from = translate(grid.parameter<uint64_t>(8) + 16 * i, 16, false);
      if (!from) return 31;
      std::memcpy(unit, from, 16);
    } else {
      for (int word = 0; word < 4; ++word) {
        const auto value = grid.parameter<uint32_t>(16);
        std::memcpy(unit + 4 * word, &value, 4);
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
  }

  backend::nvidia::Addresses& addresses() { return backend::nvidia::Addresses::shared().value(); }

  FakeDriver driver;
  std::unique_ptr<backend::nvidia::Client> client;
  std::unique_ptr<backend::nvidia::Uvm> uvm;
  std::unique_ptr<backend::nvidia::Gpu> gpu;
};

// The device of such a GPU. Never destroyed, as its watcher is not; what it leaves is known to leak checkers.
inline backend::nvidia::GpuDevice* keptDevice(FakeGpu& fake) {
  static auto* const all = new std::vector<backend::nvidia::GpuDevice*>;
  const backend::Traits traits = must(backend::nvidia::traitsOf(*fake.gpu));
  all->push_back(new backend::nvidia::GpuDevice(std::move(fake.gpu), fake.addresses(), traits));
  return all->back();
}

}  // namespace vg::testing
