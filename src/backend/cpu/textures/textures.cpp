#include "backend/cpu/textures/textures.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "arrays/half_float.h"
#include "arrays/reading/sampler.h"
#include "arrays/reading/surface.h"
#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/textures/texture_lanes.h"
#include "backend/cpu/textures/texture_rows.h"
#include "backend/cpu/textures/texture_table.h"
#include "ptx/facts/texture_form.h"

namespace vg::backend::cpu {
namespace {

using arrays::Texel;

// Who is running, for faults.
struct Caller {
  ptx::BlockState* block;
  uint32_t warp, mask, line;
  [[noreturn]] void fault(ptx::TrapReason reason) const {
    block->launch->calls->trap(block, warp, mask, reason, line);
    __builtin_unreachable();
  }
};

uint64_t removalsOf(const ptx::BlockState* block) {
  return static_cast<const RunningLaunch*>(block->launch->owner)->texturesRemoved;
}

// The texture that a number names, by itself or through the variable at that address; null when there is none.
const textures::Texture* named(const ptx::BlockState* block, uint64_t number) {
  const uint64_t launched = removalsOf(block);
  if (const textures::Texture* texture = textures::find(number, launched)) return texture;
  if (!number || number % sizeof number) return nullptr;
  return textures::find(*reinterpret_cast<const volatile uint64_t*>(number), launched);  // wild addresses fault
}

// What a sampler variable of independent texturing asks in place of the texture's own settings.
arrays::SamplerState settingsOf(uint64_t address, const arrays::SamplerState& own) {
  const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(address);
  arrays::SamplerState state = own;
  if (!(word & ptx::kSamplerSet)) return state;
  if (word & ptx::kSamplerUnnormalized) state.normalized = false;
  state.linear = word & ptx::kSamplerLinear;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint64_t number = std::min<uint64_t>(word >> (axis * ptx::kSamplerAddressBits) & 7, 4);
    const arrays::Addressing mode = arrays::kAddressingByNumber[number];
    const bool clamps = !state.normalized && mode != arrays::Addressing::Border;  // wrapping is for normalised ones
    state.addressing[axis] = clamps ? arrays::Addressing::Clamp : mode;
  }
  return state;
}

arrays::SamplePoint pointOf(const TextureLane& lane, const TextureForm& form) {
  arrays::SamplePoint point;
  uint32_t slot = ptx::kTextureCoordinates;
  if (isLayered(form.geometry)) point.layer = lane.word(slot++);
  for (int axis = 0; axis < axesOf(form.geometry); ++axis) point.position[axis] = lane.real(slot++);
  point.cube = isCube(form.geometry);
  return point;
}

arrays::FetchPoint wholePointOf(const TextureLane& lane, const TextureForm& form) {
  arrays::FetchPoint point;
  uint32_t slot = ptx::kTextureCoordinates;
  if (isLayered(form.geometry)) point.layer = lane.word(slot++);
  for (int axis = 0; axis < axesOf(form.geometry); ++axis) point.position[axis] = lane.whole(slot++);
  point.levelGiven = form.levels == ptx::TextureLevels::Given;
  if (point.levelGiven) point.level = lane.whole(ptx::kTextureLevel);
  return point;
}

void addOffsets(const TextureLane& lane, const TextureForm& form, arrays::SamplePoint& point) {
  if (!form.has(ptx::kOffsets)) return;
  for (int axis = 0; axis < axesOf(form.geometry); ++axis)
    point.offset[axis] = static_cast<int>(lane.whole(ptx::kTextureOffset + static_cast<uint32_t>(axis)));
}

void giveTexel(const TextureLane& lane, const TextureForm& form, const TextureView& view, const Texel& texel) {
  const bool isFloat = arrays::channelsOf(view.format, view.asIntegers) == arrays::Channels::Float;
  uint64_t words[4];
  for (int c = 0; c < 4; ++c) words[c] = texel.words[c];
  if (form.has(ptx::kHalves | ptx::kPackedHalves) && isFloat)
    for (uint64_t& word : words) word = arrays::halfOfFloat(std::bit_cast<float>(static_cast<uint32_t>(word)));
  if (form.has(ptx::kPackedHalves)) {
    words[0] |= words[1] << 16;
    words[1] = words[2] | words[3] << 16;
  }
  for (uint32_t c = 0; c < 4; ++c) lane.set(c, words[c]);
  lane.set(ptx::kTextureResident, 1);
}

void read(const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  arrays::SamplerState other;
  const arrays::SamplerState* sampler = &view.sampler;
  if (form.has(ptx::kSampler)) {
    other = settingsOf(lane.bits(ptx::kTextureSampler), view.sampler);
    sampler = &other;
  }
  arrays::SamplePoint point;
  if (form.has(ptx::kWholeCoordinates)) {
    arrays::FetchPoint whole = wholePointOf(lane, form);
    addOffsets(lane, form, point);
    for (int axis = 0; axis < 3; ++axis) whole.position[axis] += point.offset[axis];
    return giveTexel(lane, form, view, arrays::fetch(view, *sampler, whole));
  }
  point = pointOf(lane, form);
  addOffsets(lane, form, point);
  if (form.operation == TextureOperation::Gather)
    return giveTexel(lane, form, view, arrays::gather(view, *sampler, point, form.detail));
  const arrays::Footprint footprint = footprintOf(lane, form, view, *sampler);
  point.level = footprint.level, point.ratio = footprint.ratio;
  std::copy_n(footprint.along, 2, point.along);
  point.biased = form.levels != ptx::TextureLevels::Base;
  giveTexel(lane, form, view, arrays::sample(view, *sampler, point));
}

uint64_t answer(const TextureView& view, const TextureForm& form, int64_t asked) {
  using ptx::TextureQuery;
  const auto last = static_cast<int64_t>(view.levels.size()) - 1;
  if (asked < 0 || asked > last) return 0;
  const arrays::Level& level = view.levels[static_cast<size_t>(asked)];
  switch (static_cast<TextureQuery>(form.detail)) {
    case TextureQuery::Width:
      return level.extent.width;
    case TextureQuery::Height:  // a line is a plane of one row to a texture, lines in layers one of so many
      if (view.kind == arrays::Kind::LineLayers) return view.layers;
      return view.surface ? level.extent.height : std::max<size_t>(level.extent.height, 1);
    case TextureQuery::Depth:
      if (view.kind == arrays::Kind::PlaneLayers) return view.layers;
      return view.kind == arrays::Kind::Box ? level.extent.depth : 0;
    case TextureQuery::Levels:
      return view.levels.size();
    case TextureQuery::ChannelDataType:
    case TextureQuery::ChannelOrder:
      return static_cast<uint64_t>(view.format);
    case TextureQuery::NormalizedCoordinates:
      return view.sampler.normalized;
    case TextureQuery::ArraySize:
      return arrays::layered(view.kind) ? view.layers : 0;
    case TextureQuery::Samples:
      return 1;
    case TextureQuery::FilterMode:
      return view.sampler.linear;
    case TextureQuery::AddressMode0:
      return arrays::numberOf(view.sampler.addressing[0]);
    case TextureQuery::AddressMode1:
      return arrays::numberOf(view.sampler.addressing[1]);
    case TextureQuery::AddressMode2:
      return arrays::numberOf(view.sampler.addressing[2]);
    case TextureQuery::ForceUnnormalized:
    case TextureQuery::MemoryLayout:
      return 0;
  }
  return 0;
}

// The bytes that a surface instruction means, or null: nothing to load, nothing to store.
std::byte* bytesOf(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view,
                   size_t bytes) {
  arrays::SurfacePoint point;
  uint32_t slot = ptx::kTextureCoordinates;
  if (isLayered(form.geometry)) point.z = lane.word(slot++);  // what is below zero is beyond the last one
  point.x = lane.whole(slot++) * (form.has(ptx::kElements) ? static_cast<int64_t>(view.unit.bytes) : 1);
  if (axesOf(form.geometry) > 1) point.y = lane.whole(slot++);
  if (axesOf(form.geometry) > 2) point.z = lane.whole(slot);
  const arrays::SurfaceBytes found = arrays::locate(view, point, bytes, static_cast<arrays::Edge>(form.edge));
  if (found.is == arrays::SurfaceBytes::Is::Outside) caller.fault(ptx::TrapReason::SurfaceOutOfRange);
  if (found.is == arrays::SurfaceBytes::Is::Misaligned) caller.fault(ptx::TrapReason::MisalignedAddress);
  return found.is == arrays::SurfaceBytes::Is::Memory ? found.memory : nullptr;
}

void load(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  const size_t each = form.bits / 8;
  const std::byte* memory = bytesOf(caller, lane, form, view, each * form.components);
  uint64_t values[4] = {};
  for (uint32_t c = 0; memory && c < form.components; ++c) std::memcpy(&values[c], memory + c * each, each);
  for (uint32_t c = 0; c < 4; ++c) lane.set(c, values[c]);
}

void store(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  const size_t each = form.bits / 8;
  std::byte* memory = bytesOf(caller, lane, form, view, each * form.components);
  for (uint32_t c = 0; memory && c < form.components; ++c) {
    const uint64_t value = lane.bits(ptx::kTextureData + c);
    std::memcpy(memory + c * each, &value, each);
  }
}

void storeFormatted(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  std::byte* memory = bytesOf(caller, lane, form, view, view.unit.bytes);
  if (!memory) return;
  Texel texel{};
  for (uint32_t c = 0; c < form.components; ++c) texel.words[c] = lane.word(ptx::kTextureData + c);
  std::byte element[16] = {};
  arrays::encode(texel, element, view.format, view.channels);
  std::memcpy(memory, element, view.unit.bytes);
}

template <class Word, class Number>
Word reduced(Word old, Word value, ptx::SurfaceReduction reduction) {
  const auto a = static_cast<Number>(old), b = static_cast<Number>(value);
  switch (reduction) {
    case ptx::SurfaceReduction::Add:
      return old + value;
    case ptx::SurfaceReduction::Min:
      return static_cast<Word>(std::min(a, b));
    case ptx::SurfaceReduction::Max:
      return static_cast<Word>(std::max(a, b));
    case ptx::SurfaceReduction::And:
      return old & value;
    case ptx::SurfaceReduction::Or:
      return old | value;
  }
  return old;
}

template <class Word, class Number>
void reduceAt(std::byte* memory, uint64_t value, ptx::SurfaceReduction reduction) {
  auto* const at = reinterpret_cast<Word*>(memory);
  Word old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, reduced<Word, Number>(old, static_cast<Word>(value), reduction), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

void reduce(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  std::byte* memory = bytesOf(caller, lane, form, view, form.bits / 8);
  if (!memory) return;
  const auto reduction = static_cast<ptx::SurfaceReduction>(form.detail);
  const uint64_t value = lane.bits(ptx::kTextureData);
  const bool isSigned = form.has(ptx::kSigned) ||
                        (form.has(ptx::kElements) && arrays::channelsOf(view.format, true) == arrays::Channels::Signed);
  if (form.bits == 64)
    isSigned ? reduceAt<uint64_t, int64_t>(memory, value, reduction)
             : reduceAt<uint64_t, uint64_t>(memory, value, reduction);
  else
    isSigned ? reduceAt<uint32_t, int32_t>(memory, value, reduction)
             : reduceAt<uint32_t, uint32_t>(memory, value, reduction);
}

// A handle that the application made is of no type to istypep; that of a module's variable is.
bool isType(const Caller& caller, const TextureForm& form, uint64_t number, const textures::Texture* texture) {
  if (!texture || form.detail != 0 || texture == textures::find(number, removalsOf(caller.block))) return false;
  return texture->view.surface == form.has(ptx::kOfSurface);
}

// What texture 0 reads as.
void giveNothing(const TextureLane& lane) {
  for (uint32_t c = 0; c < 4; ++c) lane.set(c, 0);
  lane.set(ptx::kTextureResident, 0);
}

bool ofSurface(const TextureForm& form) {
  return form.operation == TextureOperation::Load || form.operation == TextureOperation::Store ||
         form.operation == TextureOperation::StoreFormatted || form.operation == TextureOperation::Reduce;
}

void access(const Caller& caller, const TextureLane& lane, const TextureForm& form, const TextureView& view) {
  switch (form.operation) {
    case TextureOperation::Sample:
    case TextureOperation::Gather:
      return read(lane, form, view);
    case TextureOperation::Query:
      return lane.set(
          0, answer(view, form, form.levels == ptx::TextureLevels::Given ? lane.whole(ptx::kTextureLevel) : 0));
    case TextureOperation::Load:
      return load(caller, lane, form, view);
    case TextureOperation::Store:
      return store(caller, lane, form, view);
    case TextureOperation::StoreFormatted:
      return storeFormatted(caller, lane, form, view);
    case TextureOperation::Reduce:
      return reduce(caller, lane, form, view);
    case TextureOperation::IsType:
      return;
  }
}

// The number that all lanes of `mask` name; 0 when they name several.
uint64_t commonNumber(uint32_t mask, const uint64_t* lanes) {
  const uint64_t first = lanes[std::countr_zero(mask)];
  uint64_t differ = 0;
  for (uint32_t k = 0; k < ptx::kWarpSize; ++k) differ |= (mask >> k & 1) ? lanes[k] ^ first : 0;
  return differ ? 0 : first;
}

// Lanes that ask for another sample than the first, which is the only one.
uint32_t lanesWithoutSample(const TextureForm& form, uint32_t mask, const uint64_t* lanes) {
  if (form.operation != TextureOperation::Sample || form.detail == 0) return 0;
  uint32_t without = 0;
  for (uint32_t k = 0; k < ptx::kWarpSize; ++k)
    without |= static_cast<uint32_t>(static_cast<uint32_t>(lanes[ptx::kTextureExtra * ptx::kWarpSize + k]) != 0) << k;
  return without & mask;
}

}  // namespace

const ptx::TextureRows* textureRows(ptx::BlockState* block, uint64_t handle) {
  static constexpr ptx::TextureRows kNone;
  const textures::Texture* const texture = handle ? textures::find(handle, removalsOf(block)) : nullptr;
  return texture ? &texture->rows : &kNone;
}

void accessTexture(ptx::BlockState* block, uint32_t warp, uint32_t mask, uint64_t word, uint32_t line,
                   uint64_t* lanes) {
  const TextureForm form = ptx::formOf(word);
  uint64_t number = mask ? commonNumber(mask, lanes) : 0;
  const textures::Texture* texture = number ? named(block, number) : nullptr;
  uint32_t left = mask;
  const uint32_t without = lanesWithoutSample(form, mask, lanes);
  if (texture && isRow(form, *texture)) left = readRow(form, *texture, mask, lanes);
  if (texture && texture->view.surface && moveRow(form, texture->view, mask, lanes)) return;
  for (; left; left &= left - 1) {
    const auto index = static_cast<uint32_t>(std::countr_zero(left));
    const Caller caller{block, warp, 1u << index, line};
    const TextureLane lane(lanes + index);
    if (!texture || lane.bits(ptx::kTextureHandle) != number) {
      number = lane.bits(ptx::kTextureHandle);
      texture = named(block, number);
    }
    if (form.operation == TextureOperation::IsType) {
      lane.set(0, isType(caller, form, number, texture));
      continue;
    }
    if (!number && reads(form)) {
      giveNothing(lane);
      continue;
    }
    const bool fits =
        texture && (form.operation == TextureOperation::Query || texture->view.surface == ofSurface(form));
    if (!fits) caller.fault(ptx::TrapReason::NoTexture);
    access(caller, lane, form, texture->view);
  }
  for (uint32_t rest = without; rest; rest &= rest - 1)
    for (uint32_t c = 0; c < 4; ++c) TextureLane(lanes + std::countr_zero(rest)).set(c, 0);
}

}  // namespace vg::backend::cpu
