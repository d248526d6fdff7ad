// Surfaces: elements of an array by whole coordinates, read and written in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays/texture.h"

namespace vg::arrays {

// What an access outside does.
enum class Edge : uint8_t { Trap, Clamp, Zero };

struct SurfacePoint {
  int64_t x = 0;  // bytes
  int64_t y = 0, z = 0;
};

struct SurfaceBytes {
  enum class Is : uint8_t { Memory, Nothing, Outside, Misaligned };
  Is is;
  std::byte* memory;  // Memory only
};
// Where an access of `bytes`, a power of two, goes. Nothing: loads are zero, stores are dropped. Outside and Misaligned
// are faults.
SurfaceBytes locate(const TextureView& view, const SurfacePoint& point, size_t bytes, Edge edge);

}  // namespace vg::arrays
