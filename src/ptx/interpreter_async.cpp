// Barrier objects, bulk and tensor copies: operands go to slots, async_operation does the rest.
#include "ptx/async_form.h"
#include "ptx/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

// Addresses count their offset only where they are used.
uint64_t valueOf(Warp& w, uint32_t lane, const Source& s) {
  return w.read(lane, s) + (s.kind == Source::Kind::Register ? s.value : 0);
}

void perform(Warp& w, const Step& s, uint32_t mask) {
  const AsyncShape& shape = *s.async;
  w.polled |= s.polls;
  uint64_t lanes[kAsyncSlots * kWarpSize];
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(left));
    for (size_t k = 0; k < shape.slots.size(); ++k)
      if (shape.slots[k] != kAsyncUnused)
        lanes[shape.slots[k] * kWarpSize + lane] = valueOf(w, lane, s.vectorSources[k]);
  }
  w.calls().asynchronous(w.block, w.index, mask, wordOf(shape.form), s.i->line, lanes);
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(left));
    w.write(lane, s.targets[0], lanes[kAsyncResult * kWarpSize + lane]);
  }
}

}  // namespace

void selectAsync(const Instruction& i, const Function& f, Step& s) {
  const auto shape = describeAsync(i, f);
  if (!shape || shape->slots.size() > s.vectorSources.size()) return;
  s.async = std::make_shared<const AsyncShape>(*shape);
  s.polls = shape->form.operation == AsyncOperation::BarrierTest;
  s.execute = perform;
}

}  // namespace vg::ptx::interpreter
