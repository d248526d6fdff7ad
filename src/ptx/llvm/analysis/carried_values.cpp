#include "ptx/llvm/analysis/carried_values.h"

#include <algorithm>

#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

std::vector<uint32_t> countUses(const Program& program) {
  std::vector<uint32_t> uses(program.values.size(), 0);
  const auto use = [&](ValueId v) {
    if (v != kNone) ++uses[v];
  };
  for (const Instruction& i : program.instructions) {
    std::ranges::for_each(i.sources, use);
    std::ranges::for_each(i.old, use);
    use(i.guard);
    use(i.carryIn);
  }
  for (const Block& block : program.blocks) {
    use(block.condition);
    for (ValueId phi : block.phis) std::ranges::for_each(program.values[phi].incoming, use);
  }
  return uses;
}

// Floating-point operations of one result that cannot fault. Integers stay: addresses and counts have shapes that say
// more.
bool isPlainArithmetic(const Program& program, const Instruction& i) {
  if (i.guard != kNone || i.carryIn != kNone || i.carryOut != kNone || i.results.size() != 1) return false;
  if (i.results[0] == kNone || !isFloat(program.values[i.results[0]].type)) return false;
  switch (i.ast->op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Fma:
    case Op::Min:
    case Op::Max:
      return true;
    default:
      return false;
  }
}

// The phis of `header` that an instruction of it takes, each once and for nothing else; none if it takes other values
// that are not the same everywhere.
std::vector<ValueId> phisFor(const Program& program, BlockId header, const Instruction& i,
                             const std::vector<uint32_t>& uses) {
  std::vector<ValueId> phis;
  for (ValueId source : i.sources) {
    const Value& v = program.values[source];
    if (v.kind == Value::Constant) continue;
    if (v.kind != Value::Phi || v.block != header || uses[source] != 1) return {};
    for (ValueId in : v.incoming)
      if (in == kNone || program.values[in].kind == Value::Undefined) return {};
    phis.push_back(source);
  }
  return phis;
}

// The operation moves to where the values come from; its result becomes a phi.
void moveBefore(Program& program, BlockId header, uint32_t number) {
  Block& head = program.blocks[header];
  const Instruction moved = program.instructions[number];
  const ValueId result = moved.results[0];
  std::erase(head.instructions, number);
  std::vector<ValueId> incoming;
  for (size_t edge = 0; edge < head.predecessors.size(); ++edge) {
    const BlockId from = head.predecessors[edge];
    const auto value = static_cast<ValueId>(program.values.size());
    const uint32_t place = edge == 0 ? number : static_cast<uint32_t>(program.instructions.size());
    if (edge > 0) program.instructions.emplace_back();
    Instruction& made = program.instructions[place] = moved;
    made.block = from;
    made.results = {value};
    for (ValueId& source : made.sources)
      if (program.values[source].kind == Value::Phi) source = program.values[source].incoming[edge];
    program.blocks[from].instructions.push_back(place);
    Value& v = program.values.emplace_back(program.values[result]);
    v.block = from;
    v.instruction = place;
    incoming.push_back(value);
  }
  for (ValueId source : moved.sources) std::erase(head.phis, source);
  Value& phi = program.values[result];
  phi.kind = Value::Phi;
  phi.instruction = kNone;
  phi.incoming = std::move(incoming);
  head.phis.push_back(result);
}

}  // namespace

void carryLess(Program& program) {
  const std::vector<uint32_t> uses = countUses(program);
  for (const Loop& loop : program.loops) {
    const std::vector<uint32_t> instructions = program.blocks[loop.header].instructions;
    for (uint32_t number : instructions) {
      const Instruction& i = program.instructions[number];
      if (i.block == loop.header && isPlainArithmetic(program, i) && phisFor(program, loop.header, i, uses).size() > 1)
        moveBefore(program, loop.header, number);
    }
  }
}

}  // namespace vg::ptx::gen
