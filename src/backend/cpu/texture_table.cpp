#include "backend/cpu/texture_table.h"

#include <mutex>
#include <utility>

#include "base/slab.h"

namespace vg::backend::cpu::textures {
namespace {

constinit Slab<Texture> slab;

// Textures that were removed stay readable until this many others were: a kernel that still uses one, which the
// application should have waited for, then reads what it read before.
constexpr size_t kResting = 256;
constinit std::mutex restingMutex;  // guards what follows
constinit Texture* resting[kResting] = {};
constinit size_t nextResting = 0;

}  // namespace

uint64_t add(const arrays::TextureView& view, void* owner) {
  return reinterpret_cast<uint64_t>(slab.create(view, owner));
}

const Texture* find(uint64_t handle) { return slab.find(reinterpret_cast<const void*>(handle)); }

void remove(uint64_t handle) {
  Texture* texture = slab.find(reinterpret_cast<const void*>(handle));
  if (!texture || !slab.retire(texture)) return;
  const std::lock_guard lock(restingMutex);
  Texture* const oldest = std::exchange(resting[nextResting], texture);
  nextResting = (nextResting + 1) % kResting;
  if (oldest) slab.recycle(oldest);
}

}  // namespace vg::backend::cpu::textures
