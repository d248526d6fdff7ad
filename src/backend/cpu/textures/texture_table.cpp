#include "backend/cpu/textures/texture_table.h"

#include <optional>
#include <utility>

#include "base/memory/slab.h"
#include "base/sync/mutex.h"

namespace vg::backend::cpu::textures {
namespace {

constinit Slab<Texture> slab;

// Textures that were removed stay readable until this many others were.
constexpr size_t kResting = 4096;
constinit Mutex restingMutex;
constinit Texture* resting[kResting] VG_GUARDED_BY(restingMutex) = {};
constinit std::atomic<uint64_t> removed{0};

// Whether reads by coordinates are such that code for elements in rows gives their results: what sampler.h and
// row_sampler.h say of levels, layers and borders does not come up.
bool isPlain(const arrays::RowPlan& plan) {
  constexpr int32_t kLargest = 1 << 22;  // floats have all numbers up to there, and their 256ths as 32 bits
  const arrays::RowLevel& level = plan.levels[0];
  const bool isAligned = (reinterpret_cast<uintptr_t>(level.base) | level.rowPitch) % sizeof(uint32_t) == 0;
  return plan.usable && plan.samples && !plan.layered && !plan.cube && plan.axes <= 2 && plan.levelCount == 1 &&
         plan.chooses == arrays::RowPlan::Levels::First && isAligned && level.size[0] < kLargest &&
         level.size[1] < kLargest;
}

std::optional<ptx::TexelDecoding> decodingOf(const arrays::RowPlan& plan) {
  switch (plan.decoding) {
    case arrays::RowDecoding::Word:
      return ptx::TexelDecoding::Word;
    case arrays::RowDecoding::Unsigned:
      return ptx::TexelDecoding::Unsigned;
    case arrays::RowDecoding::Signed:
      return ptx::TexelDecoding::Signed;
    case arrays::RowDecoding::Unorm:
      return ptx::TexelDecoding::Unorm;
    default:
      return {};
  }
}

}  // namespace

ptx::TextureRows rowsOf(const arrays::RowPlan& plan) {
  ptx::TextureRows rows;
  const std::optional<ptx::TexelDecoding> decoding = decodingOf(plan);
  if (!decoding || !isPlain(plan)) return rows;
  ptx::TextureKind kind;
  kind.known = true;
  kind.linear = plan.linear;
  kind.normalized = plan.normalized;
  kind.axes = plan.axes;
  kind.channels = plan.channels;
  kind.channelBytes = plan.channelBytes;
  kind.decoding = *decoding;
  kind.clamps = true;
  for (unsigned axis = 0; axis < plan.axes; ++axis) {
    kind.clamps &= plan.addressing[axis] == arrays::Addressing::Clamp;
    rows.last[axis] = plan.levels[0].size[axis] - 1;
    rows.lastReal[axis] = static_cast<float>(rows.last[axis]);
    rows.size[axis] = static_cast<float>(plan.levels[0].size[axis]);
  }
  rows.base = plan.levels[0].base;
  rows.rowPitch = plan.levels[0].rowPitch;
  rows.kind = ptx::bitsOf(kind);
  return rows;
}

uint64_t add(const arrays::TextureView& view, void* owner) {
  return reinterpret_cast<uint64_t>(slab.create(view, owner));
}

uint64_t removals() { return removed.load(std::memory_order_acquire); }

const Texture* find(uint64_t handle, uint64_t launched) {
  const Texture* texture = slab.findRetiredToo(reinterpret_cast<const void*>(handle));
  if (!texture) return nullptr;
  const uint64_t end = texture->removed.load(std::memory_order_acquire);
  return end == 0 || end > launched ? texture : nullptr;
}

void remove(uint64_t handle) {
  Texture* texture = slab.find(reinterpret_cast<const void*>(handle));
  if (!texture) return;
  const MutexLock lock(restingMutex);
  if (!slab.retire(texture)) return;
  const uint64_t count = removed.load(std::memory_order_relaxed) + 1;
  texture->removed.store(count, std::memory_order_release);
  removed.store(count, std::memory_order_release);
  Texture* const oldest = std::exchange(resting[count % kResting], texture);
  if (oldest) slab.recycle(oldest);
}

}  // namespace vg::backend::cpu::textures
