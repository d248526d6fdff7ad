#include "ptx/facts/contraction.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {
namespace {

bool mayBeOne(Type type) {
  return type == Type::F32 || type == Type::F64 || type == Type::F16 || type == Type::F16x2 || type == Type::BF16 ||
         type == Type::BF16x2;
}

// Without a rounding, and with nothing that changes the value but what `allowed` has.
bool isPlain(const Instruction& i, std::initializer_list<Mod> allowed) {
  ModSet rest = i.mods;
  for (Mod mod : allowed) rest.reset(static_cast<size_t>(mod));
  return i.count == 3 && i.typeCount == 1 && mayBeOne(i.type()) && rest.none();
}
bool isProduct(const Instruction& i) { return i.op == Op::Mul && i.guard < 0 && isPlain(i, {Mod::Ftz}); }
bool isQuotient(const Instruction& i) {
  return i.op == Op::Div && i.guard < 0 && i.type() == Type::F32 && (i.has(Mod::Approx) || i.has(Mod::Full)) &&
         isPlain(i, {Mod::Ftz, Mod::Approx, Mod::Full});
}
// A product with a power of two that changes no sum.
bool isScaled(const Instruction& i) {
  return i.op == Op::Rcp && i.guard < 0 && i.type() == Type::F32 && i.has(Mod::Approx) && !i.has(Mod::Ftz) &&
         i.count == 2;
}
bool isSum(const Instruction& i) { return (i.op == Op::Add || i.op == Op::Sub) && isPlain(i, {Mod::Ftz, Mod::Sat}); }

class Contraction {
 public:
  Contraction(Function& function, bool quotients) : f_(function), quotients_(quotients) {}

  void run() {
    if (!hasBoth()) return;
    findBlocks();
    countUses();
    for (uint32_t n = 0; n < f_.body.size(); ++n) look(n);
    if (!found_.empty()) rewrite();
  }

 private:
  struct Product {
    uint32_t at = kNowhere;  // of the mul, in the body
    uint32_t uses = 0;       // by sums behind it in its block
  };
  struct Sum {
    uint32_t at;       // in the body
    uint32_t product;  // the mul's place
    bool isSecond;     // the product is the second operand
  };
  struct Factors {
    Operand dividend, inverse;
  };
  static constexpr uint32_t kNowhere = ~0u;
  // Bits of f32: of the divisors that are scaled, and by what.
  static constexpr uint32_t kSmallestNormal = 0x00800000, kLargestKept = 0x7e800000, kUp = 0x4b800000,
                            kDown = 0x3e800000, kOne = 0x3f800000;

  bool counts(const Instruction& i) const { return isProduct(i) || (quotients_ && (isQuotient(i) || isScaled(i))); }
  bool hasBoth() const {
    return std::ranges::any_of(f_.body, [&](const Instruction& i) { return counts(i); }) &&
           std::ranges::any_of(f_.body, isSum);
  }

  const Operand& operand(const Instruction& i, uint32_t n) const { return f_.operands[i.first + n]; }
  std::optional<uint32_t> registerOf(const Instruction& i, uint32_t n) const {
    const Operand& o = operand(i, n);
    if (o.kind != Operand::Kind::Register) return std::nullopt;
    return o.reg;
  }

  template <class Visit>
  void eachRegister(const Operand& o, Visit&& visit) const {
    if (o.kind == Operand::Kind::Register || (o.kind == Operand::Kind::Address && o.isBaseRegister)) visit(o.reg);
    for (uint32_t n = 0; o.kind == Operand::Kind::Vector && n < o.count; ++n)
      eachRegister(f_.operands[o.first + n], visit);
  }

  void findBlocks() {
    std::vector<bool> begins(f_.body.size() + 1, false), isTarget(f_.labels.size(), false);
    for (const Instruction& i : f_.body)
      for (uint32_t n = 0; i.op == Op::Bra && n < i.count; ++n)
        if (operand(i, n).kind == Operand::Kind::Symbol && operand(i, n).symbolKind == SymbolKind::Label)
          isTarget[operand(i, n).symbol] = true;
    for (const BranchTable& table : f_.branchTables)
      for (uint32_t label : table.labels) isTarget[label] = true;
    for (size_t n = 0; n < f_.labels.size(); ++n)
      if (isTarget[n]) begins[f_.labels[n].instruction] = true;
    block_.resize(f_.body.size());
    uint32_t block = 0;
    for (size_t n = 0; n < f_.body.size(); ++n) {
      if (begins[n] || (n && rowOf(f_.body[n - 1].op).has(Trait::Leaves))) ++block;
      block_[n] = block;
    }
  }

  // How often each register is named anywhere, and of products how often by sums that may take them in.
  void countUses() {
    named_.resize(f_.registers.size());
    writtenLast_.assign(f_.registers.size(), kNowhere);
    products_.resize(f_.registers.size());
    for (uint32_t n = 0; n < f_.body.size(); ++n) {
      const Instruction& i = f_.body[n];
      if (i.guard >= 0) ++named_[static_cast<uint32_t>(i.guard)];
      for (uint32_t k = 0; k < i.count; ++k) eachRegister(operand(i, k), [&](uint32_t r) { ++named_[r]; });
      if (isSum(i)) countIn(n);
      if (const auto result = counts(i) ? registerOf(i, 0) : std::nullopt) products_[*result].at = n;
    }
    // Values that a function returns are read by who called it.
    for (uint32_t r = 0; r < f_.registers.size(); ++r)
      if (std::ranges::any_of(f_.returns, [&](const Variable& v) { return v.name == f_.registers[r].name; }))
        named_[r] += 2;
  }

  void countIn(uint32_t sum) {
    const auto first = registerOf(f_.body[sum], 1), second = registerOf(f_.body[sum], 2);
    if (first == second) return;
    if (first && fits(*first, sum)) ++products_[*first].uses;
    if (second && fits(*second, sum)) ++products_[*second].uses;
  }

  // Whether the sum is of the kind, and in the block, of the product in the register.
  bool fits(uint32_t reg, uint32_t sum) const {
    const uint32_t at = products_[reg].at;
    if (at == kNowhere || block_[at] != block_[sum]) return false;
    const Instruction &product = f_.body[at], &i = f_.body[sum];
    return product.type() == i.type() && product.has(Mod::Ftz) == i.has(Mod::Ftz);
  }

  bool mayBeTaken(std::optional<uint32_t> reg, uint32_t sum) const {
    if (!reg || !fits(*reg, sum) || named_[*reg] != products_[*reg].uses + 1) return false;
    const Instruction& product = f_.body[products_[*reg].at];
    if (product.op != Op::Mul) return true;  // its factors get registers of their own
    for (uint32_t k = 1; k < 3; ++k)
      if (const auto factor = registerOf(product, k); factor && writtenSince(*factor, products_[*reg].at)) return false;
    return true;
  }

  bool writtenSince(uint32_t reg, uint32_t at) const { return writtenLast_[reg] != kNowhere && writtenLast_[reg] > at; }

  void look(uint32_t n) {
    const Instruction& i = f_.body[n];
    if (isSum(i)) {
      const auto first = registerOf(i, 1), second = registerOf(i, 2);
      if (mayBeTaken(first, n))
        take({n, products_[*first].at, false});
      else if (mayBeTaken(second, n))
        take({n, products_[*second].at, true});
    }
    for (uint32_t k = 0; k < std::min(i.count, i.pair ? 2u : 1u); ++k)
      eachRegister(operand(i, k), [&](uint32_t r) { writtenLast_[r] = n; });
  }

  void take(const Sum& sum) {
    const Instruction& product = f_.body[sum.product];
    if (isScaled(product)) return;  // the sum stays, and takes in no other product
    if (isQuotient(product)) factors_[sum.product];
    found_.push_back(sum);
  }

  void rewrite() {
    std::vector<Instruction> body;
    std::vector<uint32_t> place(f_.body.size() + 1);
    auto next = found_.begin();
    for (uint32_t n = 0; n < f_.body.size(); ++n) {
      place[n] = static_cast<uint32_t>(body.size());
      if (const auto quotient = factors_.find(n); quotient != factors_.end())
        quotient->second = factorsOf(f_.body[n], body);
      if (next != found_.end() && next->at == n)
        makeOne(*next++, body);
      else
        body.push_back(f_.body[n]);
    }
    place[f_.body.size()] = static_cast<uint32_t>(body.size());
    for (Label& label : f_.labels) label.instruction = place[label.instruction];
    f_.body = std::move(body);
  }

  // a * b + c; of a difference the term that is taken away is negated first.
  void makeOne(const Sum& sum, std::vector<Instruction>& body) {
    const Instruction &i = f_.body[sum.at], &product = f_.body[sum.product];
    Operand terms[] = {operand(i, 0), operand(product, 1), operand(product, 2), operand(i, sum.isSecond ? 1 : 2)};
    if (const auto quotient = factors_.find(sum.product); quotient != factors_.end()) {
      terms[1] = quotient->second.dividend;
      terms[2] = quotient->second.inverse;
    }
    if (i.op == Op::Sub) {
      Operand& taken = terms[sum.isSecond ? 1 : 3];
      taken = negated(i, taken, body);
    }
    Instruction one = i;
    one.op = Op::Fma;
    one.mods.set(static_cast<size_t>(Mod::Rn));
    one.first = static_cast<uint32_t>(f_.operands.size());
    one.count = 4;
    f_.operands.insert(f_.operands.end(), std::begin(terms), std::end(terms));
    body.push_back(one);
  }

  // What a quotient is the product of. Divisors whose reciprocal is subnormal (of div.full) or infinite are scaled
  // first, and dividends with them.
  Factors factorsOf(const Instruction& quotient, std::vector<Instruction>& body) {
    const bool ftz = quotient.has(Mod::Ftz), full = quotient.has(Mod::Full);
    const auto add = [&](Op op, Type type, std::initializer_list<Mod> mods, std::vector<Operand> from) {
      Instruction one;
      one.op = op;
      one.typeCount = 1;
      one.types[0] = type;
      for (Mod mod : mods) one.mods.set(static_cast<size_t>(mod));
      if (ftz && op != Op::Selp) one.mods.set(static_cast<size_t>(Mod::Ftz));
      one.line = quotient.line;
      one.location = quotient.location;
      one.first = static_cast<uint32_t>(f_.operands.size());
      const Operand result = fresh(op == Op::Setp ? Type::Pred : Type::F32);
      f_.operands.push_back(result);
      f_.operands.insert(f_.operands.end(), from.begin(), from.end());
      one.count = static_cast<uint32_t>(f_.operands.size()) - one.first;
      body.push_back(one);
      return result;
    };
    Factors made{operand(quotient, 1), operand(quotient, 2)};
    std::optional<Operand> scale;
    const auto scaleWhere = [&](Mod comparison, uint32_t bound, uint32_t by) {
      const Operand magnitude = add(Op::Abs, Type::F32, {}, {operand(quotient, 2)});
      const Operand holds = add(Op::Setp, Type::F32, {comparison}, {magnitude, single(bound)});
      scale = add(Op::Selp, Type::F32, {}, {single(by), scale.value_or(single(kOne)), holds});
    };
    if (!ftz) scaleWhere(Mod::Lt, kSmallestNormal, kUp);
    if (full) scaleWhere(Mod::Gt, kLargestKept, kDown);
    if (scale) {
      made.dividend = add(Op::Mul, Type::F32, {Mod::Rn}, {made.dividend, *scale});
      made.inverse = add(Op::Mul, Type::F32, {Mod::Rn}, {made.inverse, *scale});
    }
    made.inverse = add(Op::Rcp, Type::F32, {Mod::Approx, Mod::Ftz}, {made.inverse});
    if (!scale) made.dividend = add(Op::Mov, Type::F32, {}, {made.dividend});  // as it is here
    return made;
  }
  Operand fresh(Type type) {
    Operand result;
    result.kind = Operand::Kind::Register;
    result.reg = static_cast<uint32_t>(f_.registers.size());
    f_.registers.push_back({"", type});
    return result;
  }
  static Operand single(uint32_t bits) {
    Operand number;
    number.kind = Operand::Kind::Immediate;
    number.literal = Operand::Literal::F32;
    number.bits = bits;
    return number;
  }

  Operand negated(const Instruction& sum, const Operand& term, std::vector<Instruction>& body) {
    const Operand result = fresh(sum.type());
    Instruction negation;
    negation.op = Op::Neg;
    negation.typeCount = 1;
    negation.types[0] = sum.type();
    negation.line = sum.line;
    negation.location = sum.location;
    negation.first = static_cast<uint32_t>(f_.operands.size());
    negation.count = 2;
    f_.operands.push_back(result);
    f_.operands.push_back(term);
    body.push_back(negation);
    return result;
  }

  Function& f_;
  const bool quotients_;
  std::map<uint32_t, Factors> factors_;        // of quotients that sums take in, by place in the body
  std::vector<uint32_t> block_;                // by place in the body
  std::vector<uint32_t> named_, writtenLast_;  // by register
  std::vector<Product> products_;              // by register of the result
  std::vector<Sum> found_;                     // in order
};

}  // namespace

void contract(Module& module, bool quotients) {
  if (module.debug) return;
  for (Function& function : module.functions) Contraction(function, quotients).run();
}

}  // namespace vg::ptx
