// What the elements of a CUDA array are: how many channels a format takes and how many bytes an element has.
//
// Storage is counted in units: an element, or for block-compressed formats a block of 4 x 4 elements.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>

namespace vg::arrays {

struct Unit {
  unsigned bytes = 0;  // a power of two, 1 to 16
  unsigned edge = 1;   // elements along each side of a unit: 1, or 4 for block-compressed formats

  size_t across(size_t elements) const { return (elements + edge - 1) / edge; }
};

// The unit of a format with this many channels; bytes 0 when there is no such array. `format` is the raw number of a
// CUarray_format, which the application may have made up.
Unit unitOf(int format, unsigned channels);
// The integers and floats that textures of linear memory may have.
constexpr bool isPlain(int format) {
  return (format >= CU_AD_FORMAT_UNSIGNED_INT8 && format <= CU_AD_FORMAT_UNSIGNED_INT32) ||
         (format >= CU_AD_FORMAT_SIGNED_INT8 && format <= CU_AD_FORMAT_SIGNED_INT32) || format == CU_AD_FORMAT_HALF ||
         format == CU_AD_FORMAT_FLOAT;
}
// Whether arrays of this format exist for video engines only (CUDA_ARRAY3D_VIDEO_ENCODE_DECODE).
bool isVideo(int format);
// Of those, the ones whose brightness and colours lie in one word, which is an element.
bool isPackedVideo(int format);

// One plane of a video format whose samples lie in several arrays: brightness in one, colour in the others.
struct Plane {
  CUarray_format format;
  unsigned channels;
  unsigned widthShift, heightShift;  // its extents are those of the array, shifted right
};
// The planes of a format; none when the format keeps all in one array.
std::span<const Plane> planesOf(int format);

}  // namespace vg::arrays
