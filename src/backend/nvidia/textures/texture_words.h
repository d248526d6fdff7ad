// What the texture units of Hopper read for a texture or surface: a header that says where its elements are and what
// they look like, and a sampler that says how it is read. 32 bytes each, with the fields of the public class header.
#pragma once

#include <array>
#include <cstdint>

#include "arrays/reading/texture.h"
#include "base/result.h"

namespace vg::backend::nvidia {

using TextureWords = std::array<uint32_t, 8>;

// Linear memory, rows with a pitch, or block-linear levels. CUDA_ERROR_NOT_SUPPORTED for memory that the application
// maps and for formats that the units do not have.
Result<TextureWords> headerOf(const arrays::TextureView& view);
// Of a texture without elements, whose reads give zeros; `somewhere` is the address of 512 bytes that are there.
TextureWords headerOfNothing(uint64_t somewhere);
TextureWords samplerOf(const arrays::TextureView& view);

}  // namespace vg::backend::nvidia
