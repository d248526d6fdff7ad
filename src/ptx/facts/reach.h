// Which memory outside of its own windows a kernel may touch, as far as that is asked before an access: the reference
// interpreter and the calls that compiled code makes ask always; compiled loads, stores and atomics where the code was
// made to (llvm/analysis/reach.h), which is where the device does not reach memory that nobody registered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory/own_memory.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/abi/reach_abi.h"

namespace vg::ptx {

inline constexpr size_t kCooperativeWorkspace = 256;  // bytes; device code uses the first few

// Whether any byte there is memory that devices reach without a look at who else has it: allocations, and what the
// application registered. Told once, before the first launch; without it everything is known. Lock-free.
using KnownMemory = bool (*)(uint64_t address, uint64_t bytes);
// Addresses of which all that can be touched is known memory, as is all within kReachSlack of them; 0 bytes: none.
struct KnownWindow {
  uint64_t start = 0, bytes = 0;
};
void tellKnownMemory(KnownMemory known, KnownWindow (*window)());
bool isKnownMemory(uint64_t address, uint64_t bytes);
KnownWindow knownWindow();
// What kernels have besides: their heaps, and the parameters that they write for kernels they launch.
void addKernelMemory(const void* start, size_t bytes);
void removeKernelMemory(const void* start);

// False for what is the library's own, which no kernel may touch; and for memory of the application that nobody
// registered, unless the device reaches that (kReachesPageable). Local memory is the caller's to know.
bool mayReach(const BlockState& block, uint64_t address, uint64_t bytes);

}  // namespace vg::ptx
