// The devices of a libcuda.so.1 whose GPU is one of the fake kernel driver, for programs that know nothing of it:
// timelines and profilers of GPUs are tested so without one. Copies and fills happen; a program's own kernels take a
// moment and do nothing.
#include <cstring>
#include <iterator>

#include "backend/nvidia/compute/native_code.h"
#include "backend/registry.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using backend::nvidia::NativeCode;
#include "backend/nvidia/compute/transfer_kernels.inc"

constexpr uint64_t kTakes = 3'000;  // ns of a program's kernel

// One of those that the library brings along.
bool movesBoxes(const FakeGrid& grid, const FakeTranslate& translate) {
  for (const NativeCode& code : {kCopyBox, kCopyRow, kFillBox, kFillRow}) {
    const std::byte* const there = translate(grid.program, code.bytes, false);
    if (there && !std::memcmp(there, code.words, code.bytes)) return true;
  }
  return false;
}

uint32_t runGrid(const FakeGrid& grid, const FakeTranslate& translate) {
  if (movesBoxes(grid, translate)) return moveBoxes(grid, translate);
  for (const uint64_t begin = fakeTime(); fakeTime() - begin < kTakes;) {
  }
  return 0;
}

// Never destroyed, as the device is not.
backend::Device* createGpu(int ordinal) {
  if (ordinal) return nullptr;
  FakeDriver::Description description;
  description.memory = uint64_t{2} << 30;
  description.program = runGrid;
  static auto* const fake = new FakeGpu(description);
  return keptDevice(*fake);
}

}  // namespace
}  // namespace vg::testing

namespace vg::backend {

const Kind kKinds[] = {{"gpu", testing::createGpu}, {nullptr, nullptr}};

}  // namespace vg::backend
