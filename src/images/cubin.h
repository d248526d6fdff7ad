// ELF files of native GPU code: how long they are and which kernels they hold, from symbols and information sections.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "images/image_source.h"

namespace vg::images {

// Bytes an ELF file spans by its own headers: the end of the last section, section header or program header.
// Requires: the 64 header bytes are readable. CUDA_ERROR_INVALID_IMAGE when the headers contradict each other.
Result<size_t> elfHeaderExtent(const std::byte* header);
Result<size_t> elfExtent(const std::byte* bytes, size_t available);
// The kernels of a cubin, in symbol order.
Result<std::vector<NativeKernel>> nativeKernels(const std::byte* bytes, size_t size);

}  // namespace vg::images
