// Text of the code generator's own form, for VERDIGRIS_DUMP.
#include <cstdio>
#include <cstring>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

std::string describe(const Program& program) {
  std::string text;
  const auto name = [&](ValueId id) -> std::string {
    if (id == kNone) return "_";
    const Value& v = program.values[id];
    char buffer[64];
    switch (v.kind) {
      case Value::Constant:
        snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(v.bits));
        break;
      case Value::Special:
        snprintf(buffer, sizeof buffer, "special%u", static_cast<unsigned>(v.special));
        break;
      case Value::Symbol:
        snprintf(buffer, sizeof buffer, "symbol%u+%lld", v.symbol, static_cast<long long>(v.offset));
        break;
      default:
        snprintf(buffer, sizeof buffer, "v%u", id);
    }
    return buffer;
  };
  const auto shaped = [&](ValueId id) -> std::string {
    if (id == kNone) return "_";
    const Shape s = program.values[id].shape;
    std::string out = name(id);
    if (s.uniform()) out += ":u";
    if (s.straight())
      out += (s.affine()              ? ":a"
              : s.kind == Shape::Rows ? ":r"
                                      : ":p") +
             std::to_string(s.stride) + (s.fragile ? "?" : "");
    if (s.varying()) out += ":v";
    return out;
  };
  for (BlockId b = 0; b < program.blocks.size(); ++b) {
    const Block& block = program.blocks[b];
    text += "block " + std::to_string(b);
    if (block.component != kNone) text += " component " + std::to_string(block.component);
    if (block.loop != kNone) text += " loop " + std::to_string(block.loop);
    text += " from";
    for (BlockId p : block.predecessors) text += " " + std::to_string(p);
    text += "\n";
    for (ValueId phi : block.phis) {
      text += "  " + shaped(phi) + " = phi";
      for (ValueId in : program.values[phi].incoming) text += " " + name(in);
      text += "\n";
    }
    for (uint32_t n : block.instructions) {
      const Instruction& i = program.instructions[n];
      text += "  ";
      for (ValueId r : i.results) text += shaped(r) + " ";
      if (i.guard != kNone) text += std::string("@") + (i.guardNegated ? "!" : "") + name(i.guard) + " ";
      text += "= " + std::string(nameOf(i.ast->op)) + "." + nameOf(i.ast->type());
      for (size_t s = 0; s < i.sources.size(); ++s) {
        text += " " + name(i.sources[s]);
        if (i.offsets[s]) text += "+" + std::to_string(i.offsets[s]);
      }
      text += "  // line " + std::to_string(i.ast->line) + "\n";
    }
    text += block.divergent ? "  divergent" : "  to";
    if (block.condition != kNone) text += std::string(block.conditionNegated ? " !" : " ") + name(block.condition);
    for (BlockId s : block.successors) text += " " + std::to_string(s);
    text += "\n";
  }
  return text;
}

}  // namespace vg::ptx::gen
