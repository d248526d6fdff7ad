// The fake GPU's compute engine: knows the methods that the backend uses, reads descriptors of grids as the hardware
// does and refuses malformed ones. Instead of native code it runs what the test says that a grid does. Nothing but what
// the backend sends keeps a grid from running beside those that are not over.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "backend/nvidia/compute/qmd.h"

namespace vg::testing {

// A grid as the hardware sees it.
struct FakeGrid {
  backend::nvidia::Qmd descriptor;
  const std::byte* bank0 = nullptr;
  uint64_t program = 0;
  template <class T>
  T parameter(size_t offset) const {
    T value;
    __builtin_memcpy(&value, bank0 + 0x210 + offset, sizeof value);
    return value;
  }
};
// What the GPU's clock shows, nanoseconds.
uint64_t fakeTime();
// GPU address -> memory; null when it may not be reached.
using FakeTranslate = std::function<std::byte*(uint64_t address, size_t bytes, bool write)>;
// Does what the grid's code would do; a code of the hardware's (13, 31) when that faults, kRunsOn when it has not come
// to its end, else 0.
inline constexpr uint32_t kRunsOn = ~uint32_t{0};
using FakeProgram = std::function<uint32_t(const FakeGrid& grid, const FakeTranslate& translate)>;

class FakeCompute {
 public:
  FakeCompute(FakeTranslate translate, FakeProgram program)
      : translate_(std::move(translate)), program_(std::move(program)) {}
  // The code that ends the channel, or 0; kRunsOn when the method is to be tried again, as it waits for grids.
  uint32_t method(uint32_t address, uint32_t value);
  // Goes on with grids that are not over. The code that ends the channel, or 0.
  uint32_t goOn();
  bool idle() const { return running_.empty(); }

 private:
  uint32_t report(uint32_t execute);
  uint32_t launchAll(uint64_t& next);
  uint32_t launch(uint64_t address, uint64_t& following);
  static uint32_t scheduled(const backend::nvidia::Qmd& descriptor, uint64_t& following);
  uint32_t check(const backend::nvidia::Qmd& descriptor);
  uint32_t release(const backend::nvidia::Qmd& descriptor, unsigned index);
  uint32_t reduce(const backend::nvidia::Qmd& descriptor, unsigned index, uint64_t to);

  const FakeTranslate translate_;
  const FakeProgram program_;
  std::map<uint32_t, uint32_t> methods_;
  std::vector<uint64_t> running_;  // descriptors of grids that have not come to their end
};

}  // namespace vg::testing
