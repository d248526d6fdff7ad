// Who touched global memory last: a shadow of it, in granules of 128 bytes.
//
// Of each word of 4 bytes (of each byte where parts of words are touched) the last access that wrote it is kept, and
// two of those that read it since, of different blocks where there are such. A granule whose words are touched by rows
// of lanes, or by one party, keeps each such access in one place for all of its words. Memory that nobody touched costs
// nothing; all together takes at most a quarter of the machine's memory, and what comes then is not followed.
//
// All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "alloc/memory_table.h"
#include "check/races/clocks.h"
#include "ptx/interpreter/observer.h"

namespace vg::check::global_memory {

// One access: the block (or the copy), the thread in it, and the clock of that thread since the block began; 0: nobody.
class Who {
 public:
  static constexpr unsigned kThreadBits = 10, kClockBits = 21;
  static constexpr uint32_t kLastClock = (1u << kClockBits) - 1;

  constexpr Who() = default;
  constexpr Who(uint64_t id, uint32_t thread, uint32_t clock)
      : word_(id << (kThreadBits + kClockBits) | uint64_t{thread} << kClockBits | clock) {}
  uint64_t id() const { return word_ >> (kThreadBits + kClockBits); }
  uint32_t thread() const { return static_cast<uint32_t>(word_ >> kClockBits) & ((1u << kThreadBits) - 1); }
  uint32_t clock() const { return static_cast<uint32_t>(word_) & kLastClock; }
  bool anybody() const { return word_ != 0; }
  bool sameThread(Who other) const { return !((word_ ^ other.word_) >> kClockBits); }
  Who plus(int32_t threads) const {
    Who who = *this;
    who.word_ += static_cast<uint64_t>(int64_t{threads}) << kClockBits;
    return who;
  }

 private:
  uint64_t word_ = 0;
};

// Where the code of an access is: its PTX line, and what it was.
using Where = uint32_t;
inline constexpr Where kStrong = 1u << 31, kCopy = 1u << 30, kFreed = 1u << 29, kAllocated = 1u << 28;
inline constexpr Where kOfBlock = 1u << 23;  // of kStrong: with the scope of a block, not meant for those of others
inline constexpr Where kLine = kOfBlock - 1;

inline Where whereOf(const ptx::Access& access) {
  const Where line = access.instruction ? access.instruction->line & kLine : 0;
  if (!access.strong) return line;
  return line | kStrong | (access.instruction && access.instruction->has(ptx::Mod::Cta) ? kOfBlock : 0);
}

// Who accesses, and what is ordered before that.
class Party {
 public:
  Party(uint64_t id, uint64_t horizon, uint32_t floor) : id_(id), horizon_(horizon), floor_(floor) {}
  uint64_t id() const { return id_; }
  uint64_t horizon() const { return horizon_; }
  uint32_t floor() const { return floor_; }
  // The first id of the work that it belongs to; 0: of none that the host could wait for.
  uint64_t work() const { return work_; }
  // Without looking long.
  bool surely(Who earlier, Who now) const {
    return earlier.id() <= horizon_ || earlier.sameThread(now) || (earlier.id() == id_ && earlier.clock() < floor_);
  }
  virtual bool ordered(Who earlier, uint32_t thread) const = 0;
  // Whether all that a block or copy did is ordered before all that this one does; false: look closer.
  virtual bool orderedWhole(uint64_t) const { return false; }

 protected:
  ~Party() = default;
  void identify(uint64_t id, uint64_t horizon, uint32_t floor, uint64_t work = 0) {
    work_ = work;
    id_ = id;
    horizon_ = horizon;
    floor_ = floor;
  }
  void setFloor(uint32_t floor) { floor_ = floor; }

 private:
  uint64_t id_, horizon_;  // everything up to the horizon is over
  uint64_t work_ = 0;
  uint32_t floor_;  // what its own threads did before this clock is known to all of them
};

inline constexpr uint32_t kAllLanes = ~0u;

// Bytes that lanes touch one after the other, `laneBytes` each (a power of two); 0: one thread touches all, or reads
// all as the next one does (`byTwo`). `lanes`: those that touch, from the first on, where elements are words or longer.
struct Row {
  uint64_t address = 0, bytes = 0, laneBytes = 0;
  Who first;  // of the first lane
  bool reads = false, writes = false;
  Where where = 0;
  bool outside = false;  // of the windows: shared memory of a cluster
  uint32_t lanes = kAllLanes;
  bool byTwo = false;
};
inline Row rowOf(const ptx::Access& access, uint64_t address, Who first) {
  Row row;
  row.address = address;
  row.bytes = access.bytes;
  row.first = first;
  row.reads = access.kind != ptx::Access::Kind::Store;
  row.writes = access.kind != ptx::Access::Kind::Load;
  row.where = whereOf(access);
  return row;
}
// The same of lanes, `laneBytes` each, or of one place (0): then kAllLanes means one of them, else it and the next one.
inline Row rowOf(const ptx::Access& access, uint64_t address, Who first, uint64_t laneBytes, uint32_t lanes) {
  Row row = rowOf(access, address, first);
  row.laneBytes = laneBytes;
  row.lanes = lanes;
  row.byTwo = !laneBytes && lanes != kAllLanes;
  return row;
}
struct Conflict {
  uint64_t address = 0;
  Who now, earlier;
  Where where = 0;  // of the earlier one
  bool earlierWrote = false, writes = false, outside = false;
};
// Notes accesses. False when one is in conflict with an earlier one: then, with `conflict`, all are noted and the first
// is told; without, what comes behind it is left for the caller to do again.
bool touch(const Row& row, const Party& party, Conflict* conflict);
// Whether one is in conflict, without a note of it.
bool conflicts(const Row& row, const Party& party, Conflict& conflict);
// Has the processor fetch what is known of the addresses of these lanes, which are about to be touched one by one.
void fetch(const uint64_t* addresses, uint32_t lanes);
// Who wrote these bytes last, as far as they have one writer.
Who writerOf(uint64_t address, Where* where);

// A shadow of its own, of memory that one thread at a time looks at: addresses count from 0.
class Region {
 public:
  Region();
  ~Region();
  // At least so many bytes. What it holds of earlier accesses stays.
  void reserve(uint64_t bytes);
  bool touch(const Row& row, const Party& party, Conflict* conflict);

 private:
  struct Granules;
  std::unique_ptr<Granules> granules_;
};

// Begins to watch. False when the system has no addresses for it. Requires: the table is reserved.
bool start(const alloc::MemoryTable& table);
// The range, of whole words, begins anew: nobody has touched it.
void forget(uint64_t address, uint64_t bytes, bool outside = false);

}  // namespace vg::check::global_memory
