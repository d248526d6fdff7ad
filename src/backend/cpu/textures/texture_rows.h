// Texture instructions of a whole warp at once, where vectors can do them (arrays/reading/row_sampler.h,
// arrays/reading/surface.h).
#pragma once

#include <cstdint>

#include "backend/cpu/textures/texture_table.h"
#include "ptx/facts/texture_form.h"

namespace vg::backend::cpu {

// Whether lanes that read this texture may do it at once.
bool isRow(const ptx::TextureForm& form, const textures::Texture& texture);
// Reads for the lanes of `mask`, and answers which are left: those that vectors leave to others. Requires: isRow().
uint32_t readRow(const ptx::TextureForm& form, const textures::Texture& texture, uint32_t mask, uint64_t* lanes);
// All loads or stores of a surface, of 8 to 64 bits a component. False: nothing was done.
bool moveRow(const ptx::TextureForm& form, const arrays::TextureView& view, uint32_t mask, uint64_t* lanes);

}  // namespace vg::backend::cpu
