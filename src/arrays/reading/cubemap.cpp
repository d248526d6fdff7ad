#include "arrays/reading/cubemap.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Where a direction meets the cube in a face's plane, by the two other axes in their order, from 0 to 1. Parts that are
// no number count as 0; what has no end meets the middle of +y where that is along z, else of +z.
struct PlanePoint {
  unsigned axis, others[2];
  bool negative, none;
  float at[3] = {};

  explicit PlanePoint(const float (&direction)[3]) {
    float d[3], m[3];
    for (int k = 0; k < 3; ++k) d[k] = direction[k] == direction[k] ? direction[k] : 0, m[k] = std::fabs(d[k]);
    axis = m[0] > m[1] && m[0] > m[2] ? 0 : m[1] > m[2] ? 1 : 2;
    const float longest = m[axis];
    const bool endless = longest >= kEndless;
    negative = !endless && d[axis] < 0, none = longest == 0;
    if (endless) axis = m[2] >= kEndless ? 1 : 2;
    others[0] = axis == 0 ? 1 : 0, others[1] = axis == 2 ? 1 : 2;
    for (const unsigned k : others) at[k] = endless ? 0.5f : (d[k] / longest + 1) / 2;
  }
};

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

FaceChange changeOnFaces(const float (&from)[3], const float (&to)[3]) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  const PlanePoint a(from), b(to);
  const bool opposite = a.axis == b.axis && a.negative != b.negative;
  const bool onOneFace = a.axis == b.axis && !opposite;
  if (a.none || b.none || opposite) return {{kFar, kFar}, onOneFace};
  float at[3] = {b.at[0], b.at[1], b.at[2]};
  if (!onOneFace) {
    const float beyond = a.negative ? b.at[a.axis] : 1 - b.at[a.axis];  // the edge
    at[b.axis] = b.negative ? -beyond : 1 + beyond;
  }
  const auto [first, second] = a.others;
  return {{at[first] - a.at[first], at[second] - a.at[second]}, onOneFace};
}

}  // namespace vg::arrays
