#include "core/textures/resource_view.h"

#include <algorithm>

#include "base/raw_enum.h"

namespace vg::core {
namespace {

struct ViewFormat {
  int format = 0;
  unsigned channels = 0;  // 0: there is no such view
};

constexpr ViewFormat kFormats[] = {
    {},
    {CU_AD_FORMAT_UNSIGNED_INT8, 1},
    {CU_AD_FORMAT_UNSIGNED_INT8, 2},
    {CU_AD_FORMAT_UNSIGNED_INT8, 4},
    {CU_AD_FORMAT_SIGNED_INT8, 1},
    {CU_AD_FORMAT_SIGNED_INT8, 2},
    {CU_AD_FORMAT_SIGNED_INT8, 4},
    {CU_AD_FORMAT_UNSIGNED_INT16, 1},
    {CU_AD_FORMAT_UNSIGNED_INT16, 2},
    {CU_AD_FORMAT_UNSIGNED_INT16, 4},
    {CU_AD_FORMAT_SIGNED_INT16, 1},
    {CU_AD_FORMAT_SIGNED_INT16, 2},
    {CU_AD_FORMAT_SIGNED_INT16, 4},
    {CU_AD_FORMAT_UNSIGNED_INT32, 1},
    {CU_AD_FORMAT_UNSIGNED_INT32, 2},
    {CU_AD_FORMAT_UNSIGNED_INT32, 4},
    {CU_AD_FORMAT_SIGNED_INT32, 1},
    {CU_AD_FORMAT_SIGNED_INT32, 2},
    {CU_AD_FORMAT_SIGNED_INT32, 4},
    {CU_AD_FORMAT_HALF, 1},
    {CU_AD_FORMAT_HALF, 2},
    {CU_AD_FORMAT_HALF, 4},
    {CU_AD_FORMAT_FLOAT, 1},
    {CU_AD_FORMAT_FLOAT, 2},
    {CU_AD_FORMAT_FLOAT, 4},
    {CU_AD_FORMAT_BC1_UNORM, 4},
    {CU_AD_FORMAT_BC2_UNORM, 4},
    {CU_AD_FORMAT_BC3_UNORM, 4},
    {CU_AD_FORMAT_BC4_UNORM, 1},
    {CU_AD_FORMAT_BC4_SNORM, 1},
    {CU_AD_FORMAT_BC5_UNORM, 2},
    {CU_AD_FORMAT_BC5_SNORM, 2},
    {CU_AD_FORMAT_BC6H_UF16, 3},
    {CU_AD_FORMAT_BC6H_SF16, 3},
    {CU_AD_FORMAT_BC7_UNORM, 4},
};
static_assert(std::size(kFormats) == CU_RES_VIEW_FORMAT_UNSIGNED_BC7 + 1);

constexpr unsigned kFaces = 6;

// Blocks of 4 x 4 elements in place of single large ones, or the other way round: extents change with the edge.
CUresult changeFormat(arrays::TextureView& view, int number) {
  if (number <= CU_RES_VIEW_FORMAT_NONE || number >= static_cast<int>(std::size(kFormats)))
    return fail(CUDA_ERROR_INVALID_VALUE, "resource view format %#x", static_cast<unsigned>(number));
  const ViewFormat& to = kFormats[number];
  const arrays::Unit unit = arrays::unitOf(to.format, to.channels);
  if (unit.bytes != view.unit.bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "elements of %u bytes cannot be seen as %u bytes", view.unit.bytes,
                unit.bytes);
  for (std::vector<arrays::Level>* levels : {&view.levels, &view.chain})
    for (arrays::Level& level : *levels) {
      level.extent.width = level.extent.width / view.unit.edge * unit.edge;
      level.extent.height = level.extent.height / view.unit.edge * unit.edge;
    }
  view.format = to.format;
  view.channels = to.channels;
  view.unit = unit;
  return CUDA_SUCCESS;
}

CUresult checkExtents(const arrays::TextureView& view, const CUDA_RESOURCE_VIEW_DESC& seen) {
  const arrays::Extent& have = view.levels[0].extent;
  const bool depthCounts = !arrays::layered(view.kind);
  if (seen.width == have.width && seen.height == have.height && (!depthCounts || seen.depth == have.depth))
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "a view of %zu x %zu x %zu of a resource of %zu x %zu x %zu", seen.width,
              seen.height, seen.depth, have.width, have.height, have.depth);
}

CUresult checkNoLayers(const CUDA_RESOURCE_VIEW_DESC& seen) {
  if (!seen.firstLayer && !seen.lastLayer) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "layers %u to %u of an array without", seen.firstLayer, seen.lastLayer);
}

// Levels and layers beyond the last of a mipmapped array are asked for and not there.
CUresult choose(arrays::TextureView& view, const CUDA_RESOURCE_VIEW_DESC& seen) {
  const auto most = static_cast<unsigned>(view.levels.size() - 1);
  const auto have = [&](unsigned level) { return view.whole ? std::min(level, most) : level; };
  const unsigned first = have(seen.firstMipmapLevel), last = have(seen.lastMipmapLevel);
  if (seen.firstMipmapLevel > seen.lastMipmapLevel || last > most)
    return fail(CUDA_ERROR_INVALID_VALUE, "levels %u to %u of %zu", seen.firstMipmapLevel, seen.lastMipmapLevel,
                view.levels.size());
  const std::vector<arrays::Level> all = std::move(view.levels);
  view.levels.assign(all.begin() + first, all.begin() + last + 1);
  view.firstLevel += first;
  if (view.kind == arrays::Kind::Cube) return CUDA_SUCCESS;
  if (!arrays::layered(view.kind)) return checkNoLayers(seen);
  const size_t lastLayer = view.whole ? std::min<size_t>(seen.lastLayer, view.layers - 1) : seen.lastLayer;
  if (seen.firstLayer > lastLayer || lastLayer >= view.layers)
    return fail(CUDA_ERROR_INVALID_VALUE, "layers %u to %u of %zu", seen.firstLayer, seen.lastLayer, view.layers);
  if (view.kind == arrays::Kind::CubeLayers && (seen.firstLayer % kFaces || (seen.lastLayer + 1) % kFaces))
    return fail(CUDA_ERROR_INVALID_VALUE, "layers %u to %u are no whole cubemaps", seen.firstLayer, seen.lastLayer);
  view.firstLayer = seen.firstLayer;
  view.layers = lastLayer - seen.firstLayer + 1;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult seeAs(arrays::TextureView& view, const CUDA_RESOURCE_VIEW_DESC& seen) {
  if (std::any_of(std::begin(seen.reserved), std::end(seen.reserved), [](unsigned word) { return word != 0; }))
    return fail(CUDA_ERROR_INVALID_VALUE, "reserved words of a resource view are not zero");
  VG_CHECK(changeFormat(view, rawValue(seen.format)));
  VG_CHECK(checkExtents(view, seen));
  return choose(view, seen);
}

}  // namespace vg::core
