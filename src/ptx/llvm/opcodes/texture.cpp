// Texture and surface instructions: operands go to slots in memory, the runner does all lanes in one call.
#include "ptx/facts/texture_form.h"
#include "ptx/llvm/emit/emitter.h"

namespace vg::ptx::gen {

void Emitter::emitTexture(const Instruction& i) {
  const auto shape = describeTexture(*i.ast, *i.function);
  if (!shape || shape->slots.size() != i.sources.size() || shape->results.size() != i.results.size())
    unsupported(i, "form of a texture instruction");
  LType* const word = b_.getInt64Ty();
  if (!textureLanes_)
    textureLanes_ = entryAlloca(llvm::ArrayType::get(word, kTextureSlots * kWarpSize), "texture", llvm::Align(64));
  const auto place = [&](uint32_t slot, uint32_t chunk) {
    return b_.CreateConstInBoundsGEP1_32(word, textureLanes_, slot * kWarpSize + chunk * w_);
  };
  for (size_t s = 0; s < i.sources.size(); ++s) {
    if (i.sources[s] == kNone) continue;  // `_`
    for (uint32_t c = 0; c < k_; ++c)
      b_.CreateAlignedStore(asInteger(chunkOf(i.sources[s], c), 64), place(shape->slots[s], c), llvm::Align(8));
  }
  runtimeCall(offsetof(RuntimeCalls, texture), b_.getVoidTy(),
              {blockArgument_, warp_, maskBits(guardedMask(i)), b_.getInt64(wordOf(shape->form)),
               b_.getInt32(i.ast->line), textureLanes_});
  for (size_t r = 0; r < i.results.size(); ++r) {
    if (i.results[r] == kNone) continue;
    const Class type = program_.values[i.results[r]].type;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    for (uint32_t c = 0; c < k_; ++c) {
      Value* const bits = b_.CreateAlignedLoad(vectorOf(word), place(shape->results[r], c), llvm::Align(8));
      form.chunks.push_back(asClass(bits, type));
    }
    finish(i, r, std::move(form));
  }
}

}  // namespace vg::ptx::gen
