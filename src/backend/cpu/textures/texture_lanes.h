// A texture instruction as one lane of it has it: operands and results in slots, and what its form says of them.
#pragma once

#include <bit>
#include <cstdint>

#include "arrays/reading/footprint.h"
#include "arrays/reading/sampler.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/texture_form.h"

namespace vg::backend::cpu {

using arrays::TextureView;
using ptx::TextureForm;
using ptx::TextureGeometry;
using ptx::TextureOperation;

// One lane's slots.
class TextureLane {
 public:
  explicit TextureLane(uint64_t* first) : first_(first) {}
  uint64_t bits(uint32_t slot) const { return first_[slot * ptx::kWarpSize]; }
  uint32_t word(uint32_t slot) const { return static_cast<uint32_t>(bits(slot)); }
  int64_t whole(uint32_t slot) const { return static_cast<int32_t>(word(slot)); }
  float real(uint32_t slot) const { return std::bit_cast<float>(word(slot)); }
  void set(uint32_t slot, uint64_t value) const { first_[slot * ptx::kWarpSize] = value; }

 private:
  uint64_t* const first_;
};

inline bool reads(const TextureForm& form) {
  return form.operation == TextureOperation::Sample || form.operation == TextureOperation::Gather;
}

// The level and the line that a lane asks for. Requires: no whole coordinates.
inline arrays::Footprint footprintOf(const TextureLane& lane, const TextureForm& form, const TextureView& view,
                                     const arrays::SamplerState& sampler) {
  arrays::Footprint footprint;
  if (form.levels == ptx::TextureLevels::Given) footprint.level = lane.real(ptx::kTextureLevel);
  if (form.levels != ptx::TextureLevels::Gradients) return footprint;
  float position[3] = {}, dx[3] = {}, dy[3] = {};
  const uint32_t first = ptx::kTextureCoordinates + isLayered(form.geometry);
  for (uint32_t axis = 0; axis < static_cast<uint32_t>(axesOf(form.geometry)); ++axis) {
    position[axis] = lane.real(first + axis);
    dx[axis] = lane.real(ptx::kTextureGradientX + axis);
    dy[axis] = lane.real(ptx::kTextureGradientY + axis);
  }
  return arrays::footprintOf(view, sampler, position, dx, dy);
}

}  // namespace vg::backend::cpu
