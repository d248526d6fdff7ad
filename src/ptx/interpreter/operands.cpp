#include "ptx/interpreter/operands.h"

#include <algorithm>

#include "ptx/text/expression.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::interpreter {
namespace {

// The type that a constant among the sources takes.
Type constantType(const Instruction& i, size_t k) {
  switch (i.op) {
    case Op::Set:
      return k == 2 ? Type::Pred : i.types[1];
    case Op::Setp:
      return k == 2 ? Type::Pred : i.types[0];
    case Op::Cvt:
      return i.has(Mod::Pack) && k == 2 ? Type::B32 : i.types[1];
    case Op::Selp:
      return k == 2 ? Type::Pred : i.types[0];
    case Op::Slct:
      return k == 2 ? i.types[1] : i.types[0];
    case Op::Add:
    case Op::Sub:
      return i.typeCount == 2 && k == 0 ? i.types[1] : i.types[0];
    case Op::Fma:
      return i.typeCount == 2 && k < 2 ? i.types[1] : i.types[0];
    case Op::Vote:
      return k == 0 ? Type::Pred : Type::B32;
    case Op::Bar:
    case Op::Barrier:
      return Type::B32;
    case Op::Lop3:
      return Type::B32;
    case Op::Mma:
      return i.has(Mod::BlockScale) ? Type::B32 : i.types[0];
    default:
      return i.types[0];
  }
}

}  // namespace

Target Operands::target(const Operand& o) const {
  if (o.kind != Operand::Kind::Register) return {};
  return {code_->registerSlots[o.reg], static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type))};
}

Source Operands::source(const Operand& o, Type type) const {
  Source s;
  s.negated = o.negated;
  s.selector = o.selector;
  switch (o.kind) {
    case Operand::Kind::Register:
      s.kind = Source::Kind::Register;
      s.slot = code_->registerSlots[o.reg];
      s.bits = static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type));
      break;
    case Operand::Kind::Immediate: {
      Constant constant{o.literal, false, o.bits};
      s.value = bitsAs(constant, type);
      if (type == Type::Pred) s.value = o.bits != 0;
      break;
    }
    case Operand::Kind::Special:
      s.kind = Source::Kind::Special;
      s.special = o.special;
      break;
    case Operand::Kind::Symbol:
    case Operand::Kind::Address:
      address(o, s);
      break;
    default:
      break;
  }
  return s;
}

// The value of a name, or of the base of an address, and its offset.
void Operands::address(const Operand& o, Source& s) const {
  s.value = static_cast<uint64_t>(o.offset);
  if (o.isBaseRegister) {
    s.kind = Source::Kind::Register;
    s.slot = code_->registerSlots[o.reg];
    s.bits = static_cast<uint8_t>(bitsOf(f_->registers[o.reg].type));
    return;
  }
  switch (o.symbolKind) {
    case SymbolKind::ModuleVariable:
      moduleVariable(o.symbol, s);
      break;
    case SymbolKind::FunctionVariable:
      if (f_->variables[o.symbol].space == Space::Shared) {
        s.kind = Source::Kind::SharedAddress;
        s.value += p_.shared.offsetOf(false, code_->index, o.symbol);
      } else {
        s.kind = Source::Kind::FrameAddress;
        s.value += code_->variableOffsets[o.symbol];
      }
      break;
    case SymbolKind::Parameter:
      s.kind = f_->isEntry ? Source::Kind::EntryParameter : Source::Kind::FrameAddress;
      s.value += f_->isEntry ? p_.parameters[o.symbol].offset : code_->parameters[o.symbol].offset;
      break;
    case SymbolKind::ReturnParameter:
      s.kind = Source::Kind::FrameAddress;
      s.value += code_->returns[o.symbol].offset;
      break;
    case SymbolKind::Function:
      s.value += functionAddress(o.symbol);
      break;
    default:
      break;
  }
}

void Operands::moduleVariable(uint32_t index, Source& s) const {
  if (m_.variables[index].space == Space::Shared) {
    s.kind = Source::Kind::SharedAddress;
    s.value += p_.shared.offsetOf(true, 0, index);
    return;
  }
  const std::vector<uint32_t>& globals = p_.uses.globals;
  s.kind = Source::Kind::Global;
  s.slot = static_cast<uint32_t>(std::lower_bound(globals.begin(), globals.end(), index) - globals.begin());
}

static bool isPlainAccess(const Instruction& i) {
  return i.op == Op::Ld || i.op == Op::Ldu || i.op == Op::St || i.op == Op::Atom || i.op == Op::Red;
}

void Operands::fill(const Instruction& i, Step& s) const {
  uint32_t at = 0;
  const bool mayBeScalar = i.op == Op::Mov || isPlainAccess(i);
  const auto operand = [&](uint32_t k) -> const Operand& {
    const Operand& o = f_->operands[i.first + k];
    return mayBeScalar && o.kind == Operand::Kind::Vector && o.count == 1 ? f_->operands[o.first] : o;  // `{ %r1 }`
  };
  if (destinationCount(i) && i.count) {
    const Operand& o = operand(at++);
    s.selector = o.selector;
    if (o.kind == Operand::Kind::Vector)
      for (uint32_t k = 0; k < o.count; ++k) s.vectorTargets.push_back(target(f_->operands[o.first + k]));
    else
      s.targets[0] = target(o);
    if (i.pair && at < i.count) s.targets[1] = target(operand(at++));
  }
  for (; at < i.count && s.sourceCount < std::size(s.sources); ++at) {
    const Operand& o = operand(at);
    const Type type = constantType(i, s.sourceCount);
    if (o.kind == Operand::Kind::Vector) {
      for (uint32_t k = 0; k < o.count; ++k) s.vectorSources.push_back(source(f_->operands[o.first + k], type));
      if (i.op == Op::Mov) continue;
    }
    s.sources[s.sourceCount++] = source(o, type);
  }
}

void Operands::fillAsynchronous(const Instruction& i, Step& s) const {
  const uint32_t destinations = destinationCount(i);
  if (destinations && i.count) s.targets[0] = target(f_->operands[i.first]);
  for (uint32_t k = destinations; k < i.count; ++k) {
    const Operand& o = f_->operands[i.first + k];
    if (o.kind != Operand::Kind::Vector) s.vectorSources.push_back(source(o, Type::B64));
    for (uint32_t e = 0; o.kind == Operand::Kind::Vector && e < o.count; ++e)
      s.vectorSources.push_back(source(f_->operands[o.first + e], Type::B64));
  }
}

void Operands::fillFlattened(const Instruction& i, Step& s) const {
  const uint32_t destinations = destinationCount(i);
  const auto add = [&](const Operand& o, bool destination) {
    const bool whole = o.literal == Operand::Literal::Integer;
    if (destination)
      s.vectorTargets.push_back(target(o));
    else
      s.vectorSources.push_back(source(o, whole ? Type::B64 : Type::F32));
  };
  for (uint32_t k = 0; k < i.count; ++k) {
    const Operand& o = f_->operands[i.first + k];
    if (o.kind != Operand::Kind::Vector) add(o, k < destinations);
    for (uint32_t e = 0; o.kind == Operand::Kind::Vector && e < o.count; ++e)
      add(f_->operands[o.first + e], k < destinations);
  }
}

CallSite::Argument Operands::passed(const Operand& o) const {
  CallSite::Argument a;
  a.source = source(o, Type::B64);
  a.target = target(o);
  if (o.kind != Operand::Kind::Symbol) return a;
  a.isFrame = true;
  switch (o.symbolKind) {
    case SymbolKind::FunctionVariable:
      a.offset = code_->variableOffsets[o.symbol];
      a.size = static_cast<uint32_t>(f_->variables[o.symbol].size);
      break;
    case SymbolKind::Parameter:
      a.isFrame = !f_->isEntry;  // an entry's own parameter is read where it is
      a.offset = f_->isEntry ? 0 : code_->parameters[o.symbol].offset;
      a.size = static_cast<uint32_t>(f_->parameters[o.symbol].size);
      break;
    default:
      a.offset = code_->returns[o.symbol].offset;
      a.size = static_cast<uint32_t>(f_->returns[o.symbol].size);
      break;
  }
  return a;
}

}  // namespace vg::ptx::interpreter
