// The reference interpreter: runs a parsed kernel lane by lane with plain scalar semantics. The oracle of the tests and
// the fallback where the code generator is missing. Every lane has its own program counter, call stack and registers;
// lanes at the same instruction run together, lowest first, and none waits for ever for another (spin locks between
// lanes of a warp make progress). Instructions that it does not know trap as illegal when they are reached.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ptx/ast.h"
#include "ptx/kernel_abi.h"
#include "ptx/observer.h"

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

}  // namespace vg::ptx
