// An opened GPU on the fake driver, as tests want it.
#pragma once

#include <gtest/gtest.h>

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/channel/copy_methods.h"
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

}  // namespace vg::testing
