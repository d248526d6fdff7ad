// Elements of tensors on their way between memory and shared memory, where they may look different: rounded, or with
// gaps between packed ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/operations/tensor_map.h"

namespace vg::ptx {

// Bytes `offset` to `offset + bytes` of a row of a piece, which go to `shared`, out of the row's memory.
// Requires: whole units of 16 bytes where units differ in size.
void unpack(const TensorMap& map, std::byte* shared, const std::byte* row, uint64_t offset, uint64_t bytes);
// The other way round.
void pack(const TensorMap& map, std::byte* row, const std::byte* shared, uint64_t offset, uint64_t bytes);

}  // namespace vg::ptx
