#include "arrays/descriptor.h"

#include <algorithm>
#include <bit>

#include "arrays/format.h"
#include "base/raw_enum.h"

namespace vg::arrays {
namespace {

constexpr unsigned kKnownFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                                 CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING |
                                 CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
constexpr size_t kFaces = 6;

bool within(const Extent& extent, const Extent& limit) {
  return extent.width <= limit.width && extent.height <= limit.height && extent.depth <= limit.depth;
}

CUresult checkShape(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (!d.Width) return fail(CUDA_ERROR_INVALID_VALUE, "an array of width 0");
  if (d.Flags & ~kKnownFlags) return fail(CUDA_ERROR_INVALID_VALUE, "unknown array flags %#x", d.Flags);
  const bool layers = d.Flags & CUDA_ARRAY3D_LAYERED;
  if (layers && !d.Depth) return fail(CUDA_ERROR_INVALID_VALUE, "a layered array of no layers");
  if (d.Flags & CUDA_ARRAY3D_CUBEMAP) {
    if (d.Width != d.Height || (layers ? d.Depth % kFaces != 0 : d.Depth != kFaces))
      return fail(CUDA_ERROR_INVALID_VALUE, "a cubemap of %zu layers of %zux%zu", d.Depth, d.Width, d.Height);
  } else if (!d.Height && d.Depth && !layers) {
    return fail(CUDA_ERROR_INVALID_VALUE, "height 0 with depth %zu, but not layered", d.Depth);
  }
  return CUDA_SUCCESS;
}

bool withinLimits(Kind kind, const Extent& e, const Limits& l, unsigned flags, bool mipmapped) {
  const bool surface = flags & CUDA_ARRAY3D_SURFACE_LDST;
  switch (kind) {
    case Kind::Line:
      return within(e, mipmapped ? l.lineMipmapped : l.line) && (!surface || within(e, l.lineSurface));
    case Kind::Plane:
      return within(e, mipmapped ? l.planeMipmapped : l.plane) && (!surface || within(e, l.planeSurface)) &&
             (!(flags & CUDA_ARRAY3D_TEXTURE_GATHER) || within(e, l.planeGather));
    case Kind::Box:
      return (within(e, l.box) || within(e, l.boxAlternate)) && (!surface || within(e, l.boxSurface));
    case Kind::LineLayers:
      return within(e, l.lineLayers) && (!surface || within(e, l.lineLayersSurface));
    case Kind::PlaneLayers:
      return within(e, l.planeLayers) && (!surface || within(e, l.planeLayersSurface));
    case Kind::Cube:
      return within(e, l.cube) && (!surface || within(e, l.cubeSurface));
    case Kind::CubeLayers:
      return within(e, l.cubeLayers) && (!surface || within(e, l.cubeLayersSurface));
  }
  return false;
}

bool flat(Kind kind) { return kind == Kind::Plane || kind == Kind::PlaneLayers; }

// Flags that exclude each other.
CUresult checkFlags(const CUDA_ARRAY3D_DESCRIPTOR& d, Kind kind) {
  if (d.Flags & (CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT))
    return fail(CUDA_ERROR_INVALID_VALUE, "array flags %#x: depth and colour buffers come from graphics", d.Flags);
  const bool others = d.Flags & (CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_DEFERRED_MAPPING);
  if ((d.Flags & CUDA_ARRAY3D_SPARSE) && (others || !(flat(kind) || kind == Kind::Box)))
    return fail(CUDA_ERROR_INVALID_VALUE, "no sparse array has flags %#x and extents %zux%zux%zu", d.Flags, d.Width,
                d.Height, d.Depth);
  return CUDA_SUCCESS;
}

CUresult checkBlocks(const CUDA_ARRAY3D_DESCRIPTOR& d, Kind kind) {
  if (d.Flags & CUDA_ARRAY3D_SURFACE_LDST) return fail(CUDA_ERROR_NOT_SUPPORTED, "a surface of compressed blocks");
  if (kind == Kind::Line || kind == Kind::LineLayers)
    return fail(CUDA_ERROR_INVALID_VALUE, "a one-dimensional array of compressed blocks");
  return CUDA_SUCCESS;
}

CUresult checkVideo(const CUDA_ARRAY3D_DESCRIPTOR& d, Kind kind, bool mipmapped) {
  if (!(d.Flags & CUDA_ARRAY3D_VIDEO_ENCODE_DECODE) || mipmapped || !flat(kind))
    return fail(CUDA_ERROR_INVALID_VALUE, "video format %#x wants CUDA_ARRAY3D_VIDEO_ENCODE_DECODE and two dimensions",
                static_cast<unsigned>(rawValue(d.Format)));
  if (d.Width % 2 || d.Height % 2)
    return fail(CUDA_ERROR_INVALID_VALUE, "video of %zux%zu: the extents must be even", d.Width, d.Height);
  return CUDA_SUCCESS;
}

// What a format asks of its array.
CUresult checkFormat(const CUDA_ARRAY3D_DESCRIPTOR& d, Kind kind, bool mipmapped) {
  const int format = rawValue(d.Format);
  const Unit unit = unitOf(format, d.NumChannels);
  if (!unit.bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "no array has format %#x with %u channels", static_cast<unsigned>(format),
                d.NumChannels);
  if (unit.edge > 1) VG_CHECK(checkBlocks(d, kind));
  if (isVideo(format)) VG_CHECK(checkVideo(d, kind, mipmapped));
  if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) && kind != Kind::Plane)
    return fail(CUDA_ERROR_INVALID_VALUE, "texture gather of an array that is not two-dimensional");
  return CUDA_SUCCESS;
}

}  // namespace

Limits limitsFrom(int (*attribute)(const void* device, CUdevice_attribute which), const void* device) {
  const auto of = [&](CUdevice_attribute which) { return static_cast<size_t>(attribute(device, which)); };
#define VG_LIMIT(name) of(CU_DEVICE_ATTRIBUTE_MAXIMUM_##name)
  Limits l;
  l.line = {VG_LIMIT(TEXTURE1D_WIDTH)};
  l.lineMipmapped = {VG_LIMIT(TEXTURE1D_MIPMAPPED_WIDTH)};
  l.lineSurface = {VG_LIMIT(SURFACE1D_WIDTH)};
  l.plane = {VG_LIMIT(TEXTURE2D_WIDTH), VG_LIMIT(TEXTURE2D_HEIGHT)};
  l.planeMipmapped = {VG_LIMIT(TEXTURE2D_MIPMAPPED_WIDTH), VG_LIMIT(TEXTURE2D_MIPMAPPED_HEIGHT)};
  l.planeSurface = {VG_LIMIT(SURFACE2D_WIDTH), VG_LIMIT(SURFACE2D_HEIGHT)};
  l.planeGather = {VG_LIMIT(TEXTURE2D_GATHER_WIDTH), VG_LIMIT(TEXTURE2D_GATHER_HEIGHT)};
  l.box = {VG_LIMIT(TEXTURE3D_WIDTH), VG_LIMIT(TEXTURE3D_HEIGHT), VG_LIMIT(TEXTURE3D_DEPTH)};
  l.boxAlternate = {VG_LIMIT(TEXTURE3D_WIDTH_ALTERNATE), VG_LIMIT(TEXTURE3D_HEIGHT_ALTERNATE),
                    VG_LIMIT(TEXTURE3D_DEPTH_ALTERNATE)};
  l.boxSurface = {VG_LIMIT(SURFACE3D_WIDTH), VG_LIMIT(SURFACE3D_HEIGHT), VG_LIMIT(SURFACE3D_DEPTH)};
  l.lineLayers = {VG_LIMIT(TEXTURE1D_LAYERED_WIDTH), 0, VG_LIMIT(TEXTURE1D_LAYERED_LAYERS)};
  l.lineLayersSurface = {VG_LIMIT(SURFACE1D_LAYERED_WIDTH), 0, VG_LIMIT(SURFACE1D_LAYERED_LAYERS)};
  l.planeLayers = {VG_LIMIT(TEXTURE2D_LAYERED_WIDTH), VG_LIMIT(TEXTURE2D_LAYERED_HEIGHT),
                   VG_LIMIT(TEXTURE2D_LAYERED_LAYERS)};
  l.planeLayersSurface = {VG_LIMIT(SURFACE2D_LAYERED_WIDTH), VG_LIMIT(SURFACE2D_LAYERED_HEIGHT),
                          VG_LIMIT(SURFACE2D_LAYERED_LAYERS)};
  l.cube = {VG_LIMIT(TEXTURECUBEMAP_WIDTH), VG_LIMIT(TEXTURECUBEMAP_WIDTH), kFaces};
  l.cubeSurface = {VG_LIMIT(SURFACECUBEMAP_WIDTH), VG_LIMIT(SURFACECUBEMAP_WIDTH), kFaces};
  l.cubeLayers = {VG_LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH), VG_LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH),
                  VG_LIMIT(TEXTURECUBEMAP_LAYERED_LAYERS)};
  l.cubeLayersSurface = {VG_LIMIT(SURFACECUBEMAP_LAYERED_WIDTH), VG_LIMIT(SURFACECUBEMAP_LAYERED_WIDTH),
                         VG_LIMIT(SURFACECUBEMAP_LAYERED_LAYERS)};
#undef VG_LIMIT
  return l;
}

Kind kindOf(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layers = d.Flags & CUDA_ARRAY3D_LAYERED;
  if (d.Flags & CUDA_ARRAY3D_CUBEMAP) return layers ? Kind::CubeLayers : Kind::Cube;
  if (!d.Height) return layers ? Kind::LineLayers : Kind::Line;
  if (layers) return Kind::PlaneLayers;
  return d.Depth ? Kind::Box : Kind::Plane;
}

CUresult checkDescriptor(const CUDA_ARRAY3D_DESCRIPTOR& d, const Limits& limits, bool mipmapped) {
  VG_CHECK(checkShape(d));
  const Kind kind = kindOf(d);
  VG_CHECK(checkFlags(d, kind));
  VG_CHECK(checkFormat(d, kind, mipmapped));
  if (!withinLimits(kind, {d.Width, d.Height, d.Depth}, limits, d.Flags, mipmapped))
    return fail(CUDA_ERROR_INVALID_VALUE, "an array of %zux%zux%zu with flags %#x is larger than the device allows",
                d.Width, d.Height, d.Depth, d.Flags);
  return CUDA_SUCCESS;
}

namespace {

size_t halved(size_t extent, unsigned times) { return extent ? std::max<size_t>(extent >> times, 1) : 0; }

}  // namespace

Extent extentOfLevel(const CUDA_ARRAY3D_DESCRIPTOR& d, unsigned level) {
  return {halved(d.Width, level), halved(d.Height, level), kindOf(d) == Kind::Box ? halved(d.Depth, level) : d.Depth};
}

unsigned mostLevels(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const size_t longest = std::max({d.Width, d.Height, kindOf(d) == Kind::Box ? d.Depth : 0});
  return static_cast<unsigned>(std::bit_width(longest));
}

}  // namespace vg::arrays
