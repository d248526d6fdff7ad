// Surfaces: elements of an array by whole coordinates, read and written in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays/reading/texture.h"

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

inline constexpr unsigned kSurfaceLanes = 32;

// The accesses of a warp's threads. Lanes that are not active may hold anything.
struct SurfaceRow {
  uint32_t active = 0;                                           // a bit for each lane
  int32_t x[kSurfaceLanes], y[kSurfaceLanes], z[kSurfaceLanes];  // as in SurfacePoint
};
// Where they go: from `base`, for the lanes in `inside`; the others find nothing.
struct SurfaceOffsets {
  std::byte* base;
  uint32_t inside;
  size_t offset[kSurfaceLanes];
};
// What locate() says of each lane. False, and nothing is said, where one of them is a fault or the elements do not lie
// in plain rows.
bool locateRow(const TextureView& view, const SurfaceRow& row, size_t bytes, Edge edge, SurfaceOffsets& found);

}  // namespace vg::arrays
