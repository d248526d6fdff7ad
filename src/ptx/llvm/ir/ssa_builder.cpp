#include "ptx/llvm/ir/ssa_builder.h"

#include "ptx/llvm/analysis/carried_values.h"
#include "ptx/llvm/analysis/short_addresses.h"
#include "ptx/llvm/ir/control_flow.h"

namespace vg::ptx::gen {

SsaBuilder::SsaBuilder(const Module& module, uint32_t entry, bool meetings, Copies copies)
    : meetings_(meetings), copies_(copies) {
  program_.module = &module;
  program_.entry = entry;
  program_.references = references(module, entry);
  program_.shared = sharedLayout(module, entry);
  program_.parameters = parameterLayout(module.functions[entry]);
  program_.made = std::make_shared<MadeCode>();
  madeInstance_.function = &program_.made->function;
  madeInstance_.functionIndex = kNone;
}

Program SsaBuilder::build() {
  carry_ = newVariable(Class::Pred);
  raw_.emplace_back();  // the end: lanes that leave go there
  const uint32_t first = expandKernel();
  layOutBlocks(first);
  findLoops(program_);
  noteWrites();
  filling_ = true;
  for (BlockId b = 0; b < program_.blocks.size(); ++b) fillBlock(b);
  completePhis();
  removeTrivialPhis();
  refineTypes();
  widenShortAddresses(program_);
  carryLess(program_);
  markCrossBlockUses();
  return std::move(program_);
}

Program buildProgram(const Module& module, uint32_t entry, bool meetings, Copies copies) {
  return SsaBuilder(module, entry, meetings, copies).build();
}

}  // namespace vg::ptx::gen
