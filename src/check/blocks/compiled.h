// Checks of compiled kernels: what their code asks about accesses (ptx/llvm/emit/access_checks.h).
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/abi/check_abi.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/layout.h"
#include "ptx/interpreter/observer.h"
#include "ptx/text/ast.h"

namespace vg::check {

// Whether memory is the only tool of kernels, so that nobody has to hear of accesses that are well.
bool onlyMemory();

// A kernel whose code checks its accesses. Thread-safe.
class CompiledKernel {
 public:
  // `reached`: the entry and the functions that it may call. `reserved`: bytes of shared memory, from its beginning,
  // that are not the kernel's own. The module outlives it.
  CompiledKernel(const ptx::Module& module, const std::vector<const ptx::Function*>& reached, uint32_t reserved);

  const ptx::Module& module() const { return module_; }
  const ptx::Function& entry() const { return entry_; }
  uint32_t reserved() const { return reserved_; }
  // As ptx::Observer::enter() means it.
  ptx::Carries carries() const { return carries_; }
  const ptx::SharedLayout::Slot& sharedSlot(uint32_t number) const { return shared_.slots[number]; }
  uint32_t parameterBytes() const { return parameterBytes_; }
  // The instruction of a PTX line; null when there is none.
  const ptx::Instruction* at(uint32_t line) const;

 private:
  const ptx::Module& module_;
  const ptx::Function& entry_;
  const uint32_t reserved_;
  const ptx::SharedLayout shared_;
  uint32_t parameterBytes_ = 0;
  ptx::Carries carries_ = ptx::Carries::Nothing;
  std::vector<const ptx::Instruction*> index_;  // by line
};

// Local memory of a warp's lanes, as the calling code has it.
struct LocalMemory {
  uint64_t start = 0, stride = 0, bytes = 0;  // of the lanes' variables; bytes: of each
  uint64_t frame = 0, frameEnd = 0;           // what else is theirs: stacks of alloca
};

// Which lanes of `mask` may make the access. Others are reported, and the grid is marked.
struct WarpAccess {
  uint32_t warp, mask;
  const uint64_t* addresses;  // of the host; as AccessForm::lanes says
  ptx::AccessForm form;
  uint32_t line;
  LocalMemory local;
  const void* data;  // what is stored, as AccessForm::elementBytes says; null: not told
};
uint32_t judge(ptx::BlockState& block, const CompiledKernel& kernel, const WarpAccess& access);

// A fragment or a row of a matrix that a lane moves: whether it may.
struct LaneAccess {
  uint32_t warp, lane;
  uint64_t address, bytes, alignment;
  bool stores;
  uint32_t line;
  bool isShared = false;  // whatever the instruction says
};
bool judgeOne(ptx::BlockState& block, const CompiledKernel& kernel, const LaneAccess& access);

// Lanes of a warp meet (ptx::Meeting); `mask`: those that live.
struct WarpMeeting {
  uint32_t warp, mask;
  ptx::Meeting meeting;
  uint32_t barrier, threads, line;
  const uint32_t* members;  // of each lane; null: all
};
void meet(ptx::BlockState& block, const CompiledKernel& kernel, const WarpMeeting& meeting);

// Forgets what was found good in another grid, or before something was freed. Call before a block runs.
void begin(ptx::CheckedRanges& ranges, uint64_t grid);

}  // namespace vg::check
