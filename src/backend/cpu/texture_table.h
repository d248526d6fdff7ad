// The textures and surfaces of all emulated devices. A handle is the address of a slot that never goes away, so that
// kernels may hand in any number: one that is no living object is seen as such.
#pragma once

#include <cstdint>

#include "arrays/row_sampler.h"
#include "arrays/texture.h"

namespace vg::backend::cpu::textures {

struct Texture {
  Texture(const arrays::TextureView& seen, void* whose) : view(seen), plan(arrays::planOf(seen)), owner(whose) {}
  const arrays::TextureView view;
  const arrays::RowPlan plan;
  void* const owner;
};

// Throws std::bad_alloc. Never 0.
uint64_t add(const arrays::TextureView& view, void* owner);
// Null for what is no handle. The answer stays readable while no kernel of the same owner can be running.
const Texture* find(uint64_t handle);
// Requires: the handle lives, and nobody else removes it.
void remove(uint64_t handle);

}  // namespace vg::backend::cpu::textures
