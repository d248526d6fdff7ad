#include "ptx/facts/contraction.h"

#include <algorithm>
#include <optional>

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
bool isSum(const Instruction& i) { return (i.op == Op::Add || i.op == Op::Sub) && isPlain(i, {Mod::Ftz, Mod::Sat}); }

class Contraction {
 public:
  explicit Contraction(Function& function) : f_(function) {}

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
  static constexpr uint32_t kNowhere = ~0u;

  bool hasBoth() const { return std::ranges::any_of(f_.body, isProduct) && std::ranges::any_of(f_.body, isSum); }

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
      if (const auto result = isProduct(i) ? registerOf(i, 0) : std::nullopt) products_[*result].at = n;
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
        found_.push_back({n, products_[*first].at, false});
      else if (mayBeTaken(second, n))
        found_.push_back({n, products_[*second].at, true});
    }
    for (uint32_t k = 0; k < std::min(i.count, i.pair ? 2u : 1u); ++k)
      eachRegister(operand(i, k), [&](uint32_t r) { writtenLast_[r] = n; });
  }

  void rewrite() {
    std::vector<Instruction> body;
    std::vector<uint32_t> place(f_.body.size() + 1);
    auto next = found_.begin();
    for (uint32_t n = 0; n < f_.body.size(); ++n) {
      place[n] = static_cast<uint32_t>(body.size());
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

  Operand negated(const Instruction& sum, const Operand& term, std::vector<Instruction>& body) {
    Operand result;
    result.kind = Operand::Kind::Register;
    result.reg = static_cast<uint32_t>(f_.registers.size());
    f_.registers.push_back({"", sum.type()});
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
  std::vector<uint32_t> block_;                // by place in the body
  std::vector<uint32_t> named_, writtenLast_;  // by register
  std::vector<Product> products_;              // by register of the result
  std::vector<Sum> found_;                     // in order
};

}  // namespace

void contract(Module& module) {
  if (module.debug) return;
  for (Function& function : module.functions) Contraction(function).run();
}

}  // namespace vg::ptx
