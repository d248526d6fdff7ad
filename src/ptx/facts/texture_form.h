// What texture and surface instructions ask of the runner: one call for a warp, RuntimeCalls::texture, with the
// operation in 64 bits and the operands in slots of 32 lanes. Both machines, interpreter and generated code, make the
// call with what this file says of an instruction.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx {

enum class TextureOperation : uint8_t { Sample, Gather, Query, Load, Store, StoreFormatted, Reduce, IsType };
enum class TextureGeometry : uint8_t { Line, Plane, Box, LineLayers, PlaneLayers, Cube, CubeLayers };
constexpr bool isLayered(TextureGeometry geometry) {
  return geometry == TextureGeometry::LineLayers || geometry == TextureGeometry::PlaneLayers ||
         geometry == TextureGeometry::CubeLayers;
}
constexpr bool isCube(TextureGeometry geometry) {
  return geometry == TextureGeometry::Cube || geometry == TextureGeometry::CubeLayers;
}
constexpr int axesOf(TextureGeometry geometry) {
  switch (geometry) {
    case TextureGeometry::Line:
    case TextureGeometry::LineLayers:
      return 1;
    case TextureGeometry::Plane:
    case TextureGeometry::PlaneLayers:
      return 2;
    default:
      return 3;
  }
}
enum class TextureLevels : uint8_t { Base, Given, Gradients };
enum class TextureEdge : uint8_t { Trap, Clamp, Zero };
enum class SurfaceReduction : uint8_t { Add, Min, Max, And, Or };
enum class TextureQuery : uint8_t {
  Width,
  Height,
  Depth,
  Levels,
  ChannelDataType,
  ChannelOrder,
  NormalizedCoordinates,
  ArraySize,
  Samples,
  FilterMode,
  AddressMode0,
  AddressMode1,
  AddressMode2,
  ForceUnnormalized,
  MemoryLayout,
};

// Bits of TextureForm::flags.
inline constexpr uint8_t kWholeCoordinates = 1;  // integers; else floats
inline constexpr uint8_t kSampler = 2;           // the sampler slot is the address of a sampler
inline constexpr uint8_t kHalves = 4;            // results are f16
inline constexpr uint8_t kPackedHalves = 8;      // results are f16x2
inline constexpr uint8_t kSigned = 16;           // reductions
inline constexpr uint8_t kElements = 32;         // x counts elements; else bytes
inline constexpr uint8_t kOfSurface = 64;        // IsType
inline constexpr uint8_t kOffsets = 128;         // the offset slots count

struct TextureForm {
  TextureOperation operation{};
  TextureGeometry geometry{};
  TextureLevels levels{};
  uint8_t flags = 0;
  uint8_t components = 1;  // of what is loaded, stored or returned
  uint8_t bits = 32;       // of a component
  // Sample: 1 of one sample of several; Gather: channel; Query: TextureQuery; Reduce: SurfaceReduction; IsType: 0
  // texture, 1 sampler
  uint8_t detail = 0;
  TextureEdge edge{};

  bool has(uint8_t flag) const { return flags & flag; }
};
static_assert(sizeof(TextureForm) == sizeof(uint64_t));
inline uint64_t wordOf(const TextureForm& form) { return std::bit_cast<uint64_t>(form); }
inline TextureForm formOf(uint64_t word) { return std::bit_cast<TextureForm>(word); }

// Slots of operands, and of results, which take the place of the first ones. A slot holds the bits of 32 lanes, each
// extended to 64.
inline constexpr uint32_t kTextureHandle = 0, kTextureSampler = 1, kTextureCoordinates = 2, kTextureLevel = 6,
                          kTextureData = 6, kTextureGradientX = 6, kTextureGradientY = 10, kTextureOffset = 14,
                          kTextureSlots = 18, kTextureResident = 4;
// Where no offset is: which sample, or what depths would be compared with.
inline constexpr uint32_t kTextureExtra = 17;

// A sampler variable holds these bits; all zero: the texture's own settings count.
inline constexpr uint64_t kSamplerSet = uint64_t{1} << 63, kSamplerLinear = 1 << 9, kSamplerUnnormalized = 1 << 10;
inline constexpr unsigned kSamplerAddressBits = 3;  // an axis: 0 wrap, 1 mirror, 2 and 3 clamp, 4 border

struct TextureShape {
  TextureForm form;
  std::vector<uint8_t> slots;    // of the operands after the destinations, vectors flattened
  std::vector<uint8_t> results;  // slots of the destinations, vectors flattened
};

// Nothing for forms that PTX does not have, which validate.h refuses. Requires: Trait::Texture of the opcode; `f`
// holds the operands.
std::optional<TextureShape> describeTexture(const Instruction& i, const Function& f);

}  // namespace vg::ptx
