#include "arrays/cubemap.h"

#include <algorithm>
#include <cmath>

namespace vg::arrays {
namespace {

constexpr float kEndless = 0x1p126f;  // the reciprocals of what is larger are taken for zero

struct Direction {
  float x, y, z;
};

// The other way: s and t from -1 to 1.
Direction directionOf(unsigned face, float s, float t) {
  switch (face) {
    case 0:
      return {1, -t, -s};
    case 1:
      return {-1, -t, s};
    case 2:
      return {s, 1, t};
    case 3:
      return {s, -1, -t};
    case 4:
      return {s, -t, 1};
    default:
      return {-s, -t, -1};
  }
}

}  // namespace

FacePoint faceOf(const float (&direction)[3]) {
  const float x = direction[0], y = direction[1], z = direction[2];
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  unsigned face = 0;
  float m = ax, s = 0, t = 0;
  if (ax > ay && ax > az) {
    face = x < 0, s = x < 0 ? z : -z, t = -y;
  } else if (ay > az) {
    face = 2 + (y < 0), m = ay, s = x, t = y < 0 ? -z : z;
  } else {
    face = 4 + (z < 0), m = az, s = z < 0 ? -x : x, t = -y;
  }
  if (m >= kEndless) return {4, 0.5f, 0.5f};
  // A little below the middle stays there.
  const auto share = [&](float along) {
    const float at = (along / m + 1) / 2;
    return along < 0 && at == 0.5f ? 0x1.fffffep-2f : at;
  };
  const FacePoint point{face, share(s), share(t)};
  if (point.s != point.s || point.t != point.t) return {face, 0.5f, 0.5f};  // no direction at all, or an endless one
  return point;
}

FaceElement acrossEdge(unsigned face, int64_t x, int64_t y, int64_t edge) {
  const auto middle = [&](int64_t at) { return (2 * static_cast<float>(at) + 1) / static_cast<float>(edge) - 1; };
  const Direction d = directionOf(face, middle(x), middle(y));
  const FacePoint point = faceOf({d.x, d.y, d.z});
  const auto element = [&](float at) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(at * static_cast<float>(edge))), 0, edge - 1);
  };
  return {point.face, element(point.s), element(point.t)};
}

}  // namespace vg::arrays
