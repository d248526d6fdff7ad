// What kernels read when they ask what a texture or surface is (txq, suq), beyond its extents, which the hardware
// knows: an entry of a table that compiled code finds by a texture's number, with its offsets.
#pragma once

#include <array>
#include <cstdint>

#include "arrays/reading/texture.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

using TextureDescription = std::array<uint32_t, cubin::kDescriptionBytes / sizeof(uint32_t)>;

TextureDescription descriptionOf(const arrays::TextureView& view);

}  // namespace vg::backend::nvidia
