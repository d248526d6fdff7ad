// Textures as compiled code reads them by itself: those that lie in plain rows. Plain C layouts, part of the contract
// of kernel_abi.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vg::ptx {

// What becomes of the channels of an element.
enum class TexelDecoding : uint8_t { Word, Unsigned, Signed, Unorm };

// How a texture is read, in 16 bits; 0: in a way that compiled code leaves to RuntimeCalls::texture.
struct TextureKind {
  bool known = false;
  bool linear = false;      // reads by coordinates mix elements
  bool normalized = false;  // coordinates are from 0 to 1
  bool clamps = false;      // along all axes; else what lies outside is left
  uint8_t axes = 1;         // 1 or 2
  uint8_t channels = 1;     // 1, 2, 4
  uint8_t channelBytes = 4;
  TexelDecoding decoding{};

  uint32_t unit() const { return uint32_t{channels} * channelBytes; }
};
constexpr uint16_t bitsOf(const TextureKind& kind) {
  if (!kind.known) return 0;
  return static_cast<uint16_t>(1 | kind.linear << 1 | kind.normalized << 2 | kind.clamps << 3 | kind.axes << 4 |
                               kind.channels << 6 | kind.channelBytes << 9 | static_cast<int>(kind.decoding) << 12);
}
constexpr TextureKind textureKindOf(uint16_t bits) {
  TextureKind kind;
  kind.known = bits & 1;
  kind.linear = bits >> 1 & 1;
  kind.normalized = bits >> 2 & 1;
  kind.clamps = bits >> 3 & 1;
  kind.axes = bits >> 4 & 3;
  kind.channels = bits >> 6 & 7;
  kind.channelBytes = bits >> 9 & 7;
  kind.decoding = static_cast<TexelDecoding>(bits >> 12 & 3);
  return kind;
}

// A texture whose elements lie in rows, at addresses that are multiples of four bytes; sizes are below 2^22.
struct TextureRows {
  const std::byte* base = nullptr;
  uint64_t rowPitch = 0;       // bytes
  uint32_t kind = 0;           // bitsOf(TextureKind)
  int32_t last[2] = {0, 0};    // elements along each axis, less one
  float lastReal[2] = {0, 0};  // the same
  float size[2] = {1, 1};      // elements
};

// What is expected of a texture whose handle a kernel is given: code may be made for it.
struct TextureHint {
  uint16_t parameter = 0;                                // where the handle stands among the parameters, bytes
  uint16_t kind = 0;                                     // 0: nothing is expected
  auto operator<=>(const TextureHint&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
};
inline constexpr size_t kTextureHints = 6;
using TextureHints = std::array<TextureHint, kTextureHints>;  // those of kind 0 behind all others

}  // namespace vg::ptx
