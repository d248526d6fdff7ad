#include "ptx/llvm/analysis/lane_loops.h"

#include <algorithm>

#include "base/walk.h"
#include "ptx/facts/async_form.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

// Other operations on vectors of lanes for each access of its own place. They gain by vectors what accesses lose.
constexpr size_t kWorkOfAccess = 4;

bool isAccess(const Instruction& i) { return i.ast->op == Op::Ld || i.ast->op == Op::Ldu || i.ast->op == Op::St; }

// Plain accesses of memory that all threads have in common. Stores to shared memory are left out: warps, and lanes of
// one, may count on each other's progress there.
bool isPlainAccess(const Program& program, const Instruction& i) {
  if (i.sources[0] == kNone || isVolatileAccess(*i.ast) || bitsOf(i.ast->type()) > 64) return false;
  const Value& base = program.values[i.sources[0]];
  if (base.kind == Value::Symbol && (base.symbolKind == SymbolKind::FunctionVariable || i.ast->op == Op::St))
    return false;
  switch (i.ast->space) {
    case Space::Global:
    case Space::None:
      return true;
    case Space::Const:
    case Space::Shared:
      return i.ast->op != Op::St;
    default:
      return false;
  }
}

// Whether a lane needs no other for it.
bool isForOneLane(const Program& program, const Instruction& i) {
  if (i.guard != kNone || ptx::isAsync(*i.ast)) return false;
  if (isAccess(i)) return isPlainAccess(program, i);
  const Opcode& row = ptx::rowOf(i.ast->op);
  return row.has(Trait::Pure) && !row.touchesMemory() && row.meets == Meets::Apart && !row.has(Trait::Exact) &&
         !row.has(Trait::Texture) && !row.has(Trait::Matrix) && i.ast->op != Op::Fns;
}

bool isLoad(const Instruction& i) { return i.ast->op == Op::Ld || i.ast->op == Op::Ldu; }

// Looks for loads that values are made of: for those in any round of any loop, or only for those of a loop in rounds
// before the one that uses the value. Such loads wait for each other, and only those of other lanes can be under way
// meanwhile.
class LoadSearch {
 public:
  LoadSearch(const Program& program, const Loop* loop)
      : program_(program), loop_(loop), present_(program.values.size()), earlier_(program.values.size()) {}

  bool finds(const std::vector<ValueId>& values) {
    present_.findAll(values);
    for (;;) {
      if (const auto at = present_.next()) {
        if (isMadeOfLoad(*at, present_)) return true;
      } else if (const auto before = earlier_.next()) {
        if (isMadeOfLoad(*before, earlier_)) return true;
      } else {
        return false;
      }
    }
  }

 private:
  bool isMadeOfLoad(ValueId id, Walk& walk) {
    const Value& v = program_.values[id];
    if (!v.shape.varying() || (loop_ && (v.block < loop_->header || v.block > loop_->blocks.back()))) return false;
    if (v.kind == Value::Phi) passPhi(v, walk);
    if (v.kind != Value::Result) return false;
    const Instruction& i = program_.instructions[v.instruction];
    if (isLoad(i) && (!loop_ || &walk == &earlier_)) return true;
    for (ValueId s : i.sources)
      if (s != kNone) walk.find(s);
    return false;
  }

  void passPhi(const Value& phi, Walk& walk) {
    const Block& block = program_.blocks[phi.block];
    const bool begins = block.loop != kNone && program_.loops[block.loop].header == phi.block;
    for (size_t n = 0; n < phi.incoming.size(); ++n)
      if (phi.incoming[n] != kNone)
        (begins && program_.inLoop(block.predecessors[n], block.loop) ? earlier_ : walk).find(phi.incoming[n]);
  }

  const Program& program_;
  const Loop* const loop_;
  Walk present_, earlier_;
};

// Whether accesses of places that came out of memory prevail, none of which depends on what an earlier round has
// loaded.
bool jumpsAbout(const Program& program, const Loop& loop) {
  std::vector<ValueId> places;
  size_t others = 0;
  for (BlockId b : loop.blocks)
    for (uint32_t n : program.blocks[b].instructions) {
      const Instruction& i = program.instructions[n];
      const ValueId what = isAccess(i) ? i.sources[0] : i.results.empty() ? kNone : i.results[0];
      if (what == kNone || !program.values[what].shape.varying()) continue;
      isAccess(i) ? places.push_back(what) : void(++others);
    }
  return others <= kWorkOfAccess * places.size() && LoadSearch(program, nullptr).finds(places) &&
         !LoadSearch(program, &loop).finds(places);
}

// Whether lanes leave it apart, with what each has by then.
bool isLeftByLanes(const Program& program, const Loop& loop) {
  bool divergent = false;
  for (BlockId b : loop.blocks)
    for (BlockId s : program.blocks[b].successors) {
      if (std::ranges::find(loop.blocks, s) != loop.blocks.end()) continue;
      divergent |= program.blocks[b].divergent;
      for (ValueId phi : program.blocks[s].phis)
        if (!program.values[phi].shape.varying()) return false;
    }
  return divergent;
}

bool suits(const Program& program, const Loop& loop) {
  const uint32_t component = program.blocks[loop.header].component;
  if (component == kNone || program.components[component].takesTurns || program.components[component].holdsLanes)
    return false;
  for (BlockId b : loop.blocks) {
    const Block& block = program.blocks[b];
    if (block.component != component || block.terminator == Block::Switch || block.terminator == Block::Exit)
      return false;
    for (uint32_t n : block.instructions)
      if (!isForOneLane(program, program.instructions[n])) return false;
  }
  const auto polls = [&](const Loop& inner) {
    return inner.polls && std::ranges::find(loop.blocks, inner.header) != loop.blocks.end();
  };
  if (std::ranges::any_of(program.loops, polls)) return false;
  return isLeftByLanes(program, loop) && jumpsAbout(program, loop);
}

}  // namespace

std::vector<LoopId> loopsForSingleLanes(const Program& program) {
  std::vector<LoopId> found;
  std::vector<bool> taken(program.loops.size(), false);
  for (LoopId l = 0; l < program.loops.size(); ++l) {  // outer before inner
    const Loop& loop = program.loops[l];
    taken[l] = loop.parent != kNone && taken[loop.parent];
    if (taken[l] || !suits(program, loop)) continue;
    taken[l] = true;
    found.push_back(l);
  }
  return found;
}

}  // namespace vg::ptx::gen
