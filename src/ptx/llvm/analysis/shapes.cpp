// How values differ between lanes, which branches diverge, and which blocks therefore run under masks. Shapes and
// divergence depend on each other; both only ever get worse, so the analysis repeats until nothing changes.
#include <algorithm>
#include <cstring>

#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/async_form.h"
#include "ptx/llvm/analysis/alignment.h"
#include "ptx/llvm/analysis/lane_turns.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/divergence.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/row_thread.h"
#include "ptx/llvm/ir/warp_ir.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr Shape kUniform{Shape::Uniform, 0, false};
constexpr Shape kSameInRow{Shape::Rows, 0, false};
constexpr Shape kVarying{Shape::Varying, 0, false};

// Strides wrap around as the values do.
int64_t normalized(uint64_t stride, uint32_t bits) {
  if (bits >= 64) return static_cast<int64_t>(stride);
  const int shift = 64 - static_cast<int>(bits);
  return static_cast<int64_t>(stride << shift) >> shift;
}

// Straight over the warp or in each row, as `kind` says.
Shape straight(Shape::Kind kind, uint64_t wide, uint32_t bits, bool fragile) {
  const int64_t stride = normalized(wide, bits);
  if (kind != Shape::Rows && stride == 0 && !fragile) return kUniform;
  return {kind, stride, fragile};
}

Shape affine(uint64_t stride, uint32_t bits, bool fragile) { return straight(Shape::Affine, stride, bits, fragile); }

// Of sums of straight or uniform values, and of what is one or the other.
Shape::Kind joined(Shape::Kind a, Shape::Kind b) {
  if (a == b || b == Shape::Uniform) return a;
  return a == Shape::Uniform ? b : Shape::Rows;
}

Shape inRows(Shape s) { return s.uniform() || s.straight() ? Shape{Shape::Rows, s.stride, s.fragile} : s; }

class Analysis {
 public:
  Analysis(Program& program, const ShapeOptions& options)
      : program_(program), options_(options), zeros_(alignments(program, options, Lanes::First)) {}

  void run() {
    for (Value& v : program_.values) v.shape = initial(v);
    do {
      settle();
      formComponents(program_);
      findPolls(program_);
    } while (letLanesTakeTurns(program_));
  }

 private:
  void settle() {
    for (bool changed = true; changed;) {
      do propagate();
      while (startUnwritten());
      changed = findDivergence();
    }
    for (Value& v : program_.values)
      if (v.shape.kind == Shape::Unknown) v.shape = kVarying;
  }

  Shape initial(const Value& v) const {
    switch (v.kind) {
      case Value::Constant:
      case Value::Undefined:
        return kUniform;
      case Value::Special:
        return special(v.special);
      case Value::Symbol:
        if (v.symbolKind == SymbolKind::FunctionVariable &&
            program_.module->functions[v.function].variables[v.symbol].space == Space::Local)
          return affine(program_.localStride(), 64, false);
        return kUniform;
      default:
        return {};
    }
  }

  Shape special(ptx::Special s) const {
    switch (s) {
      case Special::TidX:
        if (options_.rowLanes) return {options_.wholeRows ? Shape::Repeated : Shape::Rows, 1, false};
        return options_.rowsOf32 || options_.line ? affine(1, 32, false) : kVarying;
      case Special::TidY:
      case Special::TidZ:
        if (options_.rowLanes) return kSameInRow;
        return options_.rowsOf32 || options_.line ? kUniform : kVarying;
      case Special::LaneId:
        return affine(1, 32, false);
      case Special::LanemaskEq:
      case Special::LanemaskLt:
      case Special::LanemaskLe:
      case Special::LanemaskGt:
      case Special::LanemaskGe:
        return kVarying;
      default:
        return kUniform;
    }
  }

  bool raise(ValueId id, Shape to) {
    if (id == kNone) return false;
    Shape& shape = program_.values[id].shape;
    if (to.kind == Shape::Unknown || to == shape) return false;
    if (shape.straight() && to.straight()) {
      if (shape.stride != to.stride) to = kVarying;
      if (to.straight()) to = {joined(shape.kind, to.kind), to.stride, shape.fragile || to.fragile};
    } else if (to.kind < shape.kind) {
      return false;
    }
    if (to == shape) return false;
    shape = to;
    return true;
  }

  void propagate() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Block& block : program_.blocks) {
        for (ValueId phi : block.phis) changed |= raise(phi, phiShape(program_.values[phi]));
        for (uint32_t n : block.instructions) changed |= transfer(program_.instructions[n]);
      }
    }
  }

  // A register that is carried round a loop and was never written before: what it becomes may follow from nothing but
  // itself, and begins with the number that it happens to hold.
  bool startUnwritten() {
    bool changed = false;
    for (Block& block : program_.blocks)
      for (ValueId id : block.phis) {
        Value& phi = program_.values[id];
        if (phi.shape.kind != Shape::Unknown || !mayBeUnwritten(phi)) continue;
        phi.shape = kUniform;
        changed = true;
      }
    return changed;
  }

  bool mayBeUnwritten(const Value& phi) const {
    return std::ranges::any_of(phi.incoming, [&](ValueId in) { return program_.values[in].kind == Value::Undefined; });
  }

  Shape meet(Shape a, Shape b) const {
    if (a.kind == Shape::Unknown) return b;
    if (b.kind == Shape::Unknown) return a;
    if (a.varying() || b.varying() || a.stride != b.stride) return kVarying;
    return {joined(a.kind, b.kind), a.stride, a.fragile || b.fragile};
  }

  Shape phiShape(const Value& phi) const {
    if (phi.joinsDivergent) return kVarying;
    Shape shape;
    for (ValueId in : phi.incoming) {
      const Value& v = program_.values[in];
      if (v.kind == Value::Undefined) continue;  // any number will do, also one on the line of the others
      // A flag that says whether an affine form holds does not travel through phis.
      if (v.shape.fragile) return kVarying;
      shape = meet(shape, v.shape);
    }
    return shape;
  }

  Shape of(const Instruction& i, size_t source) const {
    const ValueId v = i.sources[source];
    return v == kNone ? kUniform : program_.values[v].shape;
  }

  bool isConstant(const Instruction& i, size_t source, int64_t& value, uint32_t bits) const {
    if (source >= i.sources.size() || i.sources[source] == kNone) return false;
    const Value& v = program_.values[i.sources[source]];
    if (v.kind != Value::Constant) return false;
    value = normalized(static_cast<int64_t>(v.bits), bits);
    return true;
  }

  bool transfer(const Instruction& i) {
    bool changed = false;
    for (size_t r = 0; r < i.results.size(); ++r) {
      if (i.results[r] == kNone) continue;
      Shape shape = resultShape(i, r);
      if (program_.blocks[i.block].takesTurns && dependsOnTime(program_, i)) shape = kVarying;
      if (i.guard != kNone && shape.kind != Shape::Unknown && i.old[r] != kNone) {
        const Shape guard = program_.values[i.guard].shape;
        const Shape old = program_.values[i.old[r]].shape;
        if (guard.kind == Shape::Unknown) continue;  // `old` may come from here, round a loop: it is no reason to wait
        shape = guard.uniform() ? meet(shape, old) : guard.sameInRow() ? inRows(meet(shape, old)) : kVarying;
        if (shape.fragile) shape = kVarying;
      }
      changed |= raise(i.results[r], shape);
    }
    return changed;
  }

  // The shape when every source is the same in all lanes, or in all of a row; Unknown while one is unknown.
  Shape pointwise(const Instruction& i) const {
    Shape shape = kUniform;
    for (size_t s = 0; s < i.sources.size() + (i.carryIn != kNone); ++s) {
      const Shape source = s < i.sources.size() ? of(i, s) : program_.values[i.carryIn].shape;
      if (source.kind == Shape::Unknown) return {};
      if (source.sameInRow() && !ptx::isAsync(*i.ast))
        shape.kind = std::max(shape.kind, Shape::Rows);
      else if (!source.uniform())
        shape = kVarying;
    }
    return shape;
  }

  Shape sum(Shape a, Shape b, int64_t sign, uint32_t bits) const {
    if (a.kind == Shape::Unknown || b.kind == Shape::Unknown) return {};
    if (a.varying() || b.varying()) return kVarying;
    if (a.uniform() && b.uniform()) return kUniform;
    const uint64_t stride =
        static_cast<uint64_t>(a.stride) + static_cast<uint64_t>(sign) * static_cast<uint64_t>(b.stride);
    return straight(joined(a.kind, b.kind), stride, bits, a.fragile || b.fragile);
  }

  // Source a times source b, one of them a constant.
  Shape product(const Instruction& i, size_t a, size_t b, uint32_t bits, bool widens) const {
    const Shape x = of(i, a), y = of(i, b);
    if (x.kind == Shape::Unknown || y.kind == Shape::Unknown) return {};
    if (x.uniform() && y.uniform()) return kUniform;
    if ((x.uniform() || x.sameInRow()) && (y.uniform() || y.sameInRow())) return kSameInRow;
    int64_t factor;
    const uint32_t narrow = widens ? bits / 2 : bits;
    const bool isSignedType = isSigned(i.ast->type());
    if (y.straight()) std::swap(a, b);
    if (!of(i, a).straight() || !isConstant(i, b, factor, narrow)) return kVarying;
    if (widens && !isSignedType) factor &= (int64_t{1} << narrow) - 1;
    const Shape s = of(i, a);
    if (widens && (bits != 64 || s.fragile)) return kVarying;
    return straight(s.kind, static_cast<uint64_t>(s.stride) * static_cast<uint64_t>(factor), bits,
                    s.fragile || (widens && mayWrap(i, a)));
  }

  // Whether a straight source may wrap inside a warp or row, as a signed or an unsigned number.
  bool mayWrap(const Instruction& i, size_t source) const {
    const int64_t stride = of(i, source).stride;
    const int64_t steps = of(i, source).rows() ? options_.rowLanes - 1 : 31;
    const int zeros = std::min<int>(zeros_[i.sources[source]], 31);  // the sign is a place to wrap, too
    return stride < 0 || stride > 0xffff || steps * stride >= int64_t{1} << zeros;
  }

  Shape resultShape(const Instruction& i, size_t result) const {
    const ptx::Instruction& ast = *i.ast;
    const Shape plain = pointwise(i);
    const Type type = ast.type();
    const uint32_t bits = ptx::bitsOf(type);
    const bool packed = type == Type::U16x2 || type == Type::S16x2 || type == Type::U8x4 || type == Type::S8x4;
    const bool integer = !ptx::isFloat(type) && type != Type::Pred && bits <= 64 && !packed;
    switch (ast.op) {
      case Op::Mov:
        if (i.sources.size() == 1 && i.results.size() == 1) return i.negated[0] ? plain : of(i, 0);
        return plain;
      case Op::Cvta:
        return of(i, 0);
      case Op::Add:
      case Op::Sub:
        if (integer && !ast.has(Mod::Sat) && !ast.has(Mod::Cc) && ast.typeCount == 1 && bits >= 16 && result == 0)
          return sum(of(i, 0), of(i, 1), ast.op == Op::Add ? 1 : -1, bits);
        return plain;
      case Op::Neg:
        return integer ? sum(kUniform, of(i, 0), -1, bits) : plain;
      case Op::Not:
        return integer ? sum(kUniform, of(i, 0), -1, bits) : plain;
      case Op::Mul:
        if (!integer || ast.has(Mod::Hi)) return plain;
        return ast.has(Mod::Wide) ? product(i, 0, 1, bits * 2, true) : product(i, 0, 1, bits, false);
      case Op::Mad: {
        if (!integer || ast.has(Mod::Hi) || ast.has(Mod::Cc) || ast.has(Mod::Sat)) return plain;
        const bool wide = ast.has(Mod::Wide);
        return sum(product(i, 0, 1, wide ? bits * 2 : bits, wide), of(i, 2), 1, wide ? bits * 2 : bits);
      }
      case Op::Shl:
      case Op::Shr:
      case Op::And:
        return bitShape(i, bits, plain);
      case Op::Setp: {
        const auto comparison = options_.rowsOf32 ? rowComparison(program_, i) : std::nullopt;
        return comparison && comparison->neverMixed() ? kUniform : plain;
      }
      case Op::Cvt:
        return convertShape(i, plain);
      case Op::Selp:
        return chosenShape(of(i, 0), of(i, 1), of(i, 2));
      case Op::Ld:
        if (i.sources[0] == kNone) return plain.uniform() || plain.kind == Shape::Unknown ? plain : kVarying;
        return plain;
      case Op::Match:
        if (ast.has(Mod::All)) break;
        return kVarying;
      case Op::Mbarrier:  // arriving gives each lane a state of its own
        return ast.has(Mod::Arrive) || ast.has(Mod::ArriveDrop) ? kVarying : plain;
      default:
        break;
    }
    return ruledShape(i, plain);
  }

  // Of shifts by constants, and of what masks leave of the lane.
  Shape bitShape(const Instruction& i, uint32_t bits, Shape plain) const {
    int64_t number = 0;
    const bool known = isConstant(i, 1, number, 32);
    switch (i.ast->op) {
      case Op::Shl: {
        const Shape s = of(i, 0);
        if (!s.straight() || !known || number < 0 || number >= static_cast<int64_t>(bits)) return plain;
        return straight(s.kind, static_cast<uint64_t>(s.stride) << number, bits, s.fragile);
      }
      case Op::Shr:
        return isRowThread(i, 0) && known && number >= 5 && number < 32 ? kUniform : plain;
      default:
        // Of whole warps that begin at multiples of 32: what keeps the lane's bits keeps their steps.
        if (isRowThread(i, 0) && known && (number & 31) == 31) return affine(1, 32, false);
        return (isRowThread(i, 0) && known && (number & 31) == 0) || dropsLaneBits(i) ? kUniform : plain;
    }
  }

  Shape chosenShape(Shape a, Shape b, Shape predicate) const {
    if (predicate.kind == Shape::Unknown) return {};
    if (!predicate.uniform() && !predicate.sameInRow()) return kVarying;
    if (a.kind == Shape::Unknown || b.kind == Shape::Unknown) return {};
    const Shape s = meet(a, b);
    if (s.fragile) return kVarying;
    return predicate.uniform() ? s : inRows(s);
  }

  // As the opcode's row says.
  Shape ruledShape(const Instruction& i, Shape plain) const {
    if (isHold(*i.ast)) return kVarying;
    switch (rowOf(i.ast->op).result) {
      case ResultKind::Own:
        return kVarying;
      case ResultKind::Uniform:
        return kUniform;
      case ResultKind::OfMask: {
        const Shape mask = of(i, i.sources.size() - 1);
        return mask.kind == Shape::Unknown ? Shape{} : mask.uniform() ? kUniform : kVarying;
      }
      default:
        return plain;
    }
  }

  bool isRowThread(const Instruction& i, size_t source) const {
    return options_.rowsOf32 && gen::isRowThread(program_, i.sources[source]);
  }

  // (%tid.x >> n) & mask where nothing is left of the bits that differ within a warp.
  bool dropsLaneBits(const Instruction& i) const {
    int64_t mask, amount;
    if (!isConstant(i, 1, mask, 32) || i.sources[0] == kNone) return false;
    const Value& v = program_.values[i.sources[0]];
    if (v.kind != Value::Result) return false;
    const Instruction& from = program_.instructions[v.instruction];
    if (from.ast->op != Op::Shr || from.guard != kNone || ptx::bitsOf(from.ast->type()) != 32) return false;
    if (!isRowThread(from, 0) || !isConstant(from, 1, amount, 32) || amount < 0 || amount > 4) return false;
    return (mask & ((1 << (5 - amount)) - 1)) == 0;
  }

  Shape convertShape(const Instruction& i, Shape plain) const {
    if (i.ast->typeCount != 2) return plain;
    const Type to = i.ast->types[0], from = i.ast->types[1];
    const Shape s = of(i, 0);
    if (!s.straight() || s.sameInRow() || ptx::isFloat(to) || ptx::isFloat(from) || i.ast->has(Mod::Sat)) return plain;
    const uint32_t toBits = ptx::bitsOf(to), fromBits = ptx::bitsOf(from);
    if (toBits > 64 || fromBits > 64 || toBits < 16) return plain;
    const uint32_t held = bitsOf(program_.values[i.sources[0]].type);
    if (toBits <= fromBits && (toBits <= 32 || !s.fragile)) return straight(s.kind, s.stride, toBits, false);
    if (toBits == fromBits) return s;
    if (fromBits == 32 && toBits == 64 && !(s.fragile && held <= 32))
      return straight(s.kind, s.stride, 64, s.fragile || mayWrap(i, 0));
    return kVarying;
  }

  // --- Divergence ----------------------------------------------------------------------------------------------

  bool diverges(const Block& block) const {
    return block.successors.size() > 1 && !program_.values[block.condition].shape.uniform();
  }

  bool findDivergence() {
    bool changed = false;
    for (BlockId b = 0; b < program_.blocks.size(); ++b) {
      Block& block = program_.blocks[b];
      if (!diverges(block)) continue;
      // Also on later rounds: nothing new comes from a branch that was already known.
      if (block.divergent) continue;
      block.divergent = true;
      changed |= markJoins(b);
      changed |= markLeavingValues(b);
    }
    return changed;
  }

  bool markPhis(BlockId b, bool onlyFromLoop, LoopId loop) {
    bool changed = false;
    for (ValueId phi : program_.blocks[b].phis) {
      Value& v = program_.values[phi];
      if (v.joinsDivergent) continue;
      if (onlyFromLoop) {
        bool from = false;
        for (BlockId p : program_.blocks[b].predecessors) from |= program_.inLoop(p, loop);
        if (!from) continue;
      }
      v.joinsDivergent = true;
      changed = true;
    }
    return changed;
  }

  // Blocks where lanes that took different ways out of branch `b` meet: found by carrying labels of the first block of
  // each way as far as the place where all meet.
  bool markJoins(BlockId b) {
    const BlockId exit = program_.immediatePostDominator[b];
    std::vector<uint32_t> label(program_.blocks.size(), kNone);
    std::vector<BlockId> work;
    std::vector<bool> join(program_.blocks.size(), false);
    const auto arrive = [&](BlockId s, uint32_t with) {
      if (label[s] == kNone) {
        label[s] = with;
        work.push_back(s);
      } else if (label[s] != with && label[s] != s) {
        label[s] = s;
        join[s] = true;
        work.push_back(s);
      } else if (label[s] != with) {
        join[s] = true;
      }
    };
    // Two edges to one block (after threading) or a way straight to the exit carry a label of the edge.
    for (size_t n = 0; n < program_.blocks[b].successors.size(); ++n) {
      const BlockId s = program_.blocks[b].successors[n];
      arrive(s, static_cast<uint32_t>(program_.blocks.size() + n));
    }
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == exit || at == b) continue;
      for (BlockId s : program_.blocks[at].successors) arrive(s, label[at]);
    }
    bool changed = false;
    for (BlockId s = 0; s < program_.blocks.size(); ++s)
      if (join[s]) changed |= markPhis(s, false, kNone);
    return changed;
  }

  // Lanes leave a loop with a divergent exit at different iterations: what they carry out varies.
  bool markLeavingValues(BlockId b) {
    bool changed = false;
    for (LoopId loop = program_.blocks[b].loop; loop != kNone; loop = program_.loops[loop].parent) {
      if (left_[loop] || !exitsDivergently(b, loop)) continue;
      left_[loop] = true;
      for (BlockId inside : program_.loops[loop].blocks)
        for (BlockId s : program_.blocks[inside].successors)
          if (!program_.inLoop(s, loop)) changed |= markPhis(s, true, loop);
    }
    return changed;
  }

  // Whether lanes that part at `b` may leave the loop in different iterations: the ways meet outside of it.
  bool exitsDivergently(BlockId b, LoopId loop) const {
    return !program_.inLoop(program_.immediatePostDominator[b], loop);
  }

  Program& program_;
  const ShapeOptions options_;
  const std::vector<uint8_t> zeros_;  // alignments
  std::vector<bool> left_ = std::vector<bool>(
      program_.loops.size(), false);  // by loop: lanes leave it at different rounds, and its exits' phis are marked
};

}  // namespace

void analyseShapes(Program& program, const ShapeOptions& options) { Analysis(program, options).run(); }

}  // namespace vg::ptx::gen
