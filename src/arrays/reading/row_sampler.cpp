#include "arrays/reading/row_sampler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>

#include "arrays/reading/footprint.h"
#include "arrays/reading/sampler.h"
#include "copy/copy.h"

namespace vg::arrays {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();
constexpr size_t kMostElements = 1 << 30;
constexpr size_t kFaces = 6;

struct ChannelStorage {
  RowDecoding decoding;
  uint8_t channelBytes;
};

std::optional<ChannelStorage> storageOf(const TextureView& view) {
  const auto narrow = [&](RowDecoding whole, RowDecoding mapped, uint8_t bytes) {
    return ChannelStorage{view.asIntegers ? whole : mapped, bytes};
  };
  switch (view.format) {
    case CU_AD_FORMAT_FLOAT:
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
      return ChannelStorage{RowDecoding::Word, 4};
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return narrow(RowDecoding::Unsigned, RowDecoding::Unorm, 1);
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return narrow(RowDecoding::Unsigned, RowDecoding::Unorm, 2);
    case CU_AD_FORMAT_SIGNED_INT8:
      return narrow(RowDecoding::Signed, RowDecoding::Snorm, 1);
    case CU_AD_FORMAT_SIGNED_INT16:
      return narrow(RowDecoding::Signed, RowDecoding::Snorm, 2);
    case CU_AD_FORMAT_HALF:
      return ChannelStorage{RowDecoding::Half, 2};
    default:
      return std::nullopt;
  }
}

// Fills in how elements of a level are found. False: they are not where vectors look.
bool place(const TextureView& view, const Level& level, RowLevel& out) {
  if (level.tileRowBytes || level.tiling) return false;
  const int axes = axesOf(view.kind);
  const size_t sizes[3] = {level.extent.width, axes > 1 ? level.extent.height : 1, axes > 2 ? level.extent.depth : 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (sizes[axis] == 0 || sizes[axis] > kMostElements) return false;
    out.size[axis] = static_cast<int32_t>(sizes[axis]);
  }
  const size_t slices = layered(view.kind) ? view.firstLayer + view.layers : isCube(view.kind) ? kFaces : sizes[2];
  const size_t bytes = (slices - 1) * level.slicePitch + (sizes[1] - 1) * level.rowPitch + sizes[0] * view.unit.bytes;
  if (bytes > kMostBytes || level.rowPitch > kMostBytes || level.slicePitch > kMostBytes) return false;
  out.rowPitch = static_cast<uint32_t>(level.rowPitch);
  out.slicePitch = static_cast<uint32_t>(level.slicePitch);
  out.base = view.base + level.offset;
  return true;
}

bool place(const TextureView& view, RowPlan& plan) {
  if (view.surface || !view.base || view.levels.empty() || view.levels.size() > kMostRowLevels) return false;
  plan.axes = static_cast<uint8_t>(axesOf(view.kind));
  plan.cube = isCube(view.kind);
  plan.layered = layered(view.kind);
  if (plan.layered && view.layers < (plan.cube ? kFaces : 1)) return false;
  plan.layers = static_cast<uint32_t>(plan.cube ? view.layers / kFaces : view.layers);
  plan.firstLayer = static_cast<uint32_t>(view.firstLayer);
  plan.levelCount = static_cast<uint32_t>(view.levels.size());
  for (uint32_t n = 0; n < plan.levelCount; ++n)
    if (!place(view, view.levels[n], plan.levels[n])) return false;
  return true;
}

RowPlan::Levels levelsOf(const TextureView& view) {
  using Levels = RowPlan::Levels;
  if (!view.whole || view.levels.size() == 1) return Levels::First;
  return view.sampler.linearLevels ? Levels::Mixed : Levels::Nearest;
}

}  // namespace

RowPlan planOf(const TextureView& view) {
  RowPlan plan;
  const std::optional<ChannelStorage> storage = storageOf(view);
  if (!storage || view.srgb || (view.buffer && view.sampler.normalized) || !place(view, plan)) return plan;
  const unsigned bytes = storage->channelBytes * view.channels;
  if (bytes != view.unit.bytes || !std::has_single_bit(bytes)) return plan;
  plan.decoding = storage->decoding;
  plan.channelBytes = storage->channelBytes;
  plan.channels = static_cast<uint8_t>(view.channels);
  plan.unitBytes = static_cast<uint8_t>(bytes);
  const SamplerState& sampler = view.sampler;
  plan.linear = sampler.linear && !view.buffer;
  const bool fractions = plan.decoding == RowDecoding::Unorm || plan.decoding == RowDecoding::Snorm;
  plan.steps = stepsOf(view.format);
  if (fractions) plan.sums = plan.steps.summed == plan.steps.kept ? RowSums::Steps : RowSums::Bytes;
  if (plan.decoding == RowDecoding::Half) plan.sums = RowSums::Half;
  if (!ofFloats(view)) plan.sums = RowSums::Whole;
  if (plan.linear && view.kind == Kind::Line && sampler.addressing[1] == Addressing::Border)
    return plan;  // see sampler.cpp
  plan.normalized = sampler.normalized;
  for (int axis = 0; axis < 3; ++axis)
    plan.addressing[axis] = view.buffer ? Addressing::Border : plan.cube ? Addressing::Clamp : sampler.addressing[axis];
  plan.seamless = view.seamless;
  plan.chooses = levelsOf(view);
  const bool mixes = plan.linear || plan.chooses == RowPlan::Levels::Mixed;
  plan.samples = !mixes || ofFloats(view) || plan.channelBytes < 4;  // sums of words of 32 bits need more
  plan.bias = sampler.bias, plan.minLevel = sampler.minLevel, plan.maxLevel = sampler.maxLevel;
  const Blending blending = blendingOf(sampler);
  plan.blendsFrom = blending.from, plan.steepness = blending.steepness;
  const Texel border = borderOf(view, sampler);
  std::copy_n(border.words, 4, plan.border);
  plan.usable = true;
  return plan;
}

const RowSampler& rowSampler() {
  static const RowSampler* const chosen = [] {
    for (const RowSampler* candidate : kAllRowSamplers)
      if (std::string_view(candidate->name) == copy::engineName() && candidate->supported()) return candidate;
    return &kBaselineRowSampler;
  }();
  return *chosen;
}

}  // namespace vg::arrays
