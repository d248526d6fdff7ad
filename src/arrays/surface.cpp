#include "arrays/surface.h"

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
  const Pages::Run run = view.pages->at(offset);
  // Rows of short elements may begin anywhere: a wide access that meets the end of a page finds nothing.
  return {run.memory && run.bytes >= bytes ? Is::Memory : Is::Nothing, run.memory};
}

}  // namespace vg::arrays
