// The reference interpreter: runs a parsed kernel lane by lane with plain scalar semantics. The oracle of the tests and
// the fallback where the code generator is missing. Every lane has its own program counter, call stack and registers;
// lanes at the same instruction run together, lowest first, and none waits for ever for another (spin locks between
// lanes of a warp make progress). Instructions that it does not know trap as illegal when they are reached.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/interpreter/observer.h"
#include "ptx/text/ast.h"

namespace vg::ptx {

class InterpreterProgram {
 public:
  virtual ~InterpreterProgram() = default;
  const KernelTraits& traits() const { return traits_; }
  // What KernelLaunch::code must be.
  const void* code() const { return this; }
  // Instructions that trap when reached: "line 12: wmma.load", for the log. Empty when everything is known.
  const std::string& gaps() const { return gaps_; }

 protected:
  KernelTraits traits_;
  std::string gaps_;
};

// `module` must outlive the program, and so must the observer, which is told of all that the kernel does; null: nobody
// is. CUDA_ERROR_NOT_FOUND when `entry` is not an entry with a body.
Result<std::unique_ptr<InterpreterProgram>> prepare(const Module& module, uint32_t entry, Observer* observer = nullptr);

// The KernelEntry of every interpreted kernel; launch->code is an InterpreterProgram's code().
void interpretWarps(BlockState* block, uint32_t firstWarp, uint32_t endWarp);

// Where a lane is, for whoever tells of a fault. Valid while the warp stands still.
struct LaneView {
  const Function* function = nullptr;  // the innermost one; null: the lane has ended
  uint32_t line = 0;                   // that it goes on with; of lanes that run, BlockState::line is newer
  bool runs = false;                   // one of those that ran last
  const uint64_t* registers = nullptr;
  const uint32_t* slots = nullptr;  // register k of the function begins at registers[slots[k]]

  uint64_t low(uint32_t k) const { return registers[slots[k]]; }
  uint64_t high(uint32_t k) const { return registers[slots[k] + 1]; }  // of 128 bits
};
// The lanes of a warp that has begun and not ended; false where it is not known. Requires: the kernel is interpreted,
// the calling thread is the block's.
bool viewLanes(const BlockState& block, uint32_t warp, LaneView (&lanes)[kWarpSize]);

}  // namespace vg::ptx
