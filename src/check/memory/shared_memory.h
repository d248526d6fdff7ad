// The shared memory of a running block: who touched it last (global_memory.h), and whether it was ever written.
//
// Of the readers since the last write two are kept, of different warps where there are such: no report is ever false,
// and one that needs a third reader may be missed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/memory/global_memory.h"
#include "check/races/async_copies.h"
#include "check/races/clocks.h"
#include "ptx/interpreter/observer.h"
#include "ptx/text/op.h"

namespace vg::check {

// Two accesses of different threads to the same byte that nothing orders.
struct Hazard {
  enum class Kind : uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };
  Kind kind = Kind::ReadAfterWrite;
  uint32_t offset = 0;  // of the first byte
  uint32_t thread = 0, other = 0;
  const ptx::Instruction* at = nullptr;
  uint32_t otherLine = 0;    // of the PTX
  bool otherCopies = false;  // asynchronously
};

class SharedMemory final : public global_memory::Party {
 public:
  SharedMemory() : Party(0, 0, 0) {}
  // A new block with so many bytes.
  void reset(uint32_t bytes);
  // Notes an access. True when it is in conflict with an earlier one.
  bool touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks, Hazard& hazard);
  // The same of consecutive threads, `laneBytes` each, or of all of them to one place (0). True: each is to be looked
  // at.
  bool touchRow(const ptx::Access& access, uint32_t offset, uint64_t laneBytes, uint32_t thread, uint32_t lanes,
                const Clocks& clocks) {
    if (isAsyncCopy(access)) return touchByCopies(access, offset, laneBytes, thread, lanes, clocks);
    return touchBy(global_memory::rowOf(access, offset, who(thread, clocks), laneBytes, lanes), clocks, nullptr);
  }
  // The same of a bulk copy that a thread begins, of which a barrier object tells.
  bool touchByBulk(const ptx::Access& access, uint32_t offset, uint32_t thread, uint64_t barrier, const Clocks& clocks,
                   Hazard& hazard);
  // Copies that run beside their threads.
  AsyncCopies& copies() { return copies_; }
  // A read that nothing written is in conflict with, of a PTX line.
  void noteRead(uint32_t offset, uint64_t bytes, uint32_t thread, uint32_t line, const Clocks& clocks);
  // How many bytes from the first on were written.
  bool isWritten() const { return !unwritten_; }
  uint32_t writtenBytes(uint32_t offset, uint32_t bytes) const {
    return unwritten_ ? writtenAmong(offset, bytes) : bytes;
  }
  void written(uint32_t offset, uint32_t bytes);

  bool ordered(global_memory::Who earlier, uint32_t thread) const override;

 private:
  // What cp.async writes.
  static bool isAsyncCopy(const ptx::Access& access) {
    return access.kind == ptx::Access::Kind::Store && access.instruction && access.instruction->op == ptx::Op::Cp;
  }
  bool touchByCopies(const ptx::Access& access, uint32_t offset, uint64_t laneBytes, uint32_t thread, uint32_t lanes,
                     const Clocks& clocks);
  bool touchAs(global_memory::Who now, const ptx::Access& access, uint32_t offset, const Clocks& clocks,
               Hazard& hazard);
  uint64_t copiesId() const { return blocks_ + 1; }  // of what cp.async wrote; the clock is the group
  uint64_t bulkId() const { return blocks_ + 2; }    // of what bulk copies wrote; the clock is their number
  uint32_t writtenAmong(uint32_t offset, uint32_t bytes) const;
  global_memory::Who who(uint32_t thread, const Clocks& clocks) const {
    return {blocks_, thread, std::min(clocks.sinceBegin(thread), global_memory::Who::kLastClock)};
  }
  bool touchBy(const global_memory::Row& row, const Clocks& clocks, global_memory::Conflict* conflict) {
    clocks_ = &clocks;
    setFloor(clocks.floor());
    return clocks.floor() < global_memory::Who::kLastClock && !region_.touch(row, *this, conflict);
  }

  uint64_t blocks_ = 0;  // three times those that there have been: three ids each
  AsyncCopies copies_;
  const Clocks* clocks_ = nullptr;
  global_memory::Region region_;
  uint32_t unwritten_ = 0;  // bytes
  std::vector<uint8_t> written_;
};

}  // namespace vg::check
