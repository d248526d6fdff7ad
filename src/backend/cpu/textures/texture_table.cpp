#include "backend/cpu/textures/texture_table.h"

#include <utility>

#include "base/mutex.h"
#include "base/slab.h"

namespace vg::backend::cpu::textures {
namespace {

constinit Slab<Texture> slab;

// Textures that were removed stay readable until this many others were.
constexpr size_t kResting = 4096;
constinit Mutex restingMutex;
constinit Texture* resting[kResting] VG_GUARDED_BY(restingMutex) = {};
constinit std::atomic<uint64_t> removed{0};

}  // namespace

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
