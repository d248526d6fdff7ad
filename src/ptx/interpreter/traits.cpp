// What the runner has to know of a prepared kernel: memory, registers, loops and what waits in them.
#include <algorithm>

#include "ptx/facts/async_form.h"
#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

// Calls in a loop poll only if what they call does.
uint32_t callsBetween(const FunctionCode& code, size_t first, size_t last) {
  uint32_t innocent = 0;
  for (size_t k = first; k <= last; ++k) {
    const Step& s = code.steps[k];
    if (s.flow != Flow::Call) continue;
    bool polls = !s.call->target && s.call->systemCall == SystemCall::None;
    if (s.call->target)
      for (const Step& inner : s.call->target->steps) polls |= inner.polls;
    innocent += !polls;
  }
  return innocent;
}

// What stands in no loop: `inLoops` counts loops that begin, or have ended, at each step.
void holdWhereNothingAsksAgain(FunctionCode& code, const std::vector<int32_t>& inLoops, KernelTraits& t) {
  int32_t depth = 0;
  for (size_t k = 0; k < code.steps.size(); ++k) {
    depth += inLoops[k];
    Step& s = code.steps[k];
    if (depth || !s.async || !mayHold(*s.i)) continue;
    AsyncShape shape = *s.async;
    shape.form.flags |= kHolds;
    s.async = std::make_shared<const AsyncShape>(std::move(shape));
    t.waits = true;
  }
}

void findLoops(FunctionCode& code, KernelTraits& t) {
  std::vector<uint32_t> polls(code.steps.size() + 1);
  std::vector<int32_t> inLoops(code.steps.size() + 1);
  for (size_t k = 0; k < code.steps.size(); ++k) {
    const Step& s = code.steps[k];
    polls[k + 1] = polls[k] + (s.polls || s.flow == Flow::Call);
    t.waits |= s.flow == Flow::Barrier || s.flow == Flow::Yield;
    t.polls |= cancelsClusters(*s.i);
    const auto branch = [&](uint32_t target) {
      if (target > k) return;
      t.loops = true;
      ++inLoops[target];
      --inLoops[k + 1];
      t.polls |= polls[k + 1] - polls[target] > callsBetween(code, target, k);
    };
    if (s.flow == Flow::Branch) branch(s.destination);
    if (s.flow == Flow::BranchTable)
      for (uint32_t target : code.tables[s.destination]) branch(target);
  }
  holdWhereNothingAsksAgain(code, inLoops, t);
}

}  // namespace

void findTraits(Program& program) {
  const Module& module = *program.module;
  KernelTraits& t = program.mutableTraits();
  t.staticShared = program.shared.staticSize;
  t.dynamicSharedOffset = program.shared.dynamicOffset;
  t.clusterAddresses = program.uses.clusterAddresses;
  t.stackPerWarp = 64 * 1024;  // of the interpreter itself; lanes have their own memory
  for (const SharedLayout::Slot& slot : program.shared.slots) {
    const Variable& v =
        slot.moduleScope ? module.variables[slot.variable] : module.functions[slot.function].variables[slot.variable];
    t.usesDynamicShared |= v.unsizedArray;
  }
  uint32_t slots = 0;
  for (uint32_t f : program.uses.functions) {
    FunctionCode& code = *program.functions[f];
    slots = std::max(slots, code.slots);
    for (const Variable& v : code.function->variables)
      if (v.space == Space::Local) t.localPerThread += static_cast<uint32_t>(std::min<uint64_t>(v.size, 1u << 30));
    findLoops(code, t);
  }
  t.registers = std::clamp(slots / 2, 16u, 255u);
  if (program.uses.functions.size() > 1) t.loops = true;  // recursion is possible
  t.waits |= t.polls;
}

}  // namespace vg::ptx::interpreter
