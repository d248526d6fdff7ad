// A launch as the compute engine needs it: where the code is, what a thread and a block take, how many there are; and
// the two pieces of memory that the hardware reads for it, the descriptor and constant bank 0. For Hopper.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "backend/nvidia/compute/qmd.h"
#include "backend/nvidia/driver/generation.h"

namespace vg::backend::nvidia {

// Of a kernel that is in device memory.
struct KernelCode {
  uint64_t program = 0;       // address, 128-byte aligned
  uint32_t programBytes = 0;  // of the kernel itself; 0: not known
  uint32_t registers = 0, barriers = 0;
  uint32_t localBytes = 0;     // a thread; 0: none, not even a stack
  uint32_t sharedBytes = 0;    // a block: what the system reserves, and static
  uint32_t parameterBase = 0;  // in bank 0
  uint32_t bank0Bytes = 0;
  struct Bank {
    uint64_t address = 0;  // 64-byte aligned
    uint32_t bytes = 0;    // 0: no such bank
  };
  std::array<Bank, Qmd::kBanks> banks;  // but 0
};

struct Grid {
  uint32_t blocks[3] = {1, 1, 1};
  uint32_t threads[3] = {1, 1, 1};  // a block
  uint32_t cluster[3] = {1, 1, 1};  // blocks
  bool clusters = false;            // the kernel knows of clusters, if of one block each
  uint32_t dynamicShared = 0;       // bytes a block
  bool samplersApart = false;       // textures are read with samplers of their own numbers
  uint32_t sharedPreferred = 0;     // bytes a multiprocessor should keep for blocks; at least one block fits anyway
  uint64_t number = 0;              // %gridid; 0: a number of the channel's
  uint64_t graph = 0;               // %current_graph_exec
  unsigned urgency = 0;             // its blocks go before those of less urgent grids; less than kUrgencies
  static constexpr unsigned kUrgencies = 6;
  // Pairs of multiprocessors that the grid keeps away from (GpuFacts::tpcs); none: it may have all.
  std::array<uint32_t, 4> disabledTpcs{};
  uint64_t workspace = 0;  // of a cooperative grid: {u32 bytes, u32 barrier}, zeroed
};

// What happens when a grid is done: its number is written in up to two places, and another grid begins. 0: not that.
struct GridEnd {
  uint64_t number = 0;
  uint64_t host = 0;    // 16-byte aligned: the number, then the time; after all that the grid wrote
  uint64_t device = 0;  // the number alone, for channels that wait
  uint64_t next = 0;    // the other grid's descriptor
  uint64_t count = 0;   // in place of `device`: a word of 32 bits to which 1 is added
  // The next grid begins when all blocks have said so or ended, and waits for this latch, which no other grid under way
  // has: until this one is done.
  uint32_t latch = 0;
  uint32_t waitsFor = 0;  // the latch that its own blocks wait for, when they wait
  // What constant caches may hold of its banks is what is there.
  bool keepsConstants = false;
};

// The numbers of latches: above, which channel's, counted from 1, or of grids that belong to no channel; below, which
// one of those.
inline constexpr unsigned kLatchBits = 24;
inline constexpr uint32_t kLatchesOfNone = 255u << kLatchBits;

// What all grids of a GPU share.
struct ComputeFacts {
  const Generation* generation = &kHopper;  // a driven one
  uint64_t sharedWindow = 0;                // 4 GiB where generic addresses mean shared memory
  uint64_t localWindow = 0;                 // 16 MiB where they mean local memory
  uint32_t multiprocessors = 0;
  uint64_t descriptions = 0;  // of textures and surfaces, by number (texture_description.h)
};

inline constexpr size_t kSharedWindowBytes = size_t{1} << 32, kLocalWindowBytes = size_t{1} << 24;
// The driver's words in front of the parameters: as many in every generation that is driven.
inline constexpr uint32_t kDriverWords = kHopper.driverWords;
static_assert(std::all_of(std::begin(kGenerations), std::end(kGenerations),
                          [](const Generation& row) { return !row.driven || row.driverWords == kDriverWords; }));
// Of a thread's local memory, at the upper end of the window, above the stack.
inline constexpr uint32_t kLocalReserve = 0x240;

// Bytes of shared memory a multiprocessor: the smallest split that has room for `bytes`; 0 when none has.
uint32_t sharedConfigFor(const Generation& generation, uint32_t bytes);

// Fills [bank, bank + kDriverWords), which goes to `bank0`, the address of bank 0.
void writeDriverWords(std::byte* bank, uint64_t bank0, const KernelCode& code, const Grid& grid,
                      const ComputeFacts& facts);
// Of a grid of nothing, which writes `number` to `address` when it is scheduled.
Qmd describeGoAhead(const Generation& generation, uint64_t address, uint64_t number);
// The same that writes the time too, and has the descriptor at `next` scheduled behind it.
Qmd describeStamp(const Generation& generation, uint64_t address, uint64_t number, uint64_t next);
// `bank0`: its address. Requires: a valid launch.
Qmd describe(const Generation& generation, const KernelCode& code, const Grid& grid, uint64_t bank0,
             const GridEnd& end);

}  // namespace vg::backend::nvidia
