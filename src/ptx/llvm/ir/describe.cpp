// Text of the code generator's own form, for VERDIGRIS_DUMP.
#include <cstdio>
#include <cstring>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

namespace {

class Description {
 public:
  explicit Description(const Program& program) : program_(program) {}

  std::string whole() {
    for (BlockId b = 0; b < program_.blocks.size(); ++b) addBlock(b);
    return std::move(text_);
  }

 private:
  std::string name(ValueId id) const {
    if (id == kNone) return "_";
    const Value& v = program_.values[id];
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
  }

  std::string shaped(ValueId id) const {
    if (id == kNone) return "_";
    const Shape s = program_.values[id].shape;
    std::string out = name(id);
    if (s.uniform()) out += ":u";
    if (s.straight())
      out += (s.affine()              ? ":a"
              : s.kind == Shape::Rows ? ":r"
                                      : ":p") +
             std::to_string(s.stride) + (s.fragile ? "?" : "");
    if (s.varying()) out += ":v";
    return out;
  }

  void addBlock(BlockId b) {
    const Block& block = program_.blocks[b];
    text_ += "block " + std::to_string(b);
    if (block.component != kNone) text_ += " component " + std::to_string(block.component);
    if (block.loop != kNone) text_ += " loop " + std::to_string(block.loop);
    text_ += " from";
    for (BlockId p : block.predecessors) text_ += " " + std::to_string(p);
    text_ += "\n";
    for (ValueId phi : block.phis) addPhi(phi);
    for (uint32_t n : block.instructions) addInstruction(program_.instructions[n]);
    text_ += block.divergent ? "  divergent" : "  to";
    if (block.condition != kNone) text_ += std::string(block.conditionNegated ? " !" : " ") + name(block.condition);
    for (BlockId s : block.successors) text_ += " " + std::to_string(s);
    text_ += "\n";
  }

  void addPhi(ValueId phi) {
    text_ += "  " + shaped(phi) + " = phi";
    for (ValueId in : program_.values[phi].incoming) text_ += " " + name(in);
    text_ += "\n";
  }

  void addInstruction(const Instruction& i) {
    text_ += "  ";
    for (ValueId r : i.results) text_ += shaped(r) + " ";
    if (i.guard != kNone) text_ += std::string("@") + (i.guardNegated ? "!" : "") + name(i.guard) + " ";
    text_ += "= " + std::string(nameOf(i.ast->op)) + "." + nameOf(i.ast->type());
    for (size_t s = 0; s < i.sources.size(); ++s) {
      text_ += " " + name(i.sources[s]);
      if (i.offsets[s]) text_ += "+" + std::to_string(i.offsets[s]);
    }
    text_ += "  // line " + std::to_string(i.ast->line) + "\n";
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string describe(const Program& program) { return Description(program).whole(); }

}  // namespace vg::ptx::gen
