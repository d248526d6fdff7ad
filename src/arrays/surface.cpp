#include "arrays/surface.h"

#include <algorithm>

#include "arrays/element.h"

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
  std::byte* memory = bytesAt(view, level, static_cast<size_t>(x), static_cast<size_t>(y),
                              static_cast<size_t>(z) + (layered(view.kind) ? view.firstLayer : 0));
  return {memory ? Is::Memory : Is::Nothing, memory};
}

}  // namespace vg::arrays
