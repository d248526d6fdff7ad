// What checked mode knows of memory besides the memory table: the history of allocations and who made them, variables
// of modules, pieces of the heap that kernels allocate from. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloc/memory_table.h"

namespace vg::check::allocations {

// Begins to watch. Requires: nothing is allocated yet; the table lives for ever.
void start(const alloc::MemoryTable& table);

// A block of memory that is divided into parts: only they may be touched. A part has a name, such as "variable x".
void beginBlock(uintptr_t address, size_t bytes);
// `lasting`: until the block ends; others may be removed by a kernel that runs.
void addPart(uintptr_t address, size_t bytes, std::string name, bool lasting);
void removePart(uintptr_t address);
void endBlock(uintptr_t address, size_t bytes);

enum class Verdict : uint8_t {
  Fine,
  Outside,   // of every living allocation
  ReadOnly,  // a store to memory that the host registered so
  Pageable,  // memory of the host that the device does not know
};
struct Answer {
  Verdict verdict = Verdict::Fine;
  uint64_t id = 0;  // of the allocation that is meant; 0 unknown
  // What is as good as the bytes that were asked about, until epoch() changes; 0 bytes: nothing.
  uintptr_t goodBase = 0;
  size_t goodBytes = 0;
};
Answer judge(uintptr_t address, size_t bytes, bool stores, bool reachesPageable);

// Whether programs use this memory on the host, too.
bool reachesHost(uintptr_t address);

// Changes whenever something is freed.
uint64_t epoch();

// Lines that say where an address lies: in which allocation, behind or before which, freed or not, and who made it.
std::vector<std::string> whereabouts(uintptr_t address, size_t bytes);

}  // namespace vg::check::allocations
