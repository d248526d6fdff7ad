#include "ptx/llvm/analysis/lane_turns.h"

#include <algorithm>

#include "base/walk.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

class TurnTaker {
 public:
  explicit TurnTaker(Program& program) : program_(program) {}

  bool run() {
    for (LoopId l = 0; l < program_.loops.size(); ++l)
      if (program_.loops[l].takesTurns) extend(l);
    for (const Loop& loop : program_.loops)
      if (loop.takesTurns) markRegion(program_.blocks[loop.header].component);
    return changed_;
  }

 private:
  bool meetsAt(const Instruction& i) const { return lanesMeetAt(*i.ast, *i.function); }

  bool beginsWithMeeting(BlockId b) const {
    const std::vector<uint32_t>& all = program_.blocks[b].instructions;
    return !all.empty() && meetsAt(program_.instructions[all.front()]);
  }

  // Whether a lane may do something that others wait for, from the beginning of a block on, before all meet.
  bool signalsFrom(BlockId first) const {
    Walk walk(program_.blocks.size());
    walk.find(first);
    while (const auto at = walk.next()) {
      bool meets = false;
      for (uint32_t n : program_.blocks[*at].instructions) {
        const Instruction& i = program_.instructions[n];
        if ((meets = meetsAt(i))) break;
        if (maySignal(i)) return true;
      }
      if (!meets) walk.findAll(program_.blocks[*at].successors);
    }
    return false;
  }

  // Lanes that leave the loop need not wait for those in it until there is nothing left that these may be waiting for.
  void extend(LoopId loop) {
    for (BlockId b : program_.loops[loop].blocks) {
      const Block& block = program_.blocks[b];
      if (block.successors.size() < 2 ||
          std::ranges::all_of(block.successors, [&](BlockId s) { return program_.inLoop(s, loop); }))
        continue;
      BlockId& meeting = program_.immediatePostDominator[b];
      while (meeting != endBlock(program_) && !beginsWithMeeting(meeting) && signalsFrom(meeting)) {
        meeting = program_.immediatePostDominator[meeting];
        changed_ = true;
      }
    }
  }

  void markPhis(BlockId b) {
    for (ValueId phi : program_.blocks[b].phis)
      if (Value& v = program_.values[phi]; !v.joinsDivergent) v.joinsDivergent = changed_ = true;
  }

  void markRegion(uint32_t component) {
    if (component == kNone) return;
    for (BlockId b : program_.components[component].blocks) {
      Block& block = program_.blocks[b];
      if (!block.takesTurns) block.takesTurns = changed_ = true;
      markPhis(b);
    }
    const BlockId exit = program_.components[component].exit;
    if (exit != kNone) markPhis(exit);
    for (Loop& loop : program_.loops)
      if (program_.blocks[loop.header].component == component) loop.polls |= readsShared(loop);
  }

  // A loop may wait by the way it takes, where no value says so: `while (!done) if (flag[n]) done = ++n == end;`.
  bool readsShared(const Loop& loop) const {
    return std::ranges::any_of(loop.blocks, [&](BlockId b) {
      return std::ranges::any_of(program_.blocks[b].instructions,
                                 [&](uint32_t n) { return mayPoll(*program_.instructions[n].ast, loop); });
    });
  }

  Program& program_;
  bool changed_ = false;
};

}  // namespace

bool letLanesTakeTurns(Program& program) { return TurnTaker(program).run(); }

bool lanesTakeTurns(const Program& program) {
  return std::ranges::any_of(program.loops, [](const Loop& loop) { return loop.takesTurns; });
}

bool dependsOnTime(const Program& program, const Instruction& i) {
  if (i.ast->op == Op::Ld) {
    if (i.sources[0] == kNone) return false;
    const Value& base = program.values[i.sources[0]];
    return base.kind != Value::Symbol || base.symbolKind != SymbolKind::Parameter;
  }
  const Opcode& row = rowOf(i.ast->op);
  return row.readsMemory() || row.meets != Meets::Apart || std::ranges::any_of(i.sources, [&](ValueId s) {
           if (s == kNone || program.values[s].kind != Value::Special) return false;
           const Special which = program.values[s].special;
           return which == Special::Clock || which == Special::ClockHi || isWideSpecial(which);
         });
}

bool maySignal(const Instruction& i) {
  if (isHold(*i.ast)) return !i.ast->has(Mod::Red);
  return rowOf(i.ast->op).writesMemory() && i.ast->space != Space::Local && i.ast->space != Space::Param;
}

}  // namespace vg::ptx::gen
