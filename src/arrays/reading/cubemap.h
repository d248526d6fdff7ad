// The six faces of a cubemap: +x, -x, +y, -y, +z, -z.
#pragma once

#include <cstdint>

namespace vg::arrays {

struct FacePoint {
  unsigned face;
  float s, t;  // 0 to 1
};
// Where a direction meets the cube; on an edge z goes before y, and y before x. What is no direction meets the middle
// of a face.
FacePoint faceOf(const float (&direction)[3]);

struct FaceElement {
  unsigned face;
  int64_t x, y;
};
// The element beside a face of `edge` elements: x or y, not both, is outside by one or more.
FaceElement acrossEdge(unsigned face, int64_t x, int64_t y, int64_t edge);

// How far it is from where one direction meets the cube to where another does, along the two other axes of the first
// one's face, an edge being 1. Faces beside it lie in its plane, unfolded; the one behind it is endlessly far.
struct FaceChange {
  float along[2];
  bool onOneFace;
};
FaceChange changeOnFaces(const float (&from)[3], const float (&to)[3]);

}  // namespace vg::arrays
