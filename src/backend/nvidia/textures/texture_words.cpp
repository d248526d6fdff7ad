#include "backend/nvidia/textures/texture_words.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "arrays/reading/footprint.h"
#include "arrays/reading/texel.h"

namespace vg::backend::nvidia {
namespace {

// Bits [first, first + width) of the eight words; none crosses a word.
struct Field {
  uint16_t first, width;
};

void set(TextureWords& words, Field field, uint64_t value) {
  const uint32_t mask = field.width == 32 ? ~0u : (1u << field.width) - 1;
  words[field.first / 32] |= (static_cast<uint32_t>(value) & mask) << field.first % 32;
}

// Of all headers, version 2.
constexpr Field kSources[] = {{96, 3}, {99, 3}, {102, 3}, {105, 3}};
constexpr Field kDataType{108, 4}, kComponents{112, 7}, kVersion{124, 4};
constexpr Field kWidth{128, 17}, kNormalized{145, 1}, kSrgb{149, 1}, kType{150, 4}, kPromotion{154, 2}, kBorder{156, 1},
    kHeight{160, 17}, kFineSpread{215, 2}, kCoarseSpread{217, 2};
// Of block-linear ones.
constexpr Field kAddressLow{9, 23}, kAddressHigh{32, 25}, kBlockRows{67, 3}, kBlockSlices{70, 3}, kTileWidth{74, 3},
    kQuality{80, 3}, kMaxLevel{92, 4}, kDepth{177, 15}, kFirstLevel{224, 4}, kLastLevel{228, 4};
// Of those with a pitch.
constexpr Field kRowsLow{5, 27}, kPitch{64, 17}, kRowsQuality{81, 3};
// Of lines in linear memory.
constexpr Field kLineLow{0, 32}, kLineHigh{32, 32}, kLineWidth{64, 32};

enum Version : uint32_t { kPitched = 2, kBlockLinear = 3, kLine = 5 };
enum Type : uint32_t { k1D, k2D, k3D, kCube, k1DLayers, k2DLayers, k2DOneLevel = 7, kCubeLayers = 8 };
enum Data : uint32_t { kUnorm = 0, kSnorm = 1, kFloat = 2, kUnsigned = 6, kSigned = 7 };
enum Source : uint32_t { kZero = 0, kFirstChannel = 2 };
constexpr uint32_t kPromoteDown = 1;
// Of levels of detail: both of those with anisotropic filtering, and that without; and how far samples lie apart. With
// these the units read what they read of the vendor's headers.
constexpr uint32_t kBestQuality = 7, kSpreadOne = 1, kSpreadTwo = 2;

struct Components {
  uint32_t sizes = 0;  // 0: there is no such format
  uint32_t data = kUnorm;
  unsigned channels = 4;
};

// Of one, two and four channels.
Components plain(unsigned bytes, unsigned channels, uint32_t data) {
  constexpr uint32_t kSizes[3][3] = {{0x1d, 0x18, 0x08}, {0x1b, 0x0c, 0x03}, {0x0f, 0x04, 0x01}};
  return {kSizes[std::bit_width(bytes) - 1][std::bit_width(channels) - 1], data, channels};
}

uint32_t integers(const arrays::TextureView& view, uint32_t whole, uint32_t fraction) {
  return view.asIntegers || view.surface ? whole : fraction;
}

Components blocks(int format) {
  switch (format) {
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
      return {0x24, kUnorm};
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
      return {0x25, kUnorm};
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
      return {0x26, kUnorm};
    case CU_AD_FORMAT_BC4_UNORM:
      return {0x27, kUnorm};
    case CU_AD_FORMAT_BC4_SNORM:
      return {0x27, kSnorm};
    case CU_AD_FORMAT_BC5_UNORM:
      return {0x28, kUnorm};
    case CU_AD_FORMAT_BC5_SNORM:
      return {0x28, kSnorm};
    case CU_AD_FORMAT_BC6H_SF16:
      return {0x10, kFloat};
    case CU_AD_FORMAT_BC6H_UF16:
      return {0x11, kFloat};
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return {0x17, kUnorm};
    default:
      return {};
  }
}

Components componentsOf(const arrays::TextureView& view) {
  switch (view.format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return plain(1, view.channels, integers(view, kUnsigned, kUnorm));
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return plain(2, view.channels, integers(view, kUnsigned, kUnorm));
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return plain(4, view.channels, kUnsigned);
    case CU_AD_FORMAT_SIGNED_INT8:
      return plain(1, view.channels, integers(view, kSigned, kSnorm));
    case CU_AD_FORMAT_SIGNED_INT16:
      return plain(2, view.channels, integers(view, kSigned, kSnorm));
    case CU_AD_FORMAT_SIGNED_INT32:
      return plain(4, view.channels, kSigned);
    case CU_AD_FORMAT_HALF:
      return plain(2, view.channels, kFloat);
    case CU_AD_FORMAT_FLOAT:
      return plain(4, view.channels, kFloat);
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
      return plain(1, view.channels, kUnorm);
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
      return plain(2, view.channels, kUnorm);
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return plain(1, view.channels, kSnorm);
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return plain(2, view.channels, kSnorm);
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return {0x09, kUnorm};
    default:
      return view.surface && arrays::isVideo(view.format)
                 ? plain(static_cast<unsigned>(view.unit.bytes) / view.channels, view.channels, kUnsigned)
                 : blocks(view.format);
  }
}

bool isSrgb(const arrays::TextureView& view) {
  return view.srgb || view.format == CU_AD_FORMAT_BC1_UNORM_SRGB || view.format == CU_AD_FORMAT_BC2_UNORM_SRGB ||
         view.format == CU_AD_FORMAT_BC3_UNORM_SRGB || view.format == CU_AD_FORMAT_BC7_UNORM_SRGB;
}

// Faces of a surface are layers. Lines are read as planes of one row, because that is how compilers read them; as
// surfaces they are lines.
uint32_t typeOf(const arrays::TextureView& view) {
  constexpr uint32_t kTypes[] = {k1D, k2D, k3D, k1DLayers, k2DLayers, kCube, kCubeLayers};
  if (view.surface && isCube(view.kind)) return k2DLayers;
  if (!view.surface && view.kind == arrays::Kind::Line) return k2D;
  return kTypes[static_cast<size_t>(view.kind)];
}

// The numbers of layers as the units count them: cubes, not faces.
size_t depthOf(const arrays::TextureView& view, const arrays::Level& level) {
  constexpr size_t kFaces = 6;
  if (view.kind == arrays::Kind::Box) return std::max<size_t>(level.extent.depth, 1);
  if (isCube(view.kind) && !view.surface) return view.layers / kFaces;
  return arrays::layered(view.kind) ? view.layers : 1;
}

void setFormat(TextureWords& words, const Components& components) {
  set(words, kComponents, components.sizes);
  set(words, kDataType, components.data);
  for (unsigned i = 0; i < 4; ++i) set(words, kSources[i], i < components.channels ? kFirstChannel + i : kZero);
}

void setPlane(TextureWords& words, const arrays::TextureView& view, const arrays::Level& level) {
  set(words, kWidth, level.extent.width - 1);
  set(words, kHeight, std::max<size_t>(level.extent.height, 1) - 1);
  set(words, kNormalized, view.sampler.normalized);
  set(words, kSrgb, isSrgb(view));
  set(words, kPromotion, kPromoteDown);
  set(words, kBorder, 1);  // the sampler's colour
  set(words, kFineSpread, kSpreadTwo);
  set(words, kCoarseSpread, kSpreadOne);
}

uint64_t addressOf(const std::byte* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void describeLine(TextureWords& words, const arrays::TextureView& view) {
  set(words, kVersion, kLine);
  set(words, kLineLow, addressOf(view.base));
  set(words, kLineHigh, addressOf(view.base) >> 32);
  set(words, kLineWidth, view.levels[0].extent.width - 1);
}

void describeRows(TextureWords& words, const arrays::TextureView& view) {
  set(words, kVersion, kPitched);
  set(words, kType, k2DOneLevel);
  set(words, kRowsLow, addressOf(view.base) >> 5);
  set(words, kAddressHigh, addressOf(view.base) >> 32);
  set(words, kPitch, view.levels[0].rowPitch >> 5);
  set(words, kRowsQuality, kBestQuality);
  setPlane(words, view, view.levels[0]);
}

// The units find levels and layers by the extents of the first level of all: views of layered arrays say which levels
// they mean, others begin with theirs.
void describeBlocks(TextureWords& words, const arrays::TextureView& view) {
  const bool whole = arrays::layered(view.kind);
  const arrays::Level& first = whole ? view.chain[0] : view.levels[0];
  const size_t skipped = whole ? view.firstLevel : 0;
  const uint64_t address = addressOf(view.base) + first.offset + view.firstLayer * first.tiling->layerPitch;
  set(words, kVersion, kBlockLinear);
  set(words, kType, typeOf(view));
  set(words, kAddressLow, address >> 9);
  set(words, kAddressHigh, address >> 32);
  set(words, kBlockRows, first.tiling->blockRows);
  set(words, kBlockSlices, first.tiling->blockSlices);
  if (first.tileRowBytes) set(words, kTileWidth, std::bit_width(first.tileRowBytes / copy::Tiling::kGobBytes) - 1);
  set(words, kQuality, kBestQuality);
  set(words, kMaxLevel, (whole ? view.chain.size() : view.levels.size()) - 1);
  set(words, kFirstLevel, skipped);
  set(words, kLastLevel, skipped + view.levels.size() - 1);
  set(words, kDepth, depthOf(view, first) - 1);
  setPlane(words, view, first);
}

// ---- samplers ----

constexpr Field kAddressing[] = {{0, 3}, {3, 3}, {6, 3}};
constexpr Field kSamplerSrgb{13, 1}, kMostSamples{20, 3}, kMagnified{32, 3}, kMinified{36, 2}, kBetweenLevels{38, 2},
    kFaces{40, 2}, kBias{44, 13}, kSteepness{58, 5}, kLeastLevel{64, 12}, kMostLevel{76, 12};
constexpr Field kSrgbBorder[] = {{88, 8}, {108, 8}, {116, 8}};
constexpr uint32_t kPoint = 1, kLinear = 2, kAnisotropic = 3, kNearestLevel = 2, kBothLevels = 3, kSeamless = 2;

uint32_t addressingOf(arrays::Addressing mode) {
  constexpr uint32_t kWrap = 0, kMirror = 1, kClamp = 2, kBorderColour = 3;
  switch (mode) {
    case arrays::Addressing::Wrap:
      return kWrap;
    case arrays::Addressing::Mirror:
      return kMirror;
    case arrays::Addressing::Border:
      return kBorderColour;
    default:
      return kClamp;
  }
}

// Of 1, 2, 4, 6, 8, 10, 12 and 16.
uint32_t samplesWord(unsigned samples) { return samples == 16 ? 7 : samples / 2; }

constexpr float kLowestBias = -16, kHighestLevel = 4095.0f / 256;

// Levels in steps of 1/256.
uint32_t levelSteps(float level) { return static_cast<uint32_t>(std::clamp(level, 0.0f, kHighestLevel) * 256); }

// The units begin to blend levels where the lower one is, and may do it steeper, by eighths: that half of both lies in
// the middle, the level of detail is less by so much.
void setBlending(TextureWords& words, const arrays::SamplerState& sampler) {
  const arrays::Blending blending = sampler.linearLevels ? arrays::blendingOf(sampler) : arrays::Blending{0, 4};
  const float slope = static_cast<float>(blending.steepness) / 4, bias = sampler.bias - (1 - 1 / slope) / 2;
  set(words, kBias, static_cast<uint64_t>(static_cast<int64_t>(std::clamp(bias, kLowestBias, kHighestLevel) * 256)));
  set(words, kSteepness, static_cast<uint64_t>(blending.steepness - 4) * 2);
}

uint32_t borderWord(const arrays::TextureView& view, float value) {
  const bool whole = arrays::channelsOf(view.format, view.asIntegers) != arrays::Channels::Float;
  return whole ? static_cast<uint32_t>(static_cast<int64_t>(value)) : std::bit_cast<uint32_t>(value);
}

uint32_t srgbByte(float linear) {
  const float value = std::clamp(linear, 0.0f, 1.0f);
  const float encoded = value <= 0.0031308f ? 12.92f * value : 1.055f * std::pow(value, 1 / 2.4f) - 0.055f;
  return static_cast<uint32_t>(std::lround(encoded * 255));
}

}  // namespace

Result<TextureWords> headerOf(const arrays::TextureView& view) {
  TextureWords words{};
  const Components components = componentsOf(view);
  if (!view.base) return unsupported("textures of memory that the application maps, on this device");
  if (!components.sizes) return unsupported("textures of format %#x", static_cast<unsigned>(view.format));
  if (!view.levels[0].extent.width) return words;  // no elements: reads give zero
  setFormat(words, components);
  if (view.buffer)
    describeLine(words, view);
  else if (!view.levels[0].tiling)
    describeRows(words, view);
  else
    describeBlocks(words, view);
  return words;
}

TextureWords headerOfNothing(uint64_t somewhere) {
  TextureWords words{};
  set(words, kVersion, kBlockLinear);
  set(words, kType, k2D);
  set(words, kComponents, plain(1, 1, kUnorm).sizes);
  set(words, kAddressLow, somewhere >> 9);
  set(words, kAddressHigh, somewhere >> 32);
  return words;
}

TextureWords samplerOf(const arrays::TextureView& view) {
  const arrays::SamplerState& sampler = view.sampler;
  TextureWords words{};
  const bool line = view.kind == arrays::Kind::Line;
  for (unsigned i = 0; i < 3; ++i) {
    set(words, kAddressing[i], addressingOf(line && i ? arrays::Addressing::Clamp : sampler.addressing[i]));
    if (isSrgb(view)) set(words, kSrgbBorder[i], srgbByte(sampler.border[i]));
  }
  const uint32_t filter = sampler.linear ? kLinear : kPoint;
  set(words, kSamplerSrgb, 1);
  set(words, kMagnified, filter);
  set(words, kMostSamples, samplesWord(sampler.anisotropy));
  set(words, kMinified, sampler.linear && sampler.anisotropy > 1 ? kAnisotropic : filter);
  set(words, kBetweenLevels, sampler.linearLevels ? kBothLevels : kNearestLevel);
  set(words, kFaces, view.seamless ? kSeamless : 0);
  setBlending(words, sampler);
  set(words, kLeastLevel, levelSteps(sampler.minLevel));
  set(words, kMostLevel, levelSteps(sampler.maxLevel));
  for (unsigned i = 0; i < 4; ++i)
    if (i < view.channels) words[4 + i] = borderWord(view, sampler.border[i]);
  return words;
}

}  // namespace vg::backend::nvidia
