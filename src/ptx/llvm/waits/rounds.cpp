// A value is held against one that the loop carries: which ways it may lie from there. Ways are found for all values
// between both, from none upwards until nothing is added.
#include "ptx/llvm/waits/rounds.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr size_t kMostValues = 2000;  // looked at for one answer
constexpr int kDeepest = 64;

// Ways from one value to another, or from one round to the next: a set. What the loop does not change and nobody knows
// is a way of its own: it may be up or down, but is the same in each round. There is one such step, or product.
using Ways = uint8_t;
constexpr Ways kNowhere = 0, kSame = 1, kUp = 2, kDown = 4, kAnywhere = 8;
constexpr Ways kStep = 16, kStepBack = 32, kProduct = 64, kProductBack = 128;
constexpr Ways kMoves = kUp | kDown | kStep | kStepBack | kProduct | kProductBack;

Ways turned(Ways w) {
  Ways result = w & (kSame | kAnywhere);
  for (const auto& [way, back] : {std::pair{kUp, kDown}, {kStep, kStepBack}, {kProduct, kProductBack}})
    result |= static_cast<Ways>((w & way ? back : 0) | (w & back ? way : 0));
  return result;
}

// One way after another.
Ways joined(Ways a, Ways b) {
  if (!a || !b) return kNowhere;
  const Ways all = a | b, moves = all & kMoves;
  if (all & kAnywhere || std::popcount(moves) > 1) return kAnywhere;
  return moves ? static_cast<Ways>(moves | (a & b & kSame)) : kSame;
}

class Rounds {
 public:
  Rounds(const Program& program, LoopId loop) : program_(program), loop_(loop) {}

  Course of(ValueId value) {
    const Ways ways = fromRoundToRound(value, 0);
    if (ways == kSame) return Course::Stays;
    return ways & kMoves && std::has_single_bit(ways) ? Course::GoesOn : Course::Returns;
  }

 private:
  using Operands = std::pair<ValueId, ValueId>;

  bool inside(ValueId id) const {
    const Value& v = program_.values[id];
    return v.block != kNone && program_.inLoop(v.block, loop_);
  }

  bool isCarried(ValueId id) const {
    const Value& v = program_.values[id];
    return v.kind == Value::Phi && v.block == program_.loops[loop_].header;
  }

  // Whole numbers of registers that do not wrap in practice, computed in every round.
  const Instruction* whole(const Value& v) const {
    if (v.kind != Value::Result || isFloat(v.type) || bitsOf(v.type) < 32) return nullptr;
    const Instruction& i = program_.instructions[v.instruction];
    const bool plain = i.results.size() == 1 && !i.ast->has(Mod::Sat) && !i.ast->has(Mod::Hi) && i.carryIn == kNone;
    return plain && std::ranges::none_of(i.sources, [](ValueId s) { return s == kNone; }) ? &i : nullptr;
  }

  // How a value in one round lies from what it was in the round before.
  Ways fromRoundToRound(ValueId id, int depth) {
    if (id == kNone || depth > kDeepest) return kAnywhere;
    if (!inside(id)) return kSame;
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    const Ways ways = known_[id] = isCarried(id) ? ofCarried(id) : ofMade(id, depth);
    return ways;
  }

  Ways ofCarried(ValueId phi) {
    Ways ways = kNowhere;
    const std::vector<BlockId>& from = program_.blocks[program_.loops[loop_].header].predecessors;
    for (size_t n = 0; n < from.size(); ++n)
      if (program_.inLoop(from[n], loop_)) ways |= lying(program_.values[phi].incoming[n], phi);
    return ways ? ways : kAnywhere;
  }

  Ways ofMade(ValueId id, int depth) {
    const Value& v = program_.values[id];
    if (const Instruction* const i = whole(v); i && i->guard == kNone) {
      const auto go = [&](size_t n) { return fromRoundToRound(i->sources[n], depth + 1); };
      switch (i->ast->op) {
        case Op::Mov:
        case Op::Cvta:
        case Op::Cvt:
          if (keepsNumber(*i) && isWide(i->sources[0])) return go(0);
          break;
        case Op::Add:
          return joined(go(0), go(1));
        case Op::Sub:
          return joined(go(0), turned(go(1)));
        case Op::Mul:
        case Op::Shl:
          return times(i->sources[0], i->sources[1], go(0), go(1));
        case Op::Mad:
          return joined(times(i->sources[0], i->sources[1], go(0), go(1)), go(2));
        default:
          break;
      }
    }
    return besideCarried(id);
  }

  // One of several that lie no further than a step from what the loop carries.
  Ways besideCarried(ValueId id) {
    for (ValueId phi : program_.blocks[program_.loops[loop_].header].phis) {
      if (isFloat(program_.values[phi].type)) continue;
      const Ways step = lying(id, phi);
      if (step && !(step & kAnywhere)) return fromRoundToRound(phi, 0);
    }
    return kAnywhere;
  }

  // A cvt.u32.u8 makes a ring of what goes on.
  static bool keepsNumber(const Instruction& i) {
    return i.sources.size() == 1 && ptx::bitsOf(i.ast->type()) >= 32 && ptx::bitsOf(sourceType(*i.ast, 0)) >= 32;
  }

  bool isWide(ValueId id) const { return id != kNone && bitsOf(program_.values[id].type) >= 32; }

  // A product with what the loop does not change; negative factors turn it.
  Ways times(ValueId a, ValueId b, Ways ofA, Ways ofB) {
    if (ofA == kSame && ofB == kSame) return kSame;
    if (ofA != kSame && ofB != kSame) return kAnywhere;
    const ValueId unchanged = ofA == kSame ? a : b;
    const Ways moving = ofA == kSame ? ofB : ofA;
    const std::optional<uint64_t> factor = knownBits(program_, unchanged);
    if (!factor) return timesUnknown(moving, unchanged);
    if (*factor == 0) return kSame;
    return isNegative(*factor, program_.values[unchanged].type) ? turned(moving) : moving;
  }

  Ways timesUnknown(Ways moving, ValueId factor) {
    const Ways way = moving & kMoves;
    if (moving & kAnywhere || std::popcount(way) > 1 || way & (kProduct | kProductBack)) return kAnywhere;
    if (!way) return moving;
    const std::pair key{way & (kStep | kStepBack) ? step_ : kNone, factor};
    if (product_.second == kNone) product_ = key;
    if (product_ != key) return kAnywhere;
    return static_cast<Ways>((way & (kUp | kStep) ? kProduct : kProductBack) | (moving & kSame));
  }

  // Adding what the loop does not change.
  Ways bySome(ValueId step) {
    if (step_ == kNone) step_ = step;
    return step_ == step ? kStep : kAnywhere;
  }

  static bool isNegative(uint64_t bits, Class type) { return bits >> (bitsOf(type) - 1) & 1; }

  // How a value lies from one that the loop carries, in the same round.
  Ways lying(ValueId value, ValueId phi) {
    std::map<ValueId, Ways> ways{{phi, kSame}};
    const std::vector<ValueId> order = sourcesOf(value, phi);
    if (order.size() > kMostValues) return kAnywhere;
    for (bool changed = true; changed;) {
      changed = false;
      for (ValueId id : order) {
        const Ways now = ways[id] | step(id, ways);
        if (now != ways[id]) {
          ways[id] = now;
          changed = true;
        }
      }
    }
    return inside(value) ? ways[value] : kAnywhere;
  }

  // What a value is made of inside of the loop, what it is made of first.
  std::vector<ValueId> sourcesOf(ValueId value, ValueId phi) const {
    std::vector<ValueId> order, work{value};
    std::map<ValueId, bool> seen;
    while (!work.empty() && order.size() <= kMostValues) {
      const ValueId id = work.back();
      work.pop_back();
      if (id == kNone || id == phi || !inside(id) || isCarried(id) || std::exchange(seen[id], true)) continue;
      order.push_back(id);
      for (ValueId in : made(id)) work.push_back(in);
    }
    std::ranges::reverse(order);
    return order;
  }

  std::vector<ValueId> made(ValueId id) const {
    const Value& v = program_.values[id];
    if (v.kind == Value::Phi) return v.incoming;
    const Instruction* const i = whole(v);
    if (!i) return {};
    std::vector<ValueId> from = i->ast->op == Op::Selp || isStep(i->ast->op) ? i->sources : std::vector<ValueId>();
    from.insert(from.end(), i->old.begin(), i->old.end());
    return from;
  }

  static bool isStep(Op op) {
    return op == Op::Mov || op == Op::Cvta || op == Op::Cvt || op == Op::Add || op == Op::Sub || op == Op::Mul ||
           op == Op::Shl || op == Op::Mad;
  }

  Ways at(ValueId id, std::map<ValueId, Ways>& ways) const {
    if (id == kNone || !inside(id)) return kAnywhere;
    if (const auto found = ways.find(id); found != ways.end()) return found->second;
    return isCarried(id) || !isWide(id) ? kAnywhere : kNowhere;
  }

  Ways step(ValueId id, std::map<ValueId, Ways>& ways) {
    const Value& v = program_.values[id];
    if (v.kind == Value::Phi) {
      Ways all = kNowhere;
      for (ValueId in : v.incoming) all |= at(in, ways);
      return all;
    }
    const Instruction* const i = whole(v);
    if (!i) return kAnywhere;
    Ways all = computed(*i, ways);
    if (i->guard != kNone)
      for (ValueId old : i->old)
        if (old != kNone) all |= at(old, ways);
    return all;
  }

  Ways computed(const Instruction& i, std::map<ValueId, Ways>& ways) {
    const auto from = [&](size_t n) { return at(i.sources[n], ways); };
    switch (i.ast->op) {
      case Op::Mov:
      case Op::Cvta:
      case Op::Cvt:
        return keepsNumber(i) ? from(0) : kAnywhere;
      case Op::Selp:
        return from(0) | from(1);
      case Op::Add:
        return from(0) & kAnywhere ? joined(from(1), size(i.sources[0])) : joined(from(0), size(i.sources[1]));
      case Op::Sub:
        return joined(from(0), turned(size(i.sources[1])));
      case Op::Mul:
      case Op::Shl:
        return grown(i, from(0));
      case Op::Mad:
        return joined(grown(i, from(0)), size(i.sources[2]));
      default:
        return kAnywhere;
    }
  }

  // Twice as far and more, as from a node of a tree in an array to the next one down. From zero that is no way, but
  // nobody does that.
  Ways grown(const Instruction& i, Ways from) const {
    const std::optional<uint64_t> factor = knownBits(program_, i.sources[1]);
    if (!factor || isNegative(*factor, program_.values[i.sources[1]].type) || from & ~(kSame | kUp))
      return from ? kAnywhere : kNowhere;
    if (*factor < (i.ast->op == Op::Shl ? 1u : 2u)) return *factor ? from : kAnywhere;
    return from ? kUp : kNowhere;
  }

  // Where adding a value leads.
  Ways size(ValueId id, int depth = 0) {
    if (id == kNone || depth > kDeepest) return kAnywhere;
    const Value& v = program_.values[id];
    if (const std::optional<uint64_t> bits = knownBits(program_, id))
      return !*bits ? kSame : isNegative(*bits, v.type) ? kDown : kUp;
    if (!inside(id)) return bySome(id);
    const Instruction* const i = whole(v);
    if (i && i->guard == kNone && i->ast->op == Op::Selp)
      return size(i->sources[0], depth + 1) | size(i->sources[1], depth + 1);
    if (i && i->guard == kNone && i->sources.size() == 1 && (i->ast->op == Op::Cvt || i->ast->op == Op::Mov))
      return size(i->sources[0], depth + 1);
    if (i && i->guard == kNone && (i->ast->op == Op::Mul || i->ast->op == Op::Shl)) {
      const std::optional<uint64_t> factor = knownBits(program_, i->sources[1]);
      if (!factor) return kAnywhere;
      const Ways one = size(i->sources[0], depth + 1);
      if (i->ast->op == Op::Shl) return one;
      return !*factor ? kSame : isNegative(*factor, program_.values[i->sources[1]].type) ? turned(one) : one;
    }
    return kAnywhere;
  }

  const Program& program_;
  const LoopId loop_;
  std::map<ValueId, Ways> known_;
  ValueId step_ = kNone;                               // what kStep adds
  std::pair<ValueId, ValueId> product_{kNone, kNone};  // what kProduct goes by, kNone for up, and times what
};

}  // namespace

Course courseOf(const Program& program, ValueId value, LoopId loop) { return Rounds(program, loop).of(value); }

}  // namespace vg::ptx::gen
