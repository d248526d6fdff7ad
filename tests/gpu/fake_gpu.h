// An opened GPU on the fake driver, as tests want it.
#pragma once

#include <gtest/gtest.h>

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
