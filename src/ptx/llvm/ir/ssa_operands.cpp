// Operands as values: constants, addresses of symbols, special registers, registers.
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/ssa_builder.h"
#include "ptx/text/expression.h"
#include "ptx/text/op.h"
#include "ptx/text/special_registers.h"

namespace vg::ptx::gen {

ValueId SsaBuilder::constant(Class type, uint64_t bits) {
  auto [at, inserted] = constants_.try_emplace({type, bits}, kNone);
  if (inserted) {
    Value value;
    value.kind = Value::Constant;
    value.type = type;
    value.bits = bits;
    at->second = newValue(value);
  }
  return at->second;
}

uint64_t SsaBuilder::immediateBits(const Operand& o, Type type) {
  if (o.literal == Operand::Literal::Integer) return o.bits;
  const uint32_t bits = ptx::bitsOf(type);
  const Type real = ptx::isFloat(type) ? type : bits == 32 ? Type::F32 : bits == 64 ? Type::F64 : type;
  return ptx::bitsAs({o.literal, false, o.bits}, real);
}

ValueId SsaBuilder::symbolValue(const Instance& instance, SymbolKind kind, uint32_t symbol, int64_t offset,
                                uint32_t line) {
  Value value;
  value.kind = Value::Symbol;
  value.symbolKind = kind;
  value.symbol = symbol;
  value.function = instance.functionIndex;
  value.offset = offset;
  value.type = Class::I64;
  const auto key =
      std::make_tuple(static_cast<int>(kind), kind == SymbolKind::ModuleVariable ? 0u : value.function, symbol, offset);
  switch (kind) {
    case SymbolKind::ModuleVariable:
      noteVariable(program_.module->variables[symbol]);
      break;
    case SymbolKind::FunctionVariable: {
      const Variable& v = instance.function->variables[symbol];
      noteVariable(v);
      if (v.space == Space::Local) placeLocal(value.function, symbol, v);
      if (v.space == Space::Param) unsupportedConstruct(line, "address of a call argument");
      break;
    }
    case SymbolKind::Parameter:
      if (instance.caller) unsupportedConstruct(line, "address of a function parameter");
      break;
    case SymbolKind::Function:
      return constant(Class::I64, functionAddress(symbol));
    default:
      unsupportedConstruct(line, "address of a label");
  }
  auto [at, inserted] = symbols_.try_emplace(key, kNone);
  if (inserted) at->second = newValue(value);
  return at->second;
}

void SsaBuilder::noteVariable(const Variable& v) {
  if (v.space == Space::Shared && v.unsizedArray) program_.usesDynamicShared = true;
}

void SsaBuilder::placeLocal(uint32_t function, uint32_t symbol, const Variable& v) {
  auto [at, inserted] = program_.locals.try_emplace({function, symbol}, 0u);
  if (!inserted) return;
  const uint64_t alignment = std::max<uint64_t>(v.alignment, 1);
  const uint64_t offset = (program_.localSize + alignment - 1) / alignment * alignment;
  if (std::max(offset + v.size, alignment) > (1u << 19)) unsupportedConstruct(0, "over 512 KiB of local memory");
  at->second = static_cast<uint32_t>(offset);
  program_.localSize = static_cast<uint32_t>(offset + v.size);
  program_.localAlignment = std::max(program_.localAlignment, static_cast<uint32_t>(alignment));
}

ValueId SsaBuilder::special(ptx::Special which, uint32_t line) {
  (void)line;
  auto [at, inserted] = specials_.try_emplace(which, kNone);
  if (inserted) {
    Value value;
    value.kind = Value::Special;
    value.special = which;
    value.type = isWideSpecial(which) ? Class::I64 : Class::I32;
    at->second = newValue(value);
  }
  return at->second;
}

// Whether the instruction does nothing but read a special register.
static bool movesIt(const Instruction& i) {
  return i.ast && i.ast->op == Op::Mov && i.function->operands[i.ast->first + 1].kind == Operand::Kind::Special;
}

// Read here, once for all lanes: another reading tells another time.
ValueId SsaBuilder::timeNow(ptx::Special which, ValueId clock, BlockId b, uint32_t line) {
  const bool isWide = isWideSpecial(which);
  return addResultOf(made(Op::Mov, isWide ? Type::U64 : Type::U32, {clock}, b, line), isWide ? Class::I64 : Class::I32,
                     b);
}

void SsaBuilder::addSource(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type) {
  const uint32_t line = out.ast ? out.ast->line : 0;
  ValueId value = kNone;
  int64_t offset = 0;
  switch (o.kind) {
    case Operand::Kind::Register:
      value = read(instance.firstVariable + o.reg, b);
      break;
    case Operand::Kind::Immediate:
      value = constant(type == Type::Pred ? Class::Pred : Class::I64, immediateBits(o, type));
      break;
    case Operand::Kind::Special:
      value = special(o.special, line);
      if (tellsTime(o.special) && !movesIt(out)) value = timeNow(o.special, value, b, line);
      break;
    case Operand::Kind::Symbol:
      if (const uint32_t at = ownLocal(instance, o); at != kNone) {
        value = displaced(read(instance.localBase, b), at + o.offset, b, line);
        break;
      }
      value = symbolValue(instance, o.symbolKind, o.symbol, o.offset, line);
      break;
    case Operand::Kind::Address:
      if (o.isBaseRegister) {
        value = read(instance.firstVariable + o.reg, b);
        offset = o.offset;
      } else if (const uint32_t at = ownLocal(instance, o); at != kNone) {
        value = read(instance.localBase, b);
        offset = at + o.offset;
      } else if (o.symbolKind != SymbolKind::None) {
        value = symbolValue(instance, o.symbolKind, o.symbol, o.offset, line);
      } else {
        value = constant(Class::I64, static_cast<uint64_t>(o.offset) + o.bits);
      }
      break;
    case Operand::Kind::Sink:
    case Operand::Kind::None:
      break;
    case Operand::Kind::Vector:
      unsupportedConstruct(line, "nested vector operand");
  }
  out.sources.push_back(value);
  out.offsets.push_back(offset);
  out.negated.push_back(o.negated);
}

// Where a variable lies in the memory that each call of its function takes; kNone for all others.
uint32_t SsaBuilder::ownLocal(const Instance& instance, const Operand& o) {
  if (o.symbolKind != SymbolKind::FunctionVariable) return kNone;
  const auto found = instance.localOffsets.find(o.symbol);
  return found == instance.localOffsets.end() ? kNone : found->second;
}

void SsaBuilder::addOperand(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type) {
  out.operandFirst.push_back(static_cast<uint8_t>(out.sources.size()));
  if (o.kind != Operand::Kind::Vector) return addSource(out, instance, o, b, type);
  for (uint32_t k = 0; k < o.count; ++k) addSource(out, instance, instance.function->operands[o.first + k], b, type);
}

}  // namespace vg::ptx::gen
