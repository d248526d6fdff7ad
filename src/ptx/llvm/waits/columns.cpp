// An address is written as a sum of multiples of values. Modulo the distance of two rows only what says the column is
// left of it, and that is compared between the load and every write.
#include "ptx/llvm/waits/columns.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kLeastRow = 64, kMostRow = 1u << 16;  // bytes from row to row, powers of two
constexpr int kDeepest = 24;

// Modulo 2^32: wider than any row, and what 32-bit steps and their widening keep.
struct Sum {
  std::map<ValueId, uint32_t> terms;
  uint32_t constant = 0;

  void add(const Sum& other, uint32_t factor) {
    for (const auto& [value, times] : other.terms) terms[value] += times * factor;
    constant += other.constant * factor;
  }
};

// How far `a` is from `b` modulo a row; nothing when that depends on a value.
std::optional<uint32_t> distanceInRow(const Sum& a, const Sum& b, uint32_t row) {
  Sum difference = a;
  difference.add(b, ~0u);
  for (const auto& [id, times] : difference.terms)
    if (times % row != 0) return {};
  return difference.constant % row;
}

class Reader {
 public:
  Reader(const Program& program, uint32_t row) : program_(program), row_(row) {}

  Sum address(const Instruction& i) {
    Sum sum = read(i.sources[0], 0);
    sum.constant += static_cast<uint32_t>(i.offsets[0]);
    return sum;
  }

 private:
  Sum read(ValueId id, int depth) {
    const Value& value = program_.values[id];
    if (value.kind == Value::Constant) return {{}, static_cast<uint32_t>(value.bits)};
    if (value.kind == Value::Phi && depth < kDeepest) return joined(id, value, depth + 1);
    if (value.kind == Value::Result && depth < kDeepest)
      if (std::optional<Sum> sum = computed(program_.instructions[value.instruction], depth + 1)) return *sum;
    return {{{sameEverywhere(id), 1}}, 0};
  }

  // A value that a loop moves by whole rows stays in its column: assumed first, and then looked at.
  Sum joined(ValueId id, const Value& phi, int depth) {
    if (const auto known = moved_.find(id); known != moved_.end()) return known->second;
    const Block& block = program_.blocks[phi.block];
    Sum alone{{{id, 1}}, 0};
    size_t entry = 0;
    while (entry < phi.incoming.size() && program_.dominates(phi.block, block.predecessors[entry])) ++entry;
    if (entry == phi.incoming.size() || phi.incoming[entry] == kNone) return alone;
    const auto before = moved_;
    Sum first = read(phi.incoming[entry], depth);
    moved_[id] = first;
    for (ValueId other : phi.incoming)
      if (other == kNone || distanceInRow(read(other, depth), first, row_) != 0u) {
        moved_ = before;
        return alone;
      }
    return first;
  }

  // Compilers read a parameter where they need it: each time it is the same value.
  ValueId sameEverywhere(ValueId id) const {
    const std::optional<Parameter> parameter = parameterOf(id);
    if (!parameter) return id;
    for (const Instruction& i : program_.instructions)
      if (i.ast->op == Op::Ld && i.results.size() == 1 && parameterOf(i.results[0]) == parameter) return i.results[0];
    return id;
  }

  using Parameter = std::pair<uint32_t, int64_t>;  // symbol and offset
  std::optional<Parameter> parameterOf(ValueId id) const {
    if (id == kNone || program_.values[id].kind != Value::Result) return {};
    const Instruction& i = program_.instructions[program_.values[id].instruction];
    if (i.ast->op != Op::Ld || i.guard != kNone || i.results.size() != 1) return {};
    const Value& base = program_.values[i.sources[0]];
    if (base.kind != Value::Symbol || base.symbolKind != SymbolKind::Parameter) return {};
    return Parameter{base.symbol, base.offset + i.offsets[0]};
  }

  // Of an instruction that adds, multiplies by constants, or hands on; nothing for any other.
  std::optional<Sum> computed(const Instruction& i, int depth) {
    if (i.guard != kNone || i.results.size() != 1 || i.sources.empty()) return {};
    const auto operand = [&](size_t n, uint32_t factor, Sum& sum) { sum.add(read(i.sources[n], depth), factor); };
    const bool whole = bitsOf(program_.values[i.results[0]].type) >= 32 && !isFloat(program_.values[i.results[0]].type);
    if (!whole || i.ast->has(Mod::Sat)) return {};
    Sum sum;
    switch (i.ast->op) {
      case Op::Mov:
      case Op::Cvta:
        if (i.sources.size() != 1) return {};
        operand(0, 1, sum);
        return sum;
      case Op::Cvt:
        if (bitsOf(program_.values[i.sources[0]].type) < 32 || isFloat(program_.values[i.sources[0]].type) ||
            ptx::bitsOf(i.ast->types[0]) < 32 || ptx::bitsOf(i.ast->types[1]) < 32)
          return {};
        operand(0, 1, sum);
        return sum;
      case Op::Add:
      case Op::Sub:
        if (i.sources.size() != 2) return {};
        operand(0, 1, sum);
        operand(1, i.ast->op == Op::Add ? 1 : ~0u, sum);
        return sum;
      case Op::Shl:
        if (const std::optional<uint32_t> by = constant(i.sources[1]); by && *by < 32) {
          operand(0, 1u << *by, sum);
          return sum;
        }
        return {};
      case Op::Mul:
      case Op::Mad:
        return product(i, depth);
      default:
        return {};
    }
  }

  std::optional<Sum> product(const Instruction& i, int depth) {
    if (i.ast->has(Mod::Hi)) return {};
    for (size_t n : {1, 0})
      if (const std::optional<uint32_t> factor = constant(i.sources[n])) {
        Sum sum;
        sum.add(read(i.sources[1 - n], depth), *factor);
        if (i.ast->op == Op::Mad) sum.add(read(i.sources[2], depth), 1);
        return sum;
      }
    return {};
  }

  std::optional<uint32_t> constant(ValueId id) const {
    const Value& value = program_.values[id];
    if (value.kind != Value::Constant) return {};
    return static_cast<uint32_t>(value.bits);
  }

  const Program& program_;
  const uint32_t row_;
  std::map<ValueId, Sum> moved_;  // phis that keep their column, as the sum that they begin with
};

// Bytes from a lane's place to the next one's, modulo the row; nothing when a part of the sum is not the same for all
// lanes and does not grow evenly either.
std::optional<uint32_t> laneStride(const Program& program, const Sum& sum, uint32_t row) {
  uint32_t stride = 0;
  for (const auto& [id, times] : sum.terms) {
    if (times % row == 0) continue;
    const Shape& shape = program.values[id].shape;
    if (shape.fragile || (!shape.uniform() && !shape.affine())) return {};
    stride += times * static_cast<uint32_t>(shape.stride);
  }
  return stride % row;
}

uint32_t accessBytes(const Instruction& i) {
  const uint32_t count = i.ast->op == Op::Ld ? static_cast<uint32_t>(i.results.size())
                                             : std::max<uint32_t>(1, static_cast<uint32_t>(i.sources.size()) - 1);
  return ptx::bitsOf(i.ast->type()) / 8 * count;
}

// Whether no lane writes where another one polls, by what is left of both addresses in a row.
bool apart(const Program& program, const Sum& polled, const Sum& written, uint32_t row, uint32_t bytes) {
  const std::optional<uint32_t> stride = laneStride(program, polled, row);
  const std::optional<uint32_t> between = distanceInRow(written, polled, row);
  if (!stride || !between) return false;
  for (uint32_t lanes = 1; lanes < 32; ++lanes)
    for (const uint32_t distance : {*between + lanes * *stride, *between - lanes * *stride})
      if (distance % row < bytes || row - distance % row < bytes) return false;
  return true;
}

// Whether the lanes of a warp have all been through the block when the first comes to the loop: blocks are in the order
// in which they run, but for what loops around both bring back.
bool isBefore(const Program& program, BlockId block, LoopId loop) {
  if (block >= program.loops[loop].header) return false;
  for (LoopId outer = loop; outer != kNone; outer = program.loops[outer].parent)
    if (program.inLoop(block, outer)) return false;
  return true;
}

bool maySignal(const Program& program, LoopId loop, const Instruction& i, const Instruction& load) {
  const Op op = i.ast->op;
  if (op != Op::St && !isAtomic(op)) return false;
  if (op == Op::St && !i.ast->has(Mod::Volatile) && !i.ast->has(Mod::Relaxed) && !i.ast->has(Mod::Release))
    return false;
  const Space written = i.ast->space, polled = load.ast->space;
  if (written != polled && written != Space::None && polled != Space::None) return false;
  return !isBefore(program, i.block, loop);
}

}  // namespace

bool pollsOwnColumn(const Program& program, LoopId loop, const Instruction& load) {
  for (uint32_t row = kLeastRow; row <= kMostRow; row *= 2) {
    Reader reader(program, row);
    const Sum polled = reader.address(load);
    const bool own = std::all_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& i) {
      return !maySignal(program, loop, i, load) ||
             apart(program, polled, reader.address(i), row, std::max(accessBytes(load), accessBytes(i)));
    });
    if (own) return true;
  }
  return false;
}

}  // namespace vg::ptx::gen
