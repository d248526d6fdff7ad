// The textures and surfaces of all emulated devices. A handle is the address of a slot that never goes away, so that
// kernels may hand in any number: one that is no living object is seen as such. An application may destroy a texture
// while kernels that it launched before still read it; to those it lives on.
#pragma once

#include <atomic>
#include <cstdint>

#include "arrays/reading/row_sampler.h"
#include "arrays/reading/texture.h"
#include "ptx/abi/texture_abi.h"

namespace vg::backend::cpu::textures {

// A texture of one or two axes as compiled code reads it.
ptx::TextureRows rowsOf(const arrays::RowPlan& plan);

struct Texture {
  Texture(const arrays::TextureView& seen, void* whose)
      : view(seen), plan(arrays::planOf(seen)), rows(rowsOf(plan)), owner(whose) {}
  const arrays::TextureView view;
  const arrays::RowPlan plan;
  const ptx::TextureRows rows;
  void* const owner;
  std::atomic<uint64_t> removed{0};  // what removals() was from then on; 0: it lives
};

// Throws std::bad_alloc. Never 0.
uint64_t add(const arrays::TextureView& view, void* owner);
// How many were removed so far.
uint64_t removals();
// As a kernel sees it that was launched when there were `launched` removals: null for what is no handle or was removed
// before. The answer stays readable until thousands of others are removed.
const Texture* find(uint64_t handle, uint64_t launched);
// Requires: the handle lives, and nobody else removes it.
void remove(uint64_t handle);

}  // namespace vg::backend::cpu::textures
