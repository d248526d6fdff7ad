// Pieces of the device's heap that kernels allocated and none freed: they are told of when the heap ends, or the
// process (tool leaks). And what kernels free that is none. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/tools.h"

namespace vg::ptx {
struct Module;
}

namespace vg::check::heap_leaks {

inline bool on() { return wants(Tool::Leaks); }

// Who allocates: the kernel by its name in the PTX, the PTX line (0: not known), the module where that is known.
struct Place {
  const char* kernel;
  const ptx::Module* module;
  uint32_t line;
};
void allocated(uint64_t piece, uint64_t bytes, const Place& place);
void released(uint64_t piece);
// A kernel frees what is no piece, or one that was freed before (tool memory).
void freedWrongly(uint64_t address, const Place& place);
// The heap that holds these addresses ends with its context.
void heapEnds(uint64_t start, uint64_t bytes);
// The process ends.
void reportAll();

}  // namespace vg::check::heap_leaks
