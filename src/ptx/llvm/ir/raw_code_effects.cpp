// Which variables an instruction reads and writes.
#include "ptx/llvm/ir/call_graph.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/raw_code.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

void RawCode::addReads(const Instance& instance, const Operand& o, Effects& out) const {
  switch (o.kind) {
    case Operand::Kind::Register:
      out.reads.push_back(instance.firstVariable + o.reg);
      break;
    case Operand::Kind::Address:
      if (o.isBaseRegister) out.reads.push_back(instance.firstVariable + o.reg);
      break;
    case Operand::Kind::Vector:
      for (uint32_t k = 0; k < o.count; ++k) addReads(instance, instance.function->operands[o.first + k], out);
      return;
    default:
      break;
  }
  if (o.symbolKind == SymbolKind::FunctionVariable && instance.localOffsets.contains(o.symbol))
    out.reads.push_back(instance.localBase);
}

void RawCode::addPieces(Instance& instance, const Operand& o, uint32_t bits, uint32_t count, uint32_t line,
                        std::vector<uint32_t>& to) {
  ParamObject& object = *objectOf(instance, o, line);
  for (uint32_t k = 0; k < count; ++k)
    for (const uint32_t piece : piecesOf(object, o.offset + k * (bits / 8), bits)) to.push_back(piece);
}

// Of the driver's functions, which are called by name: every argument and result is one number. Functions
// that are called apart take and give nothing.
void RawCode::addCall(const Item& item, Effects& out) {
  Instance& instance = *item.instance;
  const Function& f = *instance.function;
  const CallOperands call = callOperands(f, *item.ast);
  if (!call.byName()) return addReads(instance, *call.target, out);
  const Function& callee = program_.module->functions[call.target->symbol];
  const auto add = [&](const Operand* list, const std::vector<Variable>& formals, bool results) {
    for (uint32_t e = 0; list && e < list->count && e < formals.size(); ++e) {
      const Operand& element = f.operands[list->first + e];
      if (element.kind == Operand::Kind::Symbol)
        addPieces(instance, element, ptx::bitsOf(formals[e].type), 1, item.ast->line, results ? out.writes : out.reads);
      else if (results && element.kind == Operand::Kind::Register)
        out.writes.push_back(instance.firstVariable + element.reg);
      else
        addReads(instance, element, out);
    }
  };
  add(call.returns, callee.returns, true);
  add(call.arguments, callee.parameters, false);
}

Effects RawCode::effectsOf(const Item& item) {
  Effects out;
  if (!item.ast) {
    if (item.copyFrom != kNone)
      out.reads.push_back(item.copyFrom);
    else if (item.copyOperand)
      addReads(*item.instance, *item.copyOperand, out);
    else
      out.reads = piecesOf(*item.argument, 0, item.bits);
    out.writes = item.copyTo == kNone ? piecesOf(*item.argument, 0, item.bits) : std::vector{item.copyTo};
    return out;
  }
  const ptx::Instruction& ast = *item.ast;
  Instance& instance = *item.instance;
  const Function& f = *instance.function;
  const bool parameter = isParamAccess(ast, instance), load = ast.op == Op::Ld;
  const uint32_t destinations = destinationCount(ast);
  if (ast.guard >= 0) {
    out.reads.push_back(instance.firstVariable + static_cast<uint32_t>(ast.guard));
    out.always = false;
  }
  if (rowOf(ast.op).has(Trait::Carries)) out.reads.push_back(carry);
  if (ast.has(Mod::Cc)) out.writes.push_back(carry);
  if (ast.op == Op::Call) {
    addCall(item, out);
    return out;
  }
  for (uint32_t k = 0; k < ast.count; ++k) {
    const Operand& o = f.operands[ast.first + k];
    if (parameter && k == (load ? 1u : 0u)) {
      const Operand& data = f.operands[ast.first + 1 - k];
      addPieces(instance, o, ptx::bitsOf(ast.type()), data.kind == Operand::Kind::Vector ? data.count : 1, ast.line,
                load ? out.reads : out.writes);
      continue;
    }
    Effects operand;
    addReads(instance, o, operand);
    std::vector<uint32_t>& to = k < destinations ? out.writes : out.reads;
    to.insert(to.end(), operand.reads.begin(), operand.reads.end());
  }
  return out;
}

}  // namespace vg::ptx::gen
