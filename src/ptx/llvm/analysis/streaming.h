// Stores that may go past the caches. A large result that nothing reads before the kernel ends costs its memory twice
// otherwise: each line is read before it is overwritten, and pushes out what the kernel still wants to read.
#pragma once

#include <set>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

struct StreamedStores {
  std::set<const Instruction*> stores;
  uint32_t bytesPerThread = 0;  // that they write together, at most
};

// Rows of whole lines that each thread stores once, through pointers that the kernel is given and loads nothing from.
// None in kernels that tell other threads of the machine while they run: such stores arrive when they like.
StreamedStores streamedStores(const Program& program);

}  // namespace vg::ptx::gen
