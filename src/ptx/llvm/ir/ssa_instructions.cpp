// Instructions of a block, one by one: their operands become values, their results new ones.

#include "ptx/facts/coverage.h"
#include "ptx/facts/kept_registers.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/ssa_builder.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

void SsaBuilder::fillBlock(BlockId b) {
  const RawBlock& raw = code_.blocks[rawOf_[b]];
  for (const Item& item : raw.items) addItem(item, b);
  Block& block = program_.blocks[b];
  if (raw.condition != kNone && block.terminator != Block::Jump && block.terminator != Block::Exit)
    block.condition = read(raw.condition, b);
}

void SsaBuilder::addItem(const Item& item, BlockId b) {
  if (!item.ast) return addCopy(item, b);
  const ptx::Instruction& ast = *item.ast;
  Instance& instance = *item.instance;
  if (RawCode::isParamAccess(ast, instance)) return addParamAccess(ast, instance, b);
  if (rowOf(ast.op).has(Trait::Hint) && !coverage::counts(ast) && !kept::keeps(ast)) return;
  if (ast.op == Op::Invalid && &instance != &code_.made()) unsupportedConstruct(ast.line, "an unknown instruction");
  Instruction out;
  out.ast = &ast;
  out.function = instance.function;
  out.functionIndex = instance.functionIndex;
  out.block = b;
  const Function& f = *instance.function;
  if (ast.guard >= 0) {
    out.guard = read(instance.firstVariable + static_cast<uint32_t>(ast.guard), b);
    out.guardNegated = ast.guardNegated;
  }
  if (ast.op == Op::Call) {
    out.guard = kNone;
    addSyscall(out, instance, b);
    return;
  }
  const uint32_t destinations = destinationCount(ast);
  for (uint32_t k = destinations; k < ast.count; ++k)
    addOperand(out, instance, f.operands[ast.first + k], b, sourceType(ast, k - destinations));
  if (rowOf(ast.op).has(Trait::Carries)) out.carryIn = read(code_.carry, b);
  const auto index = static_cast<uint32_t>(program_.instructions.size());  // behind what makes operands
  for (uint32_t k = 0; k < destinations; ++k) {
    const Operand& o = f.operands[ast.first + k];
    if (o.kind == Operand::Kind::Vector) {
      for (uint32_t e = 0; e < o.count; ++e) addResult(out, instance, f.operands[o.first + e], b, index);
    } else {
      addResult(out, instance, o, b, index);
    }
  }
  if (ast.has(Mod::Cc)) out.carryOut = addResultVariable(out, code_.carry, b, index, Class::Pred);
  program_.blocks[b].instructions.push_back(index);
  program_.instructions.push_back(std::move(out));
}

void SsaBuilder::addResult(Instruction& out, const Instance& instance, const Operand& o, BlockId b, uint32_t index) {
  if (o.kind != Operand::Kind::Register) {
    out.results.push_back(kNone);
    out.old.push_back(kNone);
    return;
  }
  const uint32_t variable = instance.firstVariable + o.reg;
  addResultVariable(out, variable, b, index, resultClass(*out.ast, code_.variableTypes[variable]));
}

ValueId SsaBuilder::addResultVariable(Instruction& out, uint32_t variable, BlockId b, uint32_t index, Class type) {
  ValueId old = kNone;
  if (out.guard != kNone) {
    old = read(variable, b);
    if (program_.values[old].kind == Value::Undefined) old = kNone;
  }
  Value value;
  value.kind = Value::Result;
  value.type = type;
  value.block = b;
  value.instruction = index;
  value.resultIndex = static_cast<uint32_t>(out.results.size());
  const ValueId id = newValue(value);
  out.results.push_back(id);
  out.old.push_back(old);
  write(variable, b, id);
  return id;
}

void SsaBuilder::addCopy(const Item& item, BlockId b) {
  const uint32_t line = program_.blocks[b].line;
  ValueId value = kNone;
  if (item.copyFrom != kNone) {
    value = read(item.copyFrom, b);
  } else if (item.copyOperand) {
    Instruction scratch;
    addSource(scratch, *item.instance, *item.copyOperand, b, Type::None);
    value = scratch.sources[0];
  } else {
    value = joined(code_.piecesOf(*item.argument, 0, item.bits), item.bits, b, line);
  }
  if (item.copyTo != kNone) return write(item.copyTo, b, value);
  part(code_.piecesOf(*item.argument, 0, item.bits), item.bits, value, b, line);
}

Instruction SsaBuilder::made(Op op, Type type, std::vector<ValueId> sources, BlockId b, uint32_t line) {
  std::vector<Item> items;  // for the instruction alone: its operands are given here
  Instruction out;
  out.ast = &code_.make(items, op, type, {}, line);
  out.function = code_.made().function;
  out.block = b;
  out.offsets.resize(sources.size(), 0);
  out.negated.resize(sources.size(), false);
  out.sources = std::move(sources);
  return out;
}

static Type typeOfBits(uint32_t bits) {
  switch (bits) {
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

ValueId SsaBuilder::joined(const std::vector<uint32_t>& pieces, uint32_t bits, BlockId b, uint32_t line) {
  if (pieces.size() == 1) return read(pieces[0], b);
  std::vector<ValueId> parts;
  for (const uint32_t piece : pieces) parts.push_back(read(piece, b));
  return addResultOf(made(Op::Mov, typeOfBits(bits), std::move(parts), b, line), integerClass(bits), b);
}

void SsaBuilder::part(const std::vector<uint32_t>& pieces, uint32_t bits, ValueId value, BlockId b, uint32_t line) {
  if (pieces.size() == 1) return write(pieces[0], b, value);
  Instruction out = made(Op::Mov, typeOfBits(bits), {value}, b, line);
  const auto index = static_cast<uint32_t>(program_.instructions.size());
  for (const uint32_t piece : pieces) addResultVariable(out, piece, b, index, code_.variableTypes[piece]);
  program_.blocks[b].instructions.push_back(index);
  program_.instructions.push_back(std::move(out));
}

void SsaBuilder::addParamAccess(const ptx::Instruction& ast, Instance& instance, BlockId b) {
  const Function& f = *instance.function;
  const bool load = ast.op == Op::Ld;
  const Operand& address = f.operands[ast.first + (load ? 1 : 0)];
  const Operand& data = f.operands[ast.first + (load ? 0 : 1)];
  ParamObject& object = *code_.objectOf(instance, address, ast.line);
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const uint32_t count = data.kind == Operand::Kind::Vector ? data.count : 1;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand& o = data.kind == Operand::Kind::Vector ? f.operands[data.first + k] : data;
    const std::vector<uint32_t> pieces = code_.piecesOf(object, address.offset + k * (bits / 8), bits);
    if (load) {
      if (o.kind != Operand::Kind::Register) continue;
      const uint32_t variable = instance.firstVariable + o.reg;
      ValueId value = joined(pieces, bits, b, ast.line);
      const uint32_t found = pieces.size() > 1 ? bits : bitsOf(code_.variableTypes[pieces[0]]);
      // Loads narrower than the register extend, those narrower than the piece cut: the instruction is a conversion.
      if (bitsOf(code_.variableTypes[variable]) != bits || found != bits)
        value = convert(ast, f, value, code_.variableTypes[variable], b);
      write(variable, b, value);
    } else {
      if (pieces.size() == 1 && bitsOf(code_.variableTypes[pieces[0]]) != bits) throw MixedPieces();
      Instruction scratch;
      scratch.ast = &ast;
      addSource(scratch, instance, o, b, type);
      part(pieces, bits, scratch.sources[0], b, ast.line);
    }
  }
}

ValueId SsaBuilder::convert(const ptx::Instruction& ast, const Function& f, ValueId value, Class type, BlockId b) {
  Instruction out;
  out.ast = &ast;
  out.function = &f;
  out.block = b;
  out.sources = {kNone, value};
  out.offsets = {0, 0};
  out.negated = {false, false};
  return addResultOf(std::move(out), type, b);
}

// Appends an instruction that has one result.
ValueId SsaBuilder::addResultOf(Instruction out, Class type, BlockId b) {
  Value result;
  result.kind = Value::Result;
  result.type = type;
  result.block = b;
  result.instruction = static_cast<uint32_t>(program_.instructions.size());
  const ValueId id = newValue(result);
  out.results = {id};
  out.old = {kNone};
  program_.blocks[b].instructions.push_back(result.instruction);
  program_.instructions.push_back(std::move(out));
  return id;
}

ValueId SsaBuilder::displaced(ValueId address, int64_t offset, BlockId b, uint32_t line) {
  if (!offset) return address;
  const ValueId by = constant(Class::I64, static_cast<uint64_t>(offset));
  return addResultOf(made(Op::Add, Type::S64, {address, by}, b, line), Class::I64, b);
}

void SsaBuilder::addSyscall(Instruction& out, Instance& instance, BlockId b) {
  const Function& f = *instance.function;
  const ptx::Instruction& ast = *out.ast;
  const Operand *target = nullptr, *returns = nullptr, *arguments = nullptr;
  for (uint32_t k = 0; k < ast.count; ++k) {
    const Operand& o = f.operands[ast.first + k];
    if (o.kind == Operand::Kind::Vector) {
      (target ? arguments : returns) = &o;
    } else if (!target) {
      target = &o;
    }
  }
  if (!target) unsupportedConstruct(ast.line, "call of nothing");
  if (target->kind == Operand::Kind::Register) {  // apart
    addSource(out, instance, *target, b, Type::U64);
    program_.blocks[b].instructions.push_back(static_cast<uint32_t>(program_.instructions.size()));
    program_.instructions.push_back(std::move(out));
    return;
  }
  const Function& callee = program_.module->functions[target->symbol];
  if (!isSyscall(callee.name)) unsupportedConstruct(ast.line, "call of undefined function %s", callee.name.c_str());
  for (uint32_t k = 0; arguments && k < arguments->count && k < callee.parameters.size(); ++k) {
    const Operand& o = f.operands[arguments->first + k];
    if (o.kind == Operand::Kind::Symbol) {
      ParamObject& object = *code_.objectOf(instance, o, ast.line);
      const uint32_t bits = ptx::bitsOf(callee.parameters[k].type);
      out.sources.push_back(joined(code_.piecesOf(object, 0, bits), bits, b, ast.line));
      out.offsets.push_back(0);
      out.negated.push_back(false);
    } else {
      addSource(out, instance, o, b, callee.parameters[k].type);
    }
  }
  const auto index = static_cast<uint32_t>(program_.instructions.size());  // behind what puts arguments together
  if (returns && returns->count == 1 && callee.returns.size() == 1) {
    const Operand& o = f.operands[returns->first];
    const uint32_t bits = ptx::bitsOf(callee.returns[0].type);
    if (o.kind == Operand::Kind::Symbol) {
      const std::vector<uint32_t> pieces = code_.piecesOf(*code_.objectOf(instance, o, ast.line), 0, bits);
      const ValueId result = addResultVariable(out, pieces[0], b, index, integerClass(bits));
      program_.blocks[b].instructions.push_back(index);
      program_.instructions.push_back(std::move(out));
      return part(pieces, bits, result, b, ast.line);
    }
    addResultVariable(out, instance.firstVariable + o.reg, b, index, integerClass(bits));
  }
  program_.blocks[b].instructions.push_back(index);
  program_.instructions.push_back(std::move(out));
}

}  // namespace vg::ptx::gen
