// What code that checks its accesses (llvm/emit/access_checks.h) shares with whoever judges them. Plain C layouts, as
// all of kernel_abi.h; change kKernelAbiVersion with any of them.
#pragma once

#include <bit>
#include <cstdint>

namespace vg::ptx {

inline constexpr uint32_t kCheckedRanges = 64;

// Memory that a kernel may touch, all of it and in every way: `room` is its size and one; 0: none is known.
struct CheckedRange {
  uint64_t base = 0, room = 0;

  bool holds(uint64_t address, uint64_t bytes) const {
    return bytes < room && address - base <= room - 1 - bytes && address >= base;
  }
};

// A load of shared memory by lanes in one row, which the code has found well, for when somebody asks: `form` is an
// AccessForm.
struct ReadNote {
  uint64_t start, form;            // start: of the row's first lane
  uint32_t mask, warp, row, line;  // mask: of the warp
};
static_assert(sizeof(ReadNote) == 32);

// What was found good lately, by the origins of addresses. One a block that runs; belongs to its worker.
struct CheckedRanges {
  CheckedRange ranges[kCheckedRanges];
  // Where the next such load is noted, up to the end; equal: they are to be told of at once.
  ReadNote *next = nullptr, *end = nullptr;
  uint64_t grid = 0, epoch = 0;  // that they were found in
  void* owner = nullptr;         // the judge's own, of the block
};

// How the addresses of lanes are told, in AccessForm::lanes: one by one, or by the first of each row of lanes, which
// are side by side or all at one place. Above that: log2 of the lanes of a row.
enum class AccessLanes : uint8_t { EachAlone, SideBySide, OnePlace };
inline constexpr uint8_t kAccessLanes = 3, kRowLanesShift = 2;
// The code has found the access inside of its range and aligned.
inline constexpr uint8_t kFound = 1 << 7;

// In AccessForm::range of an access to shared memory: the address is computed from the variable of this slot of
// SharedLayout, in the bits below; without it, from somewhere else.
inline constexpr uint8_t kOfVariable = 1 << 7;

// An access of a warp, as compiled code names it.
struct AccessForm {
  uint8_t kind = 0;           // Access::Kind
  uint8_t space = 0;          // Space of the instruction's own word
  uint8_t alignmentBits = 0;  // log2
  uint8_t range = 0;          // its place among the ranges
  uint8_t bytes = 0;          // of a lane
  uint8_t strong = 0;         // Access::strong
  uint8_t elementBytes = 0;   // of what is stored: elements of all lanes, one kind after the other; 0: not told
  uint8_t lanes = 0;          // AccessLanes and kFound
};
static_assert(sizeof(AccessForm) == sizeof(uint64_t));
inline uint64_t wordOf(const AccessForm& form) { return std::bit_cast<uint64_t>(form); }
inline AccessForm accessFormOf(uint64_t word) { return std::bit_cast<AccessForm>(word); }

// Where lanes of a warp meet.
enum class Meeting : uint32_t {
  Arrives,    // at a barrier of the block, and goes on
  Waits,      // at one
  Leaves,     // one that it has waited at
  Warp,       // bar.warp.sync, which orders accesses
  Operation,  // a shuffle, a vote and the like
  // No meeting: lanes end a group of cp.async, wait for all but as many as `barrier` says, or for all copies.
  CopiesCommit,
  CopiesWait,
  CopiesWaitForAll,
};

}  // namespace vg::ptx
