// Instructions that the builder makes: as the parser would have, over variables in place of registers.
#include "ptx/llvm/ir/ssa_builder.h"

namespace vg::ptx::gen {

Operand SsaBuilder::inVariable(uint32_t variable) {
  Operand o;
  o.kind = Operand::Kind::Register;
  o.reg = variable;
  return o;
}

Operand SsaBuilder::number(uint64_t bits) {
  Operand o;
  o.kind = Operand::Kind::Immediate;
  o.bits = bits;
  return o;
}

Operand SsaBuilder::at(uint32_t variable, int64_t offset) {
  Operand o;
  o.kind = Operand::Kind::Address;
  o.isBaseRegister = true;
  o.reg = variable;
  o.offset = offset;
  return o;
}

Item SsaBuilder::made(const ptx::Instruction& i) { return {&i, &madeInstance_}; }

ptx::Instruction& SsaBuilder::make(std::vector<Item>& items, Op op, Type type, std::initializer_list<Operand> operands,
                                   uint32_t line) {
  ptx::Instruction& i = program_.made->body.emplace_back();
  std::vector<Operand>& all = program_.made->function.operands;
  i.op = op;
  i.typeCount = type == Type::None ? 0 : 1;
  i.types[0] = type;
  i.first = static_cast<uint32_t>(all.size());
  i.count = static_cast<uint32_t>(operands.size());
  i.line = line;
  all.insert(all.end(), operands);
  items.push_back(made(i));
  return i;
}

static Type typeOf(Class type) {
  switch (bitsOf(type)) {
    case 8:
      return Type::B8;
    case 16:
      return Type::B16;
    case 32:
      return Type::B32;
    case 64:
      return Type::B64;
    default:
      return Type::B128;
  }
}

void SsaBuilder::makeStore(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line) {
  if (variableTypes_[variable] == Class::Pred) {
    const uint32_t word = newVariable(Class::I32);
    make(items, Op::Selp, Type::B32, {inVariable(word), number(1), number(0), inVariable(variable)}, line);
    variable = word;
  }
  make(items, Op::St, typeOf(variableTypes_[variable]), {at(base, offset), inVariable(variable)}, line).space =
      Space::Local;
}

void SsaBuilder::makeLoad(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line) {
  const bool predicate = variableTypes_[variable] == Class::Pred;
  const uint32_t to = predicate ? newVariable(Class::I32) : variable;
  make(items, Op::Ld, typeOf(variableTypes_[to]), {inVariable(to), at(base, offset)}, line).space = Space::Local;
  if (predicate)
    make(items, Op::Setp, Type::B32, {inVariable(variable), inVariable(to), number(0)}, line)
        .mods.set(static_cast<size_t>(Mod::Ne));
}

}  // namespace vg::ptx::gen
