#include "ptx/llvm/ir/ssa_builder.h"

#include "ptx/llvm/analysis/carried_values.h"
#include "ptx/llvm/analysis/short_addresses.h"
#include "ptx/llvm/ir/code_expander.h"
#include "ptx/llvm/ir/control_flow.h"

namespace vg::ptx::gen {

SsaBuilder::SsaBuilder(Program& program, RawCode& code, std::vector<uint32_t> rawOf)
    : program_(program), code_(code), rawOf_(std::move(rawOf)), current_(program.blocks.size()) {}

void SsaBuilder::run() {
  noteWrites();
  code_.settle();
  for (BlockId b = 0; b < program_.blocks.size(); ++b) fillBlock(b);
  completePhis();
  removeTrivialPhis();
  refineTypes();
  widenShortAddresses(program_);
  carryLess(program_);
  markCrossBlockUses();
}

static Program build(const Module& module, uint32_t entry, uint32_t root, const MeetingRules& rules, Copies copies,
                     bool inGranules) {
  Program program;
  program.module = &module;
  program.entry = entry;
  program.root = root;
  program.references = references(module, entry);
  program.shared = sharedLayout(module, entry);
  program.parameters = parameterLayout(module.functions[entry]);
  program.made = std::make_shared<MadeCode>();
  RawCode code(program, inGranules ? granuleOf(program) : 0);
  const uint32_t first = CodeExpander(code, program, rules, copies).expandKernel();
  std::vector<uint32_t> rawOf = layOutBlocks(code, program, first);
  findLoops(program);
  SsaBuilder(program, code, std::move(rawOf)).run();
  return program;
}

Program buildProgram(const Module& module, uint32_t entry, uint32_t root, const MeetingRules& rules, Copies copies) {
  try {
    return build(module, entry, root, rules, copies, false);
  } catch (const MixedPieces&) {
    return build(module, entry, root, rules, copies, true);
  }
}

}  // namespace vg::ptx::gen
