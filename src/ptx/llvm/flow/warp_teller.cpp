#include "ptx/llvm/flow/warp_teller.h"

#include "ptx/llvm/warps/told_warps.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

// Once a warp where loops access memory, else before the first access of a block: many warps of a round have none.
void WarpTeller::plan() {
  if (emission_.traits.waits) return;  // the runner calls one warp at a time and knows
  const bool loops = llvm::any_of(program_.instructions, [&](const Instruction& i) {
    return accessesMemory(i) && program_.blocks[i.block].loop != kNone;
  });
  tells_ = loops ? Tells::AtItsStart : Tells::AtAccesses;
}

void WarpTeller::atStart() {
  if (tells_ == Tells::AtItsStart) tellWarp();
}

void WarpTeller::before(const Instruction& i) {
  if (tells_ != Tells::AtAccesses || told_ || !accessesMemory(i)) return;
  tellWarp();
  told_ = true;
}

void WarpTeller::tellWarp() {
  Value* const field = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), runner_.block, offsetof(BlockState, warp));
  markTold(*b_.CreateStore(runner_.warp, field, true));
}

bool WarpTeller::accessesMemory(const Instruction& i) const {
  const Opcode& row = ptx::rowOf(i.ast->op);
  if (i.ast->op != Op::Ld && i.ast->op != Op::Ldu)
    return row.touchesMemory() || row.has(Trait::Texture) || row.has(Trait::Matrix);
  if (i.sources[0] == kNone) return false;
  const auto& base = program_.values[i.sources[0]];
  return base.kind != vg::ptx::gen::Value::Symbol || base.symbolKind != SymbolKind::Parameter;
}

}  // namespace vg::ptx::gen
