#include "ptx/llvm/analysis/misalignment.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "ptx/llvm/analysis/alignment.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/settled_values.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

// By value, the value that it has its remainder modulo 2^bits from: itself, or one that it was made of by adding
// multiples. What goes around a loop in steps of multiples has its remainder from before the loop. Wrapping and
// widening keep the low bits of sums as they are.
class Roots {
 public:
  Roots(const Program& program, const std::vector<uint8_t>& zeros, uint8_t bits)
      : program_(program), zeros_(zeros), bits_(bits), roots_(program.values.size(), kNone) {
    settleValues(program, [&](ValueId id) {
      if (roots_[id] == id) return false;
      const ValueId now = of(id);
      return std::exchange(roots_[id], now) != now;
    });
  }

  ValueId operator[](ValueId id) const { return roots_[id]; }

 private:
  static constexpr ValueId kMultiple = kNone - 1;  // remainder 0; kNone: not known yet

  bool multiple(ValueId id) const { return id != kNone && zeros_[id] >= bits_; }
  ValueId at(ValueId id) const { return multiple(id) ? kMultiple : roots_[id]; }

  ValueId of(ValueId id) const {
    const Value& v = program_.values[id];
    if (multiple(id)) return id;
    if (v.kind == Value::Phi) return common(id, v.incoming);
    if (v.kind != Value::Result) return id;
    const Instruction& i = program_.instructions[v.instruction];
    const ValueId source = passedOn(i);
    if (source == kNone) return i.ast->op == Op::Selp && plain(i) ? common(id, {i.sources[0], i.sources[1]}) : id;
    const bool joins = i.guard != kNone && !i.old.empty() && i.old[0] != kNone;
    return joins ? common(id, {source, i.old[0]}) : common(id, {source});
  }

  // What all of these have their remainder from; `self` when that is not one.
  ValueId common(ValueId self, const std::vector<ValueId>& from) const {
    ValueId all = kNone;
    for (const ValueId one : from) {
      if (one == kNone) return self;
      const ValueId root = program_.values[one].kind == Value::Undefined ? kNone : at(one);
      if (root == kNone) continue;
      if (all != kNone && all != root) return self;
      all = root;
    }
    return all == kMultiple ? self : all;
  }

  // One integer result from integers, without saturation or carries.
  static bool plain(const Instruction& i) {
    const ptx::Instruction& ast = *i.ast;
    if (i.results.size() != 1 || i.carryIn != kNone || i.carryOut != kNone || ast.has(Mod::Sat) || ast.has(Mod::Hi))
      return false;
    for (uint8_t t = 0; t < ast.typeCount; ++t)
      if (ptx::isFloat(ast.types[t]) || ast.types[t] == Type::Pred || ptx::bitsOf(ast.types[t]) < 32) return false;
    return std::none_of(i.negated.begin(), i.negated.end(), [](bool negated) { return negated; });
  }

  // The operand to which the instruction adds a multiple or nothing; kNone when it does something else.
  ValueId passedOn(const Instruction& i) const {
    if (!plain(i)) return kNone;
    const auto source = [&](size_t n) { return n < i.sources.size() ? i.sources[n] : kNone; };
    switch (i.ast->op) {
      case Op::Mov:
        return i.sources.size() == 1 ? source(0) : kNone;
      case Op::Cvt:
      case Op::Cvta:
        return source(0);
      case Op::Add:
        return multiple(source(1)) ? source(0) : multiple(source(0)) ? source(1) : kNone;
      case Op::Sub:
        return multiple(source(1)) ? source(0) : kNone;
      case Op::Mad:
        return productIsMultiple(source(0), source(1)) ? source(2) : kNone;
      default:
        return kNone;
    }
  }

  bool productIsMultiple(ValueId a, ValueId b) const {
    return a != kNone && b != kNone && zeros_[a] + zeros_[b] >= bits_;
  }

  const Program& program_;
  const std::vector<uint8_t>& zeros_;
  const uint8_t bits_;
  std::vector<ValueId> roots_;
};

// What one lane accesses in a load, a store, an atomic operation or an asynchronous copy: its addresses have to be
// multiples of that. 0: the instruction is none of these.
uint32_t accessBytes(const Program& program, const Instruction& i) {
  switch (i.ast->op) {
    case Op::Ld:
    case Op::Ldu:
    case Op::St:
    case Op::Atom:
    case Op::Red:
      return std::max(ptx::bitsOf(i.ast->type()), 8u) / 8 * std::max<uint32_t>(i.ast->vectorWidth, 1);
    case Op::Cp: {
      const Value* const size = i.sources.size() > 2 ? &program.values[i.sources[2]] : nullptr;
      const bool copiesLanes = i.ast->has(Mod::Async) && !i.ast->has(Mod::Bulk) && !i.ast->has(Mod::Mbarrier);
      return copiesLanes && size && size->kind == Value::Constant && std::has_single_bit(size->bits)
                 ? static_cast<uint32_t>(size->bits)
                 : 0;
    }
    default:
      return 0;
  }
}

class Planner {
 public:
  Planner(const Program& program, const ShapeOptions& options, bool trustsParameters)
      : program_(program), trusts_(trustsParameters), zeros_(alignments(program, options, Lanes::All)) {}

  AlignmentTests run() {
    for (const Block& block : program_.blocks)
      for (const uint32_t index : block.instructions) add(program_.instructions[index]);
    for (const auto& [rule, bytes] : rules_) out_.rules.push_back({rule.first, rule.second, bytes});
    return std::move(out_);
  }

 private:
  void add(const Instruction& i) {
    const uint32_t bytes = accessBytes(program_, i);
    // Lanes that may copy less than all need not have a source at all.
    const bool wholeCopy = i.ast->op == Op::Cp && i.sources.size() - i.ast->has(Mod::L2CacheHint) == 3;
    const size_t addresses = wholeCopy ? 2 : 1;
    for (size_t source = 0; bytes > 1 && source < addresses && source < i.sources.size(); ++source)
      if (i.sources[source] != kNone) addAddress(i, source, bytes);
  }

  void addAddress(const Instruction& i, size_t source, uint32_t bytes) {
    const ValueId address = i.sources[source];
    const auto bits = static_cast<uint8_t>(std::countr_zero(bytes));
    const auto displacement = static_cast<uint32_t>(static_cast<uint64_t>(i.offsets[source]) % bytes);
    if (isParameter(address) || (!displacement && zeros_[address] >= bits)) return;
    const ValueId root = rootsFor(bits)[address];
    if (const auto given = trusts_ ? givenPointer(program_, root) : std::nullopt) {
      uint32_t& most = rules_[{*given, displacement}];
      most = std::max(most, bytes);
      return;
    }
    const AlignmentTest test{bytes, displacement, root};
    if (!testedBefore(i, test)) out_.needed[{&i, source}] = test;
  }

  // The kernel's own parameters are read where they stand.
  bool isParameter(ValueId address) const {
    const Value& v = program_.values[address];
    return v.kind == Value::Symbol && v.symbolKind == SymbolKind::Parameter;
  }

  // Whether every way here passes the same test. Requires: blocks come in order, and what is in them.
  bool testedBefore(const Instruction& i, const AlignmentTest& test) {
    std::vector<BlockId>& blocks = tested_[{test.root, test.bytes, test.displacement}];
    for (const BlockId before : blocks)
      if (before == i.block || program_.dominates(before, i.block)) return true;
    if (i.guard == kNone) blocks.push_back(i.block);
    return false;
  }

  const Roots& rootsFor(uint8_t bits) {
    auto found = roots_.find(bits);
    if (found == roots_.end()) found = roots_.try_emplace(bits, program_, zeros_, bits).first;
    return found->second;
  }

  const Program& program_;
  const bool trusts_;
  const std::vector<uint8_t> zeros_;
  AlignmentTests out_;
  std::map<uint8_t, Roots> roots_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> rules_;  // (parameter, displacement) -> bytes
  std::map<std::tuple<ValueId, uint32_t, uint32_t>, std::vector<BlockId>> tested_;  // by root, bytes, displacement
};

}  // namespace

AlignmentTests alignmentTests(const Program& program, const ShapeOptions& options, bool trustsParameters) {
  return Planner(program, options, trustsParameters).run();
}

}  // namespace vg::ptx::gen
