#include "arrays/reading/surface.h"

#include <algorithm>

namespace vg::arrays {
namespace {

// Brings a coordinate inside; false when it is outside and the edge does not clamp.
bool bring(int64_t& at, int64_t last, Edge edge) {
  if (at >= 0 && at <= last) return true;
  if (edge != Edge::Clamp || last < 0) return false;
  at = std::clamp<int64_t>(at, 0, last);
  return true;
}

}  // namespace

SurfaceBytes locate(const TextureView& view, const SurfacePoint& point, size_t bytes, Edge edge) {
  using Is = SurfaceBytes::Is;
  const Level& level = view.levels[0];
  const auto step = static_cast<int64_t>(bytes);
  if (point.x % step) return {Is::Misaligned, nullptr};
  int64_t x = point.x, y = point.y, z = point.z;
  const auto slices = static_cast<int64_t>(layered(view.kind) ? view.layers : level.slices);
  const bool inside = bring(x, static_cast<int64_t>(level.rowBytes) / step * step - step, edge) &&
                      bring(y, static_cast<int64_t>(level.rows) - 1, edge) && bring(z, slices - 1, edge);
  if (!inside) return {edge == Edge::Trap ? Is::Outside : Is::Nothing, nullptr};
  const size_t slice = static_cast<size_t>(z) + (layered(view.kind) ? view.firstLayer : 0);
  const size_t offset = level.span(static_cast<size_t>(x), static_cast<size_t>(y), slice).offset;
  if (view.base) return {Is::Memory, view.base + offset};
  const Pages::Run run = view.pages->atForKernels(offset);
  // Rows of short elements may begin anywhere: a wide access that meets the end of a page finds nothing.
  return {run.memory && run.bytes >= bytes ? Is::Memory : Is::Nothing, run.memory};
}

bool locateRow(const TextureView& view, const SurfaceRow& row, size_t bytes, Edge edge, SurfaceOffsets& found) {
  const Level& level = view.levels[0];
  if (!view.base || level.tileRowBytes || level.tiling) return false;
  const auto step = static_cast<int64_t>(bytes);
  const auto slices = static_cast<int64_t>(layered(view.kind) ? view.layers : level.slices);
  const int64_t lastX = static_cast<int64_t>(level.rowBytes) / step * step - step,
                lastY = static_cast<int64_t>(level.rows) - 1, lastZ = slices - 1;
  if (lastX < 0 || lastY < 0 || lastZ < 0) return false;
  const size_t rowPitch = level.rowPitch, slicePitch = level.slicePitch;
  uint32_t outside = 0;
  int64_t misaligned = 0;
  for (unsigned lane = 0; lane < kSurfaceLanes; ++lane) {
    const bool active = row.active >> lane & 1;
    const int64_t x = active ? row.x[lane] : 0, y = active ? row.y[lane] : 0, z = active ? row.z[lane] : 0;
    const int64_t inX = std::clamp<int64_t>(x, 0, lastX), inY = std::clamp<int64_t>(y, 0, lastY),
                  inZ = std::clamp<int64_t>(z, 0, lastZ);
    misaligned |= x & (step - 1);
    outside |= static_cast<uint32_t>((x != inX) | (y != inY) | (z != inZ)) << lane;
    found.offset[lane] =
        static_cast<size_t>(inX) + static_cast<size_t>(inY) * rowPitch + static_cast<size_t>(inZ) * slicePitch;
  }
  if (misaligned || (outside && edge == Edge::Trap)) return false;
  found.base = view.base + level.offset + (layered(view.kind) ? view.firstLayer * slicePitch : 0);
  found.inside = edge == Edge::Clamp ? row.active : row.active & ~outside;
  return true;
}

}  // namespace vg::arrays
