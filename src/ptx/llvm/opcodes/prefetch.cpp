// Loads in loops that walk memory by a distance known only at run time, as loops over a grid's whole data do: the
// processor's prefetchers lose such a walk at every page. The place that a later iteration will read is asked for
// early, if the loop's own test says that there will be such an iteration. In a loop with barriers all warps of the
// block take their part in an iteration, so that the next one is early enough, and is asked for in any case.
#include "ptx/llvm/opcodes/load.h"

#include <llvm/IR/Intrinsics.h>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

using PtxValue = vg::ptx::gen::Value;

// Iterations: about a memory latency, where an iteration does little.
constexpr int64_t kAhead = 8;
constexpr int kDeep = 8;
constexpr uint32_t kLine = 64;  // bytes of a cache line

// A value of the loop's header that grows by the same amount in each iteration, and the test that ends the loop.
struct Walk {
  ValueId phi = kNone, step = kNone;
  const Instruction* test = nullptr;  // setp of the next value and a bound
  bool staysWhenTrue = true;
};

class WalkFinder {
 public:
  WalkFinder(const Program& program, LoopId loop) : program_(program), loop_(loop) {}

  // The walk that an address depends on, `scale` times: bytes for each unit of the phi.
  std::optional<Walk> find(ValueId address, int64_t& scale, bool withTest) {
    const std::optional<int64_t> found = scaleOf(address, 0);
    if (!found || !*found || phi_ == kNone) return {};
    scale = *found;
    Walk walk;
    walk.phi = phi_;
    const ValueId next = nextOf(phi_);
    if (next == kNone || !takesSteps(next, walk) || (withTest && !findTest(next, walk))) return {};
    return walk;
  }

 private:
  const PtxValue& value(ValueId id) const { return program_.values[id]; }
  bool invariant(ValueId id) const {
    return id != kNone && (value(id).block == kNone || !program_.inLoop(value(id).block, loop_));
  }
  const Instruction* madeBy(ValueId id) const {
    if (id == kNone || value(id).kind != PtxValue::Result) return nullptr;
    const Instruction& i = program_.instructions[value(id).instruction];
    return i.guard == kNone ? &i : nullptr;
  }
  std::optional<int64_t> constant(ValueId id) const {
    if (id == kNone || value(id).kind != PtxValue::Constant) return {};
    return static_cast<int32_t>(value(id).bits);
  }

  // How often the phi is contained in a value; at most one phi may be.
  std::optional<int64_t> scaleOf(ValueId id, int depth) {
    if (invariant(id)) return 0;
    if (id == kNone || depth > kDeep) return {};
    if (value(id).kind == PtxValue::Phi) {
      if (value(id).block != program_.loops[loop_].header || (phi_ != kNone && phi_ != id)) return {};
      phi_ = id;
      return 1;
    }
    const Instruction* const i = madeBy(id);
    if (!i || ptx::isFloat(i->ast->type())) return {};
    const auto source = [&](size_t n) { return scaleOf(i->sources[n], depth + 1); };
    switch (i->ast->op) {
      case Op::Mov:
      case Op::Cvta:
      case Op::Cvt:
        return i->sources.size() == 1 ? source(0) : std::nullopt;
      case Op::Add: {
        const auto a = source(0), b = source(1);
        return a && b ? std::optional(*a + *b) : std::nullopt;
      }
      case Op::Sub: {
        const auto a = source(0), b = source(1);
        return a && b ? std::optional(*a - *b) : std::nullopt;
      }
      case Op::Shl: {
        const auto a = source(0), amount = constant(i->sources[1]);
        return a && amount && *amount >= 0 && *amount < 32 ? std::optional(*a << *amount) : std::nullopt;
      }
      case Op::Mul:
      case Op::Mad: {
        if (i->ast->has(Mod::Hi)) return {};
        const auto a = source(0), factor = constant(i->sources[1]);
        if (!a || !factor) return {};
        const auto added = i->ast->op == Op::Mad ? source(2) : std::optional<int64_t>(0);
        return added ? std::optional(*a * *factor + *added) : std::nullopt;
      }
      default:
        return {};
    }
  }

  // What the phi gets from the loop's own end.
  ValueId nextOf(ValueId phi) const {
    const auto& predecessors = program_.blocks[program_.loops[loop_].header].predecessors;
    ValueId next = kNone;
    for (size_t n = 0; n < predecessors.size(); ++n) {
      if (!program_.inLoop(predecessors[n], loop_)) continue;
      if (next != kNone && next != value(phi).incoming[n]) return kNone;
      next = value(phi).incoming[n];
    }
    return next;
  }

  // Steps that are constants are left to the processor.
  bool takesSteps(ValueId next, Walk& walk) const {
    const Instruction* const i = madeBy(next);
    if (!i || i->ast->op != Op::Add || i->ast->has(Mod::Sat) || i->sources.size() != 2) return false;
    for (size_t n = 0; n < 2; ++n)
      if (i->sources[n] == walk.phi) walk.step = i->sources[1 - n];
    return invariant(walk.step) && value(walk.step).shape.uniform() && value(walk.step).kind != PtxValue::Constant;
  }

  bool findTest(ValueId next, Walk& walk) const {
    for (BlockId b : program_.loops[loop_].blocks) {
      const Block& block = program_.blocks[b];
      if (block.terminator != Block::Branch) continue;
      const bool first = program_.inLoop(block.successors[0], loop_);
      if (first == program_.inLoop(block.successors[1], loop_)) continue;
      const Instruction* const i = madeBy(block.condition);
      if (!i || i->ast->op != Op::Setp || i->results.size() != 1 || i->sources.size() != 2) continue;
      if (i->sources[0] != next || !invariant(i->sources[1]) || !value(i->sources[1]).shape.uniform()) continue;
      const uint32_t bits = ptx::bitsOf(i->ast->type());
      if (ptx::isFloat(i->ast->type()) || (bits != 32 && bits != 64)) continue;
      walk.test = i;
      walk.staysWhenTrue = first != block.conditionNegated;
      return true;
    }
    return false;
  }

  const Program& program_;
  const LoopId loop_;
  ValueId phi_ = kNone;
};

bool hasBarriers(const Program& program, const Loop& loop) {
  return llvm::any_of(loop.blocks, [&](BlockId b) {
    return llvm::any_of(program.blocks[b].instructions, [&](uint32_t n) {
      return isBarrierOfBlock(program.instructions[n]) && !isPause(program.instructions[n]);
    });
  });
}

}  // namespace

void Loads::prefetch(Value* at, uint32_t bytes) {
  for (uint32_t line = 0; line < bytes; line += kLine) {
    Value* const place = b_.pointer(b_.CreateAdd(at, b_.getInt64(line)));
    b_.callIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {place, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
}

// Of the next iteration of a loop with barriers.
bool Loads::prefetchNextRound(const Instruction& i, const Address& a, uint32_t bytes) {
  const LoopId loop = program_.blocks[i.block].loop;
  int64_t scale = 0;
  const std::optional<Walk> walk = WalkFinder(program_, loop).find(a.value, scale, false);
  if (!walk || !hasBarriers(program_, program_.loops[loop])) return false;
  Value* const step = b_.CreateSExt(b_.asInteger(values_.scalarOf(walk->step), bitsOf(program_.values[walk->phi].type)),
                                    b_.getInt64Ty());
  Value* const distance = b_.CreateMul(step, b_.getInt64(static_cast<uint64_t>(scale)));
  prefetch(b_.CreateAdd(a.scalar, distance), bytes);
  return true;
}

void Loads::prefetchAhead(const Instruction& i, const Address& a, uint32_t bytes) {
  const LoopId loop = program_.blocks[i.block].loop;
  if (loop == kNone || !a.scalar || prefetchNextRound(i, a, bytes)) return;
  int64_t scale = 0;
  const std::optional<Walk> walk = WalkFinder(program_, loop).find(a.value, scale, true);
  if (!walk || !values_.laneZero(walk->phi)) return;
  const uint32_t bits = ptx::bitsOf(walk->test->ast->type());
  Value* const step = b_.asInteger(values_.scalarOf(walk->step), bits);
  Value* const distance = b_.CreateMul(step, llvm::ConstantInt::get(step->getType(), kAhead));
  Value* const later = b_.CreateAdd(b_.asInteger(values_.laneZero(walk->phi), bits), distance);
  Value* stays =
      comparisons_.compare(*walk->test, walk->test->ast->type(), later, values_.laneZero(walk->test->sources[1]));
  if (!walk->staysWhenTrue) stays = b_.CreateNot(stays);
  Value* const offset =
      b_.CreateMul(b_.CreateSExt(distance, b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(scale)));
  prefetch(b_.CreateAdd(a.scalar, b_.CreateSelect(stays, offset, b_.getInt64(0))), bytes);
}

}  // namespace vg::ptx::gen
