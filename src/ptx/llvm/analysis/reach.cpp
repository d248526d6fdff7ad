#include "ptx/llvm/analysis/reach.h"

#include <algorithm>
#include <map>

#include "ptx/abi/reach_abi.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr int kDeepest = 24;                           // sums of sums
constexpr uint64_t kBesideShared = uint64_t{4} << 30;  // what nothing can be touched in beside shared memory
constexpr uint64_t kOfSigned = uint64_t{1} << 31, kOfUnsigned = (uint64_t{1} << 32) - 1;

const Instruction* plainMaker(const Program& program, ValueId id) {
  const Value& v = program.values[id];
  if (v.kind != Value::Result) return nullptr;
  const Instruction& i = program.instructions[v.instruction];
  const bool plain = i.guard == kNone && i.carryIn == kNone && i.carryOut == kNone && i.results.size() == 1 &&
                     !i.ast->has(Mod::Sat) && i.ast->typeCount && !ptx::isFloat(i.ast->type());
  return plain && std::ranges::none_of(i.negated, [](bool negated) { return negated; }) ? &i : nullptr;
}

std::optional<uint64_t> product(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a || !b) return {};
  uint64_t all;
  return __builtin_mul_overflow(*a, *b, &all) || all > kReachSlack ? std::nullopt : std::optional(all);
}
std::optional<uint64_t> sum(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  return a && b && *a + *b <= kReachSlack ? std::optional(*a + *b) : std::nullopt;
}

std::optional<uint64_t> distance(int64_t number) {
  const uint64_t far = number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  return far <= kReachSlack ? std::optional(far) : std::nullopt;
}

// How far from zero a number may be: of 64 bits, or of 32 that are about to be widened, by their sign or not.
class Bounds {
 public:
  explicit Bounds(const Program& program) : program_(program) {}

  std::optional<uint64_t> of(ValueId id, int depth = 0) const {
    if (id == kNone || depth > kDeepest) return {};
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const std::optional<uint64_t> bound = made(id, depth);
    known_.emplace(id, bound);
    return bound;
  }
  // Of the 32-bit factors.
  std::optional<uint64_t> wideProduct(const Instruction& i) const {
    return product(widened(i.sources[0], i.ast->type()), widened(i.sources[1], i.ast->type()));
  }

 private:
  std::optional<uint64_t> made(ValueId id, int depth) const {
    if (const auto bits = knownBits(program_, id)) return distance(static_cast<int64_t>(*bits));
    const Instruction* const i = plainMaker(program_, id);
    if (!i || i->sources.empty() || bitsOf(program_.values[id].type) != 64) return {};
    const auto source = [&](size_t n) { return n < i->sources.size() ? of(i->sources[n], depth + 1) : std::nullopt; };
    switch (i->ast->op) {
      case Op::Mov:
        return i->sources.size() == 1 ? source(0) : std::nullopt;
      case Op::Cvt:
        return i->ast->typeCount == 2 ? widened(i->sources[0], i->ast->types[1]) : std::nullopt;
      case Op::Add:
      case Op::Sub:
        return sum(source(0), source(1));
      case Op::Mul:
        return i->ast->has(Mod::Wide) ? wideProduct(*i)
               : i->ast->has(Mod::Hi) ? std::nullopt
                                      : product(source(0), source(1));
      case Op::Mad:
        if (i->ast->has(Mod::Hi)) return {};
        return sum(i->ast->has(Mod::Wide) ? wideProduct(*i) : product(source(0), source(1)), source(2));
      case Op::Shl:
        return shifted(source(0), i->sources[1]);
      case Op::And:
        return smaller(*i);
      default:
        return {};
    }
  }
  std::optional<uint64_t> widened(ValueId id, Type from) const {
    if (ptx::isFloat(from) || ptx::bitsOf(from) > 32 || id == kNone) return {};
    const bool isSigned = ptx::isSigned(from);
    if (const auto bits = knownBits(program_, id)) {
      const auto word = static_cast<uint32_t>(*bits);
      return distance(isSigned ? static_cast<int32_t>(word) : static_cast<int64_t>(word));
    }
    return isSigned ? kOfSigned : kOfUnsigned;
  }
  std::optional<uint64_t> shifted(std::optional<uint64_t> number, ValueId by) const {
    const auto amount = knownBits(program_, by);
    if (!amount || *amount > 36) return {};
    return product(number, uint64_t{1} << *amount);
  }
  // A number of which only bits of a small positive one stay.
  std::optional<uint64_t> smaller(const Instruction& i) const {
    for (const ValueId one : i.sources)
      if (const auto bits = knownBits(program_, one); bits && *bits <= kReachSlack) return *bits;
    return {};
  }

  const Program& program_;
  mutable std::map<ValueId, std::optional<uint64_t>> known_;  // sums of one number with itself are looked at once
};

// From an address to what was there before small numbers were added.
struct Origin {
  ValueId value;
  uint64_t added = 0;
};

class Walk {
 public:
  explicit Walk(const Program& program) : program_(program), bounds_(program) {}

  Origin from(ValueId address, uint64_t added) const {
    Origin at{address, added};
    for (int depth = 0; depth < kDeepest; ++depth)
      if (!step(at)) break;
    return at;
  }

 private:
  bool step(Origin& at) const {
    const Instruction* const i = plainMaker(program_, at.value);
    if (!i || i->sources.empty() || bitsOf(program_.values[at.value].type) != 64) return false;
    switch (i->ast->op) {
      case Op::Mov:
        return i->sources.size() == 1 && go(at, i->sources[0], 0);
      case Op::Cvta:
        return passes(*i) && go(at, i->sources[0], 0);
      case Op::Add:
        return go(at, i->sources[0], bounds_.of(i->sources[1])) || go(at, i->sources[1], bounds_.of(i->sources[0]));
      case Op::Sub:
        return go(at, i->sources[0], bounds_.of(i->sources[1]));
      case Op::Mad:
        return i->ast->has(Mod::Wide) && go(at, i->sources[2], bounds_.wideProduct(*i));
      default:
        return false;
    }
  }
  // Generic addresses are those of global, constant, local and parameter memory; of shared memory only variables' can
  // be followed, as others are offsets.
  bool passes(const Instruction& i) const {
    return i.ast->space != Space::Shared && i.ast->space != Space::SharedCluster
               ? true
               : program_.values[i.sources[0]].kind == Value::Symbol;
  }
  bool go(Origin& at, ValueId to, std::optional<uint64_t> adding) const {
    if (to == kNone || bitsOf(program_.values[to].type) != 64 || !adding || *adding > kReachSlack - at.added)
      return false;
    at.value = to;
    at.added += *adding;
    return true;
  }

  const Program& program_;
  const Bounds bounds_;
};

// How far from a variable of the kernel's addresses may lie that were made of its own.
uint64_t roomOf(const Program& program, const Value& symbol) {
  switch (symbol.symbolKind) {
    case SymbolKind::Parameter:
      return kReachSlack;  // no address: the launch's own
    case SymbolKind::FunctionVariable: {
      const Variable& variable = program.module->functions[symbol.function].variables[symbol.symbol];
      if (variable.space == Space::Local) return program.localSize;
      return variable.space == Space::Shared ? kBesideShared : kReachSlack;
    }
    default: {
      const bool isVariable = symbol.symbol < program.module->variables.size();
      return isVariable && program.module->variables[symbol.symbol].space == Space::Shared ? kBesideShared
                                                                                           : kReachSlack;
    }
  }
}

bool isLocal(const Program& program, const Value& v) {
  return v.kind == Value::Symbol && v.symbolKind == SymbolKind::FunctionVariable &&
         program.module->functions[v.function].variables[v.symbol].space == Space::Local;
}

}  // namespace

AccessOrigin accessOrigin(const Program& program, const Instruction& i, size_t source, uint32_t bytes) {
  const ValueId address = i.sources[source];
  const auto beside = sum(distance(i.offsets[source]), bytes);
  if (!beside) return {address, {}};
  const Origin origin = Walk(program).from(address, *beside);
  return {origin.value, sum(origin.added, distance(program.values[origin.value].offset))};
}

ValueId symbolOf(const Program& program, ValueId id, int depth) {
  if (id == kNone || program.values[id].kind == Value::Symbol) return id;
  const Instruction* const i = depth ? plainMaker(program, id) : nullptr;
  if (!i || i->sources.empty()) return kNone;
  const auto from = [&](size_t k) {
    return k < i->sources.size() ? symbolOf(program, i->sources[k], depth - 1) : kNone;
  };
  switch (i->ast->op) {
    case Op::Mov:
      return i->sources.size() == 1 ? from(0) : kNone;
    case Op::Add:
      return from(0) == kNone ? from(1) : from(1) == kNone ? from(0) : kNone;
    case Op::Sub:
      return from(1) == kNone ? from(0) : kNone;
    case Op::Mad:
      return from(0) == kNone && from(1) == kNone ? from(2) : kNone;
    default:
      return kNone;
  }
}

std::optional<ReachTest> reachTest(const Program& program, const Instruction& i, size_t source, uint32_t bytes) {
  const ValueId address = i.sources[source];
  const auto beside = sum(distance(i.offsets[source]), bytes);
  if (!beside) return ReachTest{address};
  const Origin origin = Walk(program).from(address, *beside);
  const Value& v = program.values[origin.value];
  const auto inside = sum(origin.added, distance(v.offset));  // a variable's place may be named with an offset
  if (v.kind == Value::Symbol && inside && *inside <= roomOf(program, v)) return {};
  return ReachTest{origin.value, isLocal(program, v)};
}

std::optional<ReachTest> ownTest(const Program& program, const Instruction& i, size_t source, uint32_t bytes) {
  const auto test = reachTest(program, i, source, bytes);
  const bool isNear = sum(distance(i.offsets[source]), bytes).has_value();
  return test && isNear && givenPointer(program, test->base) ? std::nullopt : test;
}

}  // namespace vg::ptx::gen
