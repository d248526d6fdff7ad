// Texture and surface instructions: operands go to slots in memory, the runner does all lanes in one call.
#include "ptx/llvm/textures/texture.h"

#include "ptx/facts/texture_form.h"

namespace vg::ptx::gen {

llvm::Value* Textures::place(uint32_t slot, uint32_t chunk) {
  return b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), textureLanes_, slot * kWarpSize + chunk * w_);
}

void Textures::call(const Instruction& i, const TextureShape& shape, const Mask& mask) {
  if (!textureLanes_)
    textureLanes_ =
        b_.entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), kTextureSlots * kWarpSize), "texture", llvm::Align(64));
  for (size_t s = 0; s < i.sources.size(); ++s) {
    if (i.sources[s] == kNone) continue;  // `_`
    for (uint32_t c = 0; c < k_; ++c)
      b_.CreateAlignedStore(b_.asInteger(values_.chunkOf(i.sources[s], c), 64), place(shape.slots[s], c),
                            llvm::Align(8));
  }
  runner_.runtimeCall(offsetof(RuntimeCalls, texture), b_.getVoidTy(),
                      {runner_.block, runner_.warp, masks_.maskBits(mask), b_.getInt64(wordOf(shape.form)),
                       b_.getInt32(i.ast->line), textureLanes_});
}

void Textures::emitTexture(const Instruction& i) {
  const auto shape = describeTexture(*i.ast, *i.function);
  if (!shape || shape->slots.size() != i.sources.size() || shape->results.size() != i.results.size())
    unsupported(i, "form of a texture instruction");
  const Mask mask = predicates_.guardedMask(i);
  const auto called = [&] {
    call(i, *shape, mask);
    Components results;
    for (const uint8_t slot : shape->results) {
      Chunks words;
      for (uint32_t c = 0; c < k_; ++c)
        words.push_back(
            b_.CreateTrunc(b_.CreateAlignedLoad(b_.vectorOf(b_.getInt64Ty()), place(slot, c), llvm::Align(8)),
                           b_.vectorOf(b_.getInt32Ty())));
      results.push_back(std::move(words));
    }
    return results;
  };
  const std::optional<Components> words = rowTextures_.read(i, *shape, mask, called);
  if (!words) call(i, *shape, mask);
  for (size_t r = 0; r < i.results.size(); ++r) {
    if (i.results[r] == kNone) continue;
    if (!words) {
      values_.finishFrom(
          i, r, [&](uint32_t c) { return place(shape->results[r], c); }, 64);
      continue;
    }
    Form form = varyingForm();
    for (Value* const word : (*words)[r]) form.chunks.push_back(b_.asClass(word, program_.values[i.results[r]].type));
    values_.finish(i, r, std::move(form));
  }
}

}  // namespace vg::ptx::gen
