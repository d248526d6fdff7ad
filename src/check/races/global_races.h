// Races on global memory, and on the shared memory of clusters: between threads, blocks, kernels, copies and fills.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "check/memory/global_memory.h"
#include "check/races/clocks.h"
#include "check/races/knowledge.h"
#include "check/races/order.h"
#include "ptx/interpreter/observer.h"

namespace vg::check {

// A running block as it looks to global memory. Belongs to whoever runs the block.
class GlobalRaces final : public global_memory::Party {
 public:
  // The work that does not count: until a block begins.
  explicit GlobalRaces(const Clocks& clocks) : Party(0, 0, 0), clocks_(&clocks) {}
  // A new block of a grid; `entry`: what it runs.
  void begin(const ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry);

  // An access of a thread; false: it is in conflict with an earlier one.
  bool touch(const ptx::Access& access, uint64_t address, uint32_t thread, global_memory::Conflict& conflict);
  // Accesses of consecutive threads side by side, `laneBytes` each, or of all of them to one place (0). False: they are
  // to be looked at one by one.
  bool touchRow(const ptx::Access& access, uint64_t address, uint64_t laneBytes, uint32_t firstThread, uint32_t lanes) {
    if (!follows()) return true;
    setFloor(clocks_->floor());
    return global_memory::touch(global_memory::rowOf(access, address, who(firstThread), laneBytes, lanes), *this,
                                nullptr);
  }
  // A thread uses a word that carries order.
  void release(uint64_t word, uint32_t thread);
  void acquire(uint64_t word, uint32_t thread);
  // The same of a word in global memory; the host may use it, too.
  void pass(const ptx::Access& access, uint32_t thread);

  bool ordered(global_memory::Who earlier, uint32_t thread) const override;
  bool orderedWhole(uint64_t id) const override;
  // What a block's kernel is part of; null: not known any more.
  const ptx::Module* moduleOf(global_memory::Who who) const;
  // Whether the memory was freed, in the order of a stream, before this work.
  bool freedBefore(uint64_t address) const;
  // "the other is thread (3,0,0) of block (1,0,0), at scale.cu:12, PTX line 34", and what is missing between them.
  std::vector<std::string> tell(const global_memory::Conflict& conflict) const;

 private:
  global_memory::Who who(uint32_t thread) const {
    return {id(), thread, std::min(clocks_->sinceBegin(thread), global_memory::Who::kLastClock)};
  }
  bool follows() const { return work_ && clocks_->floor() < global_memory::Who::kLastClock; }

  // A read of a word that carries order is told before it happens: what others left there in between is taken now.
  void readAgain() const;
  void remember(uint64_t word, uint32_t thread);

  struct Read {
    uint64_t word;
    uint32_t thread, clock;
  };

  const Clocks* clocks_;
  uint64_t grid_ = 0;
  order::WorkPointer work_;  // of the grid
  mutable Knowledge knowledge_;
  std::array<Read, 64> reads_ = {};  // of `readsAt_`: all others have happened
  uint32_t readCount_ = 0;
  const ptx::Instruction* readsAt_ = nullptr;
  mutable order::WorkPointer other_;  // that was asked for last
};

namespace global_races {

// What copies and fills do, on the thread that does them (order::Doing).
void copied(uint64_t to, uint64_t from, uint64_t bytes);
void filled(uint64_t address, uint64_t bytes);
// Whether an access of the program on the host, which happens now, is in conflict with one that it has not waited for.
bool hostConflicts(uint64_t address, uint64_t bytes, bool writes, global_memory::Conflict& conflict);
// Reports that.
void tellOfHost(const global_memory::Conflict& conflict, const Caller& caller);
// Somebody else wrote: whoever reads that as a flag knows everything.
void written(uint64_t address, uint64_t bytes);

}  // namespace global_races

}  // namespace vg::check
