// Texture and surface instructions: operands go to slots in memory, the runner does all lanes in one call.
#include "ptx/llvm/opcodes/texture.h"

#include "ptx/facts/texture_form.h"

namespace vg::ptx::gen {

void Textures::emitTexture(const Instruction& i) {
  const auto shape = describeTexture(*i.ast, *i.function);
  if (!shape || shape->slots.size() != i.sources.size() || shape->results.size() != i.results.size())
    unsupported(i, "form of a texture instruction");
  LType* const word = b_.getInt64Ty();
  if (!textureLanes_)
    textureLanes_ = b_.entryAlloca(llvm::ArrayType::get(word, kTextureSlots * kWarpSize), "texture", llvm::Align(64));
  const auto place = [&](uint32_t slot, uint32_t chunk) {
    return b_.CreateConstInBoundsGEP1_32(word, textureLanes_, slot * kWarpSize + chunk * w_);
  };
  for (size_t s = 0; s < i.sources.size(); ++s) {
    if (i.sources[s] == kNone) continue;  // `_`
    for (uint32_t c = 0; c < k_; ++c)
      b_.CreateAlignedStore(b_.asInteger(values_.chunkOf(i.sources[s], c), 64), place(shape->slots[s], c),
                            llvm::Align(8));
  }
  runner_.runtimeCall(offsetof(RuntimeCalls, texture), b_.getVoidTy(),
                      {runner_.block, runner_.warp, masks_.maskBits(predicates_.guardedMask(i)),
                       b_.getInt64(wordOf(shape->form)), b_.getInt32(i.ast->line), textureLanes_});
  for (size_t r = 0; r < i.results.size(); ++r) {
    if (i.results[r] == kNone) continue;
    values_.finishFrom(
        i, r, [&](uint32_t c) { return place(shape->results[r], c); }, 64);
  }
}

}  // namespace vg::ptx::gen
