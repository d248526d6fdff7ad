// What a texture or surface object reads: the elements, and how coordinates become elements. Plain data that core fills
// from the application's descriptors, after checking them, and that sampler.h and surface.h work on.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "arrays/layout.h"
#include "arrays/pages.h"

namespace vg::arrays {

// How coordinates beyond the edge are meant.
enum class Addressing : uint8_t { Wrap, Clamp, Mirror, Border };

// By PTX's numbers of addr_mode, of which two mean the same.
inline constexpr Addressing kAddressingByNumber[] = {Addressing::Wrap, Addressing::Mirror, Addressing::Clamp,
                                                     Addressing::Clamp, Addressing::Border};
// The number that queries answer.
constexpr uint32_t numberOf(Addressing addressing) {
  switch (addressing) {
    case Addressing::Wrap:
      return 0;
    case Addressing::Mirror:
      return 1;
    case Addressing::Clamp:
      return 3;
    default:
      return 4;
  }
}

inline bool isCube(Kind kind) { return kind == Kind::Cube || kind == Kind::CubeLayers; }
// Coordinates of an element, layers and faces apart.
inline int axesOf(Kind kind) {
  if (kind == Kind::Line || kind == Kind::LineLayers) return 1;
  return kind == Kind::Box ? 3 : 2;
}

struct SamplerState {
  Addressing addressing[3] = {Addressing::Clamp, Addressing::Clamp, Addressing::Clamp};
  bool linear = false;        // between elements
  bool linearLevels = false;  // between levels
  bool normalized = false;    // coordinates from 0 to 1
  float bias = 0, minLevel = 0, maxLevel = 0;
  unsigned anisotropy = 1;   // the most samples along a line
  bool blendsWidely = true;  // between levels, where there may be several samples
  float border[4] = {0, 0, 0, 0};
};

struct TextureView {
  bool surface = false;
  bool buffer = false;  // linear memory: out of range is zero, whatever the addressing
  Kind kind = Kind::Line;
  int format = CU_AD_FORMAT_UNSIGNED_INT8;
  unsigned channels = 1;
  Unit unit;
  std::byte* base = nullptr;     // of the storage; null: it is paged
  std::shared_ptr<Pages> pages;  // keeps the table, not what is mapped there
  std::vector<Level> levels;     // the first that is seen comes first
  std::vector<Level> chain;      // block-linear: all levels of the storage
  size_t firstLevel = 0;         // of `levels`, in the chain
  size_t firstLayer = 0, layers = 0;
  SamplerState sampler;
  bool asIntegers = true;  // 8 and 16-bit integers are not mapped to [0, 1] or [-1, 1]
  bool srgb = false;
  bool seamless = false;  // filtering crosses the edges of a cubemap's faces
  bool whole = false;     // of a mipmapped array: has a number of levels
};

}  // namespace vg::arrays
