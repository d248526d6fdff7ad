// Instructions that the builder makes.
#include "ptx/llvm/ir/raw_code.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

namespace operand {

Operand variable(uint32_t variable) {
  Operand o;
  o.kind = Operand::Kind::Register;
  o.reg = variable;
  return o;
}

Operand number(uint64_t bits) {
  Operand o;
  o.kind = Operand::Kind::Immediate;
  o.bits = bits;
  return o;
}

Operand at(uint32_t variable, int64_t offset) {
  Operand o;
  o.kind = Operand::Kind::Address;
  o.isBaseRegister = true;
  o.reg = variable;
  o.offset = offset;
  return o;
}

}  // namespace operand

ptx::Instruction& RawCode::make(std::vector<Item>& items, Op op, Type type, std::initializer_list<Operand> operands,
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
  items.push_back({&i, &made_});
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

void RawCode::makeStore(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line) {
  if (variableTypes[variable] == Class::Pred) {
    const uint32_t word = newVariable(Class::I32);
    make(items, Op::Selp, Type::B32,
         {operand::variable(word), operand::number(1), operand::number(0), operand::variable(variable)}, line);
    variable = word;
  }
  make(items, Op::St, typeOf(variableTypes[variable]), {operand::at(base, offset), operand::variable(variable)}, line)
      .space = Space::Local;
}

void RawCode::makeLoad(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line) {
  const bool predicate = variableTypes[variable] == Class::Pred;
  const uint32_t to = predicate ? newVariable(Class::I32) : variable;
  make(items, Op::Ld, typeOf(variableTypes[to]), {operand::variable(to), operand::at(base, offset)}, line).space =
      Space::Local;
  if (predicate)
    make(items, Op::Setp, Type::B32, {operand::variable(variable), operand::variable(to), operand::number(0)}, line)
        .mods.set(static_cast<size_t>(Mod::Ne));
}

}  // namespace vg::ptx::gen
