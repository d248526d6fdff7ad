#include "backend/cpu/textures/texture_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "arrays/reading/row_sampler.h"
#include "arrays/reading/surface.h"
#include "backend/cpu/textures/texture_lanes.h"

namespace vg::backend::cpu {
namespace {

// Where the lanes of an instruction read.
arrays::RowPoints pointsOf(const TextureForm& form, const textures::Texture& texture, uint32_t mask, uint64_t* lanes) {
  arrays::RowPoints points;
  points.active = mask;
  points.displaced = form.has(ptx::kOffsets);
  points.biased = form.levels != ptx::TextureLevels::Base;
  points.levelGiven = form.levels == ptx::TextureLevels::Given && !texture.view.buffer;
  const auto take = [&](uint32_t slot, auto& to) {
    const uint64_t* const from = lanes + slot * ptx::kWarpSize;
    for (uint32_t k = 0; k < ptx::kWarpSize; ++k) to[k] = static_cast<uint32_t>(from[k]);
  };
  uint32_t slot = ptx::kTextureCoordinates;
  if (texture.plan.layered) take(slot++, points.layer);
  const auto axes = static_cast<uint32_t>(axesOf(form.geometry));
  for (uint32_t axis = 0; axis < axes; ++axis) take(slot++, points.whole[axis]);
  for (uint32_t axis = 0; points.displaced && axis < axes; ++axis)
    take(ptx::kTextureOffset + axis, points.offset[axis]);
  if (form.levels == ptx::TextureLevels::Given) {
    take(ptx::kTextureLevel, points.wholeLevel);
  } else if (texture.plan.levelCount > 1 || form.has(ptx::kWholeCoordinates)) {
    std::fill_n(points.wholeLevel, ptx::kWarpSize, 0);
    if (form.levels == ptx::TextureLevels::Gradients)
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int k = std::countr_zero(rest);
        points.level[k] = footprintOf(TextureLane(lanes + k), form, texture.view, texture.view.sampler).level;
      }
  }
  return points;
}

// As the instruction wants them.
void toResults(const TextureForm& form, const TextureView& view, arrays::RowTexels& texels) {
  if (form.has(ptx::kHalves | ptx::kPackedHalves) && arrays::ofFloats(view)) arrays::rowSampler().toHalves(texels);
  if (!form.has(ptx::kPackedHalves)) return;
  for (uint32_t k = 0; k < ptx::kWarpSize; ++k) {
    texels.words[0][k] |= texels.words[1][k] << 16;
    texels.words[1][k] = texels.words[2][k] | texels.words[3][k] << 16;
  }
}

template <class Word>
void loadRow(const arrays::SurfaceOffsets& found, uint32_t components, uint64_t* lanes) {
  for (uint32_t c = 0; c < components; ++c)
    for (uint32_t k = 0; k < ptx::kWarpSize; ++k) {
      Word word{};
      if (found.inside >> k & 1) std::memcpy(&word, found.base + found.offset[k] + c * sizeof word, sizeof word);
      lanes[c * ptx::kWarpSize + k] = word;
    }
}
template <class Word>
void storeRow(const arrays::SurfaceOffsets& found, uint32_t components, const uint64_t* lanes) {
  for (uint32_t c = 0; c < components; ++c)
    for (uint32_t k = 0; k < ptx::kWarpSize; ++k) {
      const auto word = static_cast<Word>(lanes[c * ptx::kWarpSize + k]);
      if (found.inside >> k & 1) std::memcpy(found.base + found.offset[k] + c * sizeof word, &word, sizeof word);
    }
}

}  // namespace

bool isRow(const TextureForm& form, const textures::Texture& texture) {
  const arrays::RowPlan& plan = texture.plan;
  const bool isGather = form.operation == TextureOperation::Gather, isCubes = isCube(form.geometry);
  if (form.levels == ptx::TextureLevels::Gradients && texture.view.sampler.anisotropy > 1) return false;
  if (!plan.usable || !reads(form) || form.has(ptx::kSampler)) return false;
  if (isLayered(form.geometry) != plan.layered || isCubes != plan.cube) return false;
  if (isCubes ? form.has(ptx::kWholeCoordinates) : axesOf(form.geometry) != plan.axes) return false;
  return !isGather || plan.axes == 2;
}

uint32_t readRow(const TextureForm& form, const textures::Texture& texture, uint32_t mask, uint64_t* lanes) {
  const arrays::RowPoints points = pointsOf(form, texture, mask, lanes);
  const arrays::RowSampler& sampler = arrays::rowSampler();
  arrays::RowTexels texels;
  const uint32_t done =
      form.operation == TextureOperation::Gather
          ? sampler.gather(texture.plan, points, form.detail, texels)
          : (form.has(ptx::kWholeCoordinates) ? sampler.fetch : sampler.sample)(texture.plan, points, texels);
  toResults(form, texture.view, texels);
  const uint32_t left = mask & ~done;
  // Lanes that are left keep their operands, where results go.
  const auto give = [&](uint32_t slot, auto&& result) {
    uint64_t* const to = lanes + slot * ptx::kWarpSize;
    for (uint32_t k = 0; k < ptx::kWarpSize; ++k)
      if (!left || done >> k & 1) to[k] = result(k);
  };
  for (uint32_t c = 0; c < 4; ++c) give(c, [&](uint32_t k) { return texels.words[c][k]; });
  give(ptx::kTextureResident, [](uint32_t) { return 1; });
  return left;
}

bool moveRow(const TextureForm& form, const TextureView& view, uint32_t mask, uint64_t* lanes) {
  const bool loads = form.operation == TextureOperation::Load;
  if (!loads && form.operation != TextureOperation::Store) return false;
  arrays::SurfaceRow row;
  row.active = mask;
  const uint64_t* slot = lanes + ptx::kTextureCoordinates * ptx::kWarpSize;
  const auto take = [&](int32_t(&to)[arrays::kSurfaceLanes], bool given) {
    for (uint32_t k = 0; k < ptx::kWarpSize; ++k) to[k] = given ? static_cast<int32_t>(slot[k]) : 0;
    slot += given ? ptx::kWarpSize : 0;
  };
  const int axes = axesOf(form.geometry);
  const bool isLayers = isLayered(form.geometry);
  if (isLayers) {
    take(row.z, true);
    for (int32_t& layer : row.z) layer = layer < 0 ? std::numeric_limits<int32_t>::max() : layer;
  }
  take(row.x, true);
  take(row.y, axes > 1);
  if (!isLayers) take(row.z, axes > 2);
  arrays::SurfaceOffsets found;
  if (!arrays::locateRow(view, row, form.bits / 8 * form.components, static_cast<arrays::Edge>(form.edge), found))
    return false;
  const auto move = [&](auto word) {
    using Word = decltype(word);
    loads ? loadRow<Word>(found, form.components, lanes)
          : storeRow<Word>(found, form.components, lanes + ptx::kTextureData * ptx::kWarpSize);
    return true;
  };
  switch (form.bits) {
    case 8:
      return move(uint8_t{});
    case 16:
      return move(uint16_t{});
    case 32:
      return move(uint32_t{});
    default:
      return move(uint64_t{});
  }
}

}  // namespace vg::backend::cpu
