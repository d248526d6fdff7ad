#include "ptx/llvm/analysis/block_uniform.h"

#include <algorithm>
#include <vector>

#include "base/walk.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

bool isBlockUniform(ptx::Special s) {
  switch (s) {
    case Special::NtidX:
    case Special::NtidY:
    case Special::NtidZ:
    case Special::CtaidX:
    case Special::CtaidY:
    case Special::CtaidZ:
    case Special::NctaidX:
    case Special::NctaidY:
    case Special::NctaidZ:
    case Special::NWarpId:
    case Special::DynamicSmemSize:
      return true;
    default:
      return false;
  }
}

class Analysis {
 public:
  explicit Analysis(const Program& program)
      : program_(program), alike_(program.values.size(), true), joins_(program.blocks.size(), false) {
    findWaysToBarriers();
  }

  bool run() {
    if (settle(); endsEarly_) return false;
    return std::all_of(program_.instructions.begin(), program_.instructions.end(), [&](const Instruction& i) {
      return !isBarrierOfBlock(i) || (!conditional_[i.block] && (i.guard == kNone || alike_[i.guard]));
    });
  }

  std::vector<bool> conditional() {
    settle();
    return std::move(conditional_);
  }

 private:
  void settle() {
    do {
      propagate();
    } while (findRegions());
  }

  void findWaysToBarriers() {
    Walk walk(program_.blocks.size());
    for (const Instruction& i : program_.instructions)
      if (isBarrierOfBlock(i)) walk.find(i.block);
    while (const auto at = walk.next()) walk.findAll(program_.blocks[*at].predecessors);
    reachesBarrier_ = walk.takeFound();
  }

  // Starts from all values alike and takes back what does not hold, until nothing changes.
  void propagate() {
    for (bool changed = true; changed;) {
      changed = false;
      for (ValueId id = 0; id < alike_.size(); ++id)
        if (alike_[id] && !holds(program_.values[id])) {
          alike_[id] = false;
          changed = true;
        }
    }
  }

  bool holds(const Value& v) const {
    switch (v.kind) {
      case Value::Constant:
        return true;
      case Value::Special:
        return isBlockUniform(v.special);
      case Value::Phi:
        return !joins_[v.block] && all(v.incoming);
      case Value::Result:
        return holds(program_.instructions[v.instruction]);
      default:
        return false;
    }
  }

  bool holds(const Instruction& i) const {
    if (i.ast->op == Op::Ld && i.sources.size() == 1 && i.guard == kNone && i.sources[0] != kNone) {
      const Value& base = program_.values[i.sources[0]];
      const bool isSymbol = base.kind == Value::Symbol;
      if (isSymbol && base.symbolKind == SymbolKind::Parameter) return true;
      return i.ast->space == Space::Const &&
             (isSymbol || alike_[i.sources[0]]);  // nothing writes it while a kernel runs
    }
    return rowOf(i.ast->op).has(Trait::Pure) && (i.guard == kNone || (alike_[i.guard] && all(i.old))) &&
           all(i.sources) && i.carryIn == kNone;
  }

  bool all(const std::vector<ValueId>& ids) const {
    return std::all_of(ids.begin(), ids.end(), [&](ValueId id) { return id != kNone && alike_[id]; });
  }

  // What lies between a branch on which warps may disagree and the place where all its ways meet. True when values
  // change by it.
  bool findRegions() {
    conditional_.assign(program_.blocks.size(), false);
    endsEarly_ = false;
    std::vector<bool> joins(program_.blocks.size(), false);
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      if (program_.blocks[b].successors.size() > 1 && !alike_[program_.blocks[b].condition]) markRegion(b, joins);
    const bool changed = joins != joins_;
    joins_ = joins;
    return changed;
  }

  void markRegion(BlockId branch, std::vector<bool>& joins) {
    const BlockId exit = program_.immediatePostDominator[branch], end = endBlock(program_);
    joins[exit] = true;
    Walk walk(program_.blocks.size());
    const auto visit = [&](BlockId s) {
      endsEarly_ |= s == end && exit != end && reachesBarrier_[exit];
      if (s != exit && s != end && walk.find(s)) conditional_[s] = joins[s] = true;
    };
    std::ranges::for_each(program_.blocks[branch].successors, visit);
    while (const auto at = walk.next()) std::ranges::for_each(program_.blocks[*at].successors, visit);
  }

  const Program& program_;
  std::vector<bool> alike_;        // by value: the same in all warps of a block
  std::vector<bool> joins_;        // by block: warps may come from different predecessors
  std::vector<bool> conditional_;  // by block: some warps may not get there, or not as often
  std::vector<bool> reachesBarrier_;
  bool endsEarly_ = false;  // some warps may be gone while others go on to a barrier
};

}  // namespace

bool warpsMeetAlike(const Program& program) { return Analysis(program).run(); }
std::vector<bool> blocksOfSomeWarps(const Program& program) { return Analysis(program).conditional(); }

}  // namespace vg::ptx::gen
