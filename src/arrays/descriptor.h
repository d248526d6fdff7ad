// Which arrays can be made: the kinds of CUDA arrays, their limits, and the check of a descriptor.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "base/result.h"

namespace vg::arrays {

// As the extents and flags of a descriptor say. In the layered kinds and in cubemaps the depth counts layers.
enum class Kind : unsigned char { Line, Plane, Box, LineLayers, PlaneLayers, Cube, CubeLayers };

struct Extent {
  size_t width = 0, height = 0, depth = 0;  // elements; an unused one is 0, as in descriptors
};

// The largest extents. An array must fit one of the rows that its use chooses.
struct Limits {
  Extent line, lineMipmapped, lineSurface;
  Extent plane, planeMipmapped, planeSurface, planeGather;
  Extent box, boxAlternate, boxSurface;
  Extent lineLayers, lineLayersSurface;
  Extent planeLayers, planeLayersSurface;
  Extent cube, cubeSurface;
  Extent cubeLayers, cubeLayersSurface;
};
// `attribute(which)` answers a CU_DEVICE_ATTRIBUTE_*.
Limits limitsFrom(int (*attribute)(const void* device, CUdevice_attribute which), const void* device);

// Requires: checkDescriptor() succeeded.
Kind kindOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
inline bool layered(Kind kind) { return kind >= Kind::LineLayers; }

// CUDA_ERROR_INVALID_VALUE when no array is described. `mipmapped`: for cuMipmappedArrayCreate.
CUresult checkDescriptor(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, const Limits& limits, bool mipmapped);

// The extents of a level: halved, rounded down, at least 1. Layers stay.
Extent extentOfLevel(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned level);
// The levels down to a single element.
unsigned mostLevels(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

}  // namespace vg::arrays
