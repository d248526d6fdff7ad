#include "ptx/llvm/ir/row_thread.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kMostThreads = 1024;  // of a row

const Instruction* definition(const Program& program, ValueId id) {
  if (id == kNone || program.values[id].kind != Value::Result) return nullptr;
  return &program.instructions[program.values[id].instruction];
}

// The first thread from which on a comparison by order answers otherwise, or none for comparisons of equality.
std::optional<uint32_t> turningPoint(const ptx::Instruction& ast, uint32_t bound) {
  if (ast.has(Mod::Lt) || ast.has(Mod::Lo) || ast.has(Mod::Ge) || ast.has(Mod::Hs)) return bound;
  if (ast.has(Mod::Le) || ast.has(Mod::Ls) || ast.has(Mod::Gt) || ast.has(Mod::Hi)) return bound + 1;
  return std::nullopt;
}

bool isBelow(const ptx::Instruction& ast) {
  return ast.has(Mod::Lt) || ast.has(Mod::Lo) || ast.has(Mod::Le) || ast.has(Mod::Ls);
}

}  // namespace

bool isRowThread(const Program& program, ValueId id) {
  for (int depth = 0; depth < 4 && id != kNone; ++depth) {
    const Value& v = program.values[id];
    if (v.kind == Value::Special) return v.special == Special::TidX;
    const Instruction* const from = definition(program, id);
    if (!from || from->ast->op != Op::Mov || from->guard != kNone || from->sources.size() != 1) return false;
    id = from->sources[0];
  }
  return false;
}

std::optional<RowComparison> rowComparison(const Program& program, const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  if (ast.op != Op::Setp || i.guard != kNone || i.sources.size() != 2 || i.results.size() != 1) return std::nullopt;
  if (ast.type() != Type::U32 && ast.type() != Type::S32 && ast.type() != Type::B32) return std::nullopt;
  if (!isRowThread(program, i.sources[0])) return std::nullopt;
  const Value& bound = program.values[i.sources[1]];
  if (bound.kind != Value::Constant || static_cast<uint32_t>(bound.bits) >= kMostThreads) return std::nullopt;
  const uint32_t number = static_cast<uint32_t>(bound.bits);
  RowComparison out;
  if (const auto turn = turningPoint(ast, number)) {
    out.mixed = *turn & ~31u;
    out.below = isBelow(ast);
    out.above = !out.below;
    const uint32_t before = (1u << (*turn & 31)) - 1;  // lanes before the turning point
    out.lanes = out.below ? before : ~before;
    return out;
  }
  if (!ast.has(Mod::Eq) && !ast.has(Mod::Ne)) return std::nullopt;
  out.mixed = number & ~31u;
  out.below = out.above = ast.has(Mod::Ne);
  out.lanes = 1u << (number & 31);
  if (out.below) out.lanes = ~out.lanes;
  return out;
}

}  // namespace vg::ptx::gen
