// Barrier objects, bulk and tensor copies: operands go to slots, async_operation does the rest.
#include <algorithm>
#include <bit>

#include "ptx/abi/cancelled_cluster.h"
#include "ptx/facts/async_form.h"
#include "ptx/facts/polls.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// Addresses count their offset only where they are used.
uint64_t valueOf(Warp& w, uint32_t lane, const Source& s) {
  return w.read(lane, s) + (s.kind == Source::Kind::Register ? s.value : 0);
}

// Tells the observer of what a lane's operation did to shared memory.
void tell(Warp& w, uint32_t lane, const AsyncForm& form, const uint64_t* lanes, const Instruction& i) {
  const auto slot = [&](uint32_t k) { return lanes[k * kWarpSize + lane]; };
  Access access;
  access.lane = static_cast<uint8_t>(lane);
  access.warp = w.index;
  access.instruction = &i;
  const auto at = [&](uint64_t address, AsyncSpace space) {
    access.address = space == AsyncSpace::Shared ? address & 0xffffffff : address;
    access.isShared = space == AsyncSpace::Shared;
    return access;
  };
  // It arrives when the lane's copies are over, which they are at once.
  if (i.op == Op::Cp && i.has(Mod::Mbarrier))
    w.observer->copies(w.index, 1u << lane, BlockObserver::Copies::WaitForAll, 0);
  switch (form.operation) {
    case AsyncOperation::Nothing:
    case AsyncOperation::BarrierPending:
      return;
    case AsyncOperation::BarrierInit:
    case AsyncOperation::BarrierInvalidate:
    case AsyncOperation::BarrierArrive:
    case AsyncOperation::BarrierExpect:
    case AsyncOperation::BarrierComplete:
    case AsyncOperation::BarrierTest:
    case AsyncOperation::BarrierCopies:
      return w.observer->passes(at(slot(kAsyncTo), form.to));
    default:
      break;
  }
  if (form.has(kReports)) w.observer->passes(at(slot(kAsyncBarrier), AsyncSpace::Shared));
  if (form.to != AsyncSpace::Shared) return;
  if (form.operation == AsyncOperation::Copy || form.operation == AsyncOperation::Zero)
    access.bytes = slot(kAsyncCount);
  if (form.operation == AsyncOperation::CancelCluster) access.bytes = sizeof(CancelledCluster);
  if (form.operation == AsyncOperation::Store) access.bytes = bitsOf(form.type) / 8 * form.count;
  uint64_t first = 0;
  if (form.operation == AsyncOperation::Copy && form.has(kCutShort)) {
    first = slot(kAsyncCut);
    access.bytes -= std::min(access.bytes, first + slot(kAsyncCut + 1));
  }
  const Access barrier = at(form.has(kReports) ? slot(kAsyncBarrier) : 0, AsyncSpace::Shared);
  w.observer->fills(at(slot(kAsyncTo) + first, AsyncSpace::Shared), form.has(kReports) ? &barrier : nullptr);
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
  // Who arrives tells before, who waits learns behind; the result takes the place of the address.
  const auto tellAll = [&] {
    for (uint32_t left = w.watched ? mask : 0; left; left &= left - 1)
      tell(w, static_cast<uint32_t>(std::countr_zero(left)), shape.form, lanes, *s.i);
  };
  tellAll();
  uint64_t objects[kWarpSize];
  const bool waits = w.watched && shape.form.operation == AsyncOperation::BarrierTest;
  if (waits) std::copy_n(lanes + kAsyncTo * kWarpSize, kWarpSize, objects);
  w.calls().asynchronous(w.block, w.index, mask, wordOf(shape.form), s.i->line, lanes);
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(left));
    w.write(lane, s.targets[0], lanes[kAsyncResult * kWarpSize + lane]);
  }
  if (!waits) return;
  std::copy_n(objects, kWarpSize, lanes + kAsyncTo * kWarpSize);
  tellAll();
}

}  // namespace

void selectAsync(const Instruction& i, const Function& f, Step& s) {
  const auto shape = describeAsync(i, f);
  if (!shape || shape->slots.size() > s.vectorSources.size()) return;
  s.async = std::make_shared<const AsyncShape>(*shape);
  s.polls = shape->form.operation == AsyncOperation::BarrierTest || copiesBeside(i);
  s.execute = perform;
}

}  // namespace vg::ptx::interpreter
