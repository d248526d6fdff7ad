// Texture and surface instructions of kernels: RuntimeCalls::texture.
#pragma once

#include <cstdint>

#include "ptx/abi/kernel_abi.h"
#include "ptx/abi/texture_abi.h"

namespace vg::backend::cpu {

// For each lane of `mask`; see ptx/facts/texture_form.h for the form and the slots. A handle is the number of a texture
// or surface, or the address of a variable that holds one; what is neither ends the launch, and so does an access
// outside of a surface with .trap. May leave by a fault anywhere: holds nothing.
void accessTexture(ptx::BlockState* block, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes);
// RuntimeCalls::textureRows.
const ptx::TextureRows* textureRows(ptx::BlockState* block, uint64_t handle);

}  // namespace vg::backend::cpu
