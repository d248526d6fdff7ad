// How the places of an object that name others are filled in. Both are offsets in the piece that the linker makes,
// which begins at a page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::ptx::gen::relocations {

// `at`: the bytes to change, which lie at `where`. False: nobody knows this type, or the target is too far away.
bool applyX86(uint32_t type, std::byte* at, uint64_t target, uint64_t where);
bool applyArm(uint32_t type, std::byte* at, uint64_t target, uint64_t where);

}  // namespace vg::ptx::gen::relocations
