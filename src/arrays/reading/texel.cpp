#include "arrays/reading/texel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "arrays/compressed/block_codec.h"
#include "arrays/half_float.h"

namespace vg::arrays {
namespace {

// How the channels of a format are stored.
enum class Storage : uint8_t { None, Unsigned, Signed, Half, Float, Unorm, Snorm, Packed1010102, Blocks };

struct Channel {
  Storage storage = Storage::None;
  unsigned bytes = 0;
};

Channel channelOf(int format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return {Storage::Unsigned, 1};
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return {Storage::Unsigned, 2};
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return {Storage::Unsigned, 4};
    case CU_AD_FORMAT_SIGNED_INT8:
      return {Storage::Signed, 1};
    case CU_AD_FORMAT_SIGNED_INT16:
      return {Storage::Signed, 2};
    case CU_AD_FORMAT_SIGNED_INT32:
      return {Storage::Signed, 4};
    case CU_AD_FORMAT_HALF:
      return {Storage::Half, 2};
    case CU_AD_FORMAT_FLOAT:
      return {Storage::Float, 4};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
      return {Storage::Unorm, 1};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
      return {Storage::Unorm, 2};
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return {Storage::Snorm, 1};
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return {Storage::Snorm, 2};
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return {Storage::Packed1010102, 4};
    default:
      return {hasCodec(format) ? Storage::Blocks : Storage::None, 0};
  }
}

uint32_t wordOf(float value) { return std::bit_cast<uint32_t>(value); }
float floatOf(uint32_t word) { return std::bit_cast<float>(word); }

uint32_t load(const std::byte* at, unsigned bytes) {
  uint32_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

int32_t extended(uint32_t value, unsigned bytes) {
  const unsigned shift = 32 - 8 * bytes;
  return static_cast<int32_t>(value << shift) >> shift;
}

float unorm(uint32_t value, unsigned bits) {
  return static_cast<float>(value) / static_cast<float>((uint64_t{1} << bits) - 1);
}
float snorm(int32_t value, unsigned bits, bool forSums) {
  const float share = static_cast<float>(value) / static_cast<float>((1 << (bits - 1)) - 1);
  return forSums ? share : std::max(share, -1.0f);
}

// The texture units' table of decoded colours: from which byte on, and so from which colour on, it has which steps.
struct Segment {
  float byte, colour, step;
};
constexpr float kFinest = 0x1p-14f;
constexpr Segment kSegments[] = {{248, 15360 * kFinest, 128 * kFinest}, {184, 7872 * kFinest, 64 * kFinest},
                                 {136, 4032 * kFinest, 32 * kFinest},   {96, 1920 * kFinest, 16 * kFinest},
                                 {64, 840 * kFinest, 8 * kFinest},      {48, 484 * kFinest, 4 * kFinest},
                                 {32, 236 * kFinest, 2 * kFinest}};

template <class Reached>
float stepWhere(Reached reached) {
  const Segment* const found = std::find_if(std::begin(kSegments), std::end(kSegments), reached);
  return found == std::end(kSegments) ? kFinest : found->step;
}

float linearOf(float encoded) {
  const float exact = encoded <= 0.04045f ? encoded / 12.92f : std::pow((encoded + 0.055f) / 1.055f, 2.4f);
  const float byte = std::nearbyint(encoded * 255);
  const float step = stepWhere([&](const Segment& s) { return byte >= s.byte; });
  return std::nearbyint(exact / step) * step;
}

uint32_t decodeChannel(const std::byte* at, Channel channel, bool asIntegers, bool forSums) {
  const uint32_t raw = load(at, channel.bytes);
  switch (channel.storage) {
    case Storage::Unsigned:
      return asIntegers || channel.bytes == 4 ? raw : wordOf(unorm(raw, 8 * channel.bytes));
    case Storage::Signed: {
      const int32_t value = extended(raw, channel.bytes);
      if (asIntegers || channel.bytes == 4) return static_cast<uint32_t>(value);
      return wordOf(snorm(value, 8 * channel.bytes, forSums));
    }
    case Storage::Half:
      return wordOf(floatOfHalf(static_cast<uint16_t>(raw)));
    case Storage::Unorm:
      return wordOf(unorm(raw, 8 * channel.bytes));
    case Storage::Snorm:
      return wordOf(snorm(extended(raw, channel.bytes), 8 * channel.bytes, forSums));
    default:
      return raw;
  }
}

void unpack1010102(const std::byte* bytes, Texel& texel) {
  const uint32_t raw = load(bytes, 4);
  for (unsigned c = 0; c < 3; ++c) texel.words[c] = wordOf(unorm(raw >> (10 * c) & 0x3ff, 10));
  texel.words[3] = wordOf(unorm(raw >> 30, 2));
}

bool isSrgbFormat(int format) {
  return format == CU_AD_FORMAT_BC1_UNORM_SRGB || format == CU_AD_FORMAT_BC2_UNORM_SRGB ||
         format == CU_AD_FORMAT_BC3_UNORM_SRGB || format == CU_AD_FORMAT_BC7_UNORM_SRGB;
}

void decodeBlock(const std::byte* bytes, int format, unsigned x, unsigned y, Texel& texel) {
  float values[4] = {0, 0, 0, 1};
  decodeBlockElement(bytes, format, x, y, values);
  for (unsigned c = 0; c < 4; ++c) texel.words[c] = wordOf(values[c]);
}

int64_t clamped(float value, int64_t lowest, int64_t highest) {
  if (!(value > static_cast<float>(lowest))) return value != value ? 0 : lowest;
  if (value >= static_cast<float>(highest)) return highest;
  return std::llrint(value);
}

// One channel as it is stored, in the low bytes.
uint32_t encodeChannel(uint32_t word, Channel channel) {
  const unsigned bits = 8 * channel.bytes;
  switch (channel.storage) {
    case Storage::Unsigned:
      return bits == 32 ? word : std::min(word, (1u << bits) - 1);
    case Storage::Signed: {
      const int64_t most = (int64_t{1} << (bits - 1)) - 1, value = static_cast<int32_t>(word);
      return static_cast<uint32_t>(std::clamp(value, -most - 1, most));
    }
    case Storage::Half:
      return truncatedHalf(floatOf(word));
    case Storage::Unorm: {
      const int64_t most = (int64_t{1} << bits) - 1;
      return static_cast<uint32_t>(clamped(floatOf(word) * static_cast<float>(most), 0, most));
    }
    case Storage::Snorm: {
      const int64_t most = (int64_t{1} << (bits - 1)) - 1;
      return static_cast<uint32_t>(clamped(floatOf(word) * static_cast<float>(most), -most, most));
    }
    default:
      return word;
  }
}

}  // namespace

Channels channelsOf(int format, bool asIntegers) {
  const Channel channel = channelOf(format);
  if (channel.storage == Storage::Unsigned && (asIntegers || channel.bytes == 4)) return Channels::Unsigned;
  if (channel.storage == Storage::Signed && (asIntegers || channel.bytes == 4)) return Channels::Signed;
  return Channels::Float;
}

bool readable(int format) { return channelOf(format).storage != Storage::None; }

bool isEncoded(int format, bool asIntegers, bool srgb) {
  const bool narrow = channelOf(format).bytes == 1 && channelsOf(format, asIntegers) == Channels::Float;
  return (srgb && narrow) || isSrgbFormat(format);
}

Texel decode(const std::byte* bytes, int format, unsigned channels, bool asIntegers, bool srgb, unsigned x, unsigned y,
             bool forSums) {
  const Channel channel = channelOf(format);
  Texel texel{};
  if (channel.storage == Storage::Blocks)
    decodeBlock(bytes, format, x, y, texel);
  else if (channel.storage == Storage::Packed1010102)
    unpack1010102(bytes, texel);
  else
    for (unsigned c = 0; c < channels; ++c)
      texel.words[c] = decodeChannel(bytes + c * channel.bytes, channel, asIntegers, forSums);
  if (isEncoded(format, asIntegers, srgb))
    for (unsigned c = 0; c < 3; ++c) texel.words[c] = wordOf(linearOf(floatOf(texel.words[c])));
  return texel;
}

void encode(const Texel& texel, std::byte* bytes, int format, unsigned channels) {
  const Channel channel = channelOf(format);
  if (channel.storage == Storage::Packed1010102) {
    uint32_t packed = 0;
    for (unsigned c = 0; c < 4; ++c) {
      const int64_t most = c < 3 ? 1023 : 3;
      packed |= static_cast<uint32_t>(clamped(floatOf(texel.words[c]) * static_cast<float>(most), 0, most)) << (10 * c);
    }
    std::memcpy(bytes, &packed, sizeof packed);
    return;
  }
  for (unsigned c = 0; c < channels; ++c) {
    const uint32_t raw = encodeChannel(texel.words[c], channel);
    std::memcpy(bytes + c * channel.bytes, &raw, channel.bytes);
  }
}

Steps stepsOf(int format) {
  const Channel channel = channelOf(format);
  const bool isSigned = channel.storage == Storage::Signed || channel.storage == Storage::Snorm;
  const bool isFraction = isSigned || channel.storage == Storage::Unsigned || channel.storage == Storage::Unorm;
  if (!isFraction || channel.bytes > 2) return {0, 0};
  if (!isSigned) return {65535, 65535};
  return {channel.bytes == 1 ? 127.0f : 32767.0f, 32767};
}

float stepOfDecoded(float colour) {
  return stepWhere([&](const Segment& s) { return colour >= s.colour; });
}

bool isHalf(int format) { return channelOf(format).storage == Storage::Half; }

uint32_t borderWord(float border, int format, bool asIntegers) {
  const Channel channel = channelOf(format);
  const unsigned bits = 8 * channel.bytes;
  const auto kept = [&](float least, float most) {
    return wordOf(std::trunc(std::clamp(border, least, 1.0f) * most) / most);
  };
  const bool isWhole = channelsOf(format, asIntegers) != Channels::Float;
  switch (channel.storage) {
    case Storage::Unsigned:
    case Storage::Unorm:
      if (isWhole) return bits == 32 ? wordOf(border) : wordOf(border) & ((1u << bits) - 1);
      return kept(0, static_cast<float>((1u << bits) - 1));
    case Storage::Signed:
    case Storage::Snorm:
      if (isWhole) return static_cast<uint32_t>(extended(wordOf(border), channel.bytes));
      return kept(-1, static_cast<float>((1u << (bits - 1)) - 1));
    default:
      return wordOf(border);
  }
}

}  // namespace vg::arrays
