#include "backend/cpu/texture_table.h"

#include "base/slab.h"

namespace vg::backend::cpu::textures {
namespace {

constinit Slab<Texture> slab;

}  // namespace

uint64_t add(const arrays::TextureView& view, void* owner) {
  return reinterpret_cast<uint64_t>(slab.create(view, owner));
}

const Texture* find(uint64_t handle) { return slab.find(reinterpret_cast<const void*>(handle)); }

void remove(uint64_t handle) {
  if (Texture* texture = slab.find(reinterpret_cast<const void*>(handle))) slab.destroy(texture);
}

}  // namespace vg::backend::cpu::textures
