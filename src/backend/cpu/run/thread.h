// What a thread needs to run kernels: the shared-memory windows and stacks of its resident blocks, and a stack for
// signal handlers. One a thread, made at its first block, ended with the thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/host_stack.h"
#include "base/float_environment.h"
#include "base/memory/guarded_range.h"
#include "base/sync/patience.h"

namespace vg::backend::cpu {

class KernelThread final : public HostStack {
 public:
  // The calling thread's. Throws std::bad_alloc.
  static KernelThread& current();
  // The calling thread's, or null; for signal handlers.
  static KernelThread* ifAny();

  // While alive, the thread may run blocks of `launch`: floating point as kernels expect it, a stack for signals, and
  // known to whoever wants to interrupt the launch.
  class Inside {
   public:
    Inside(KernelThread& thread, RunningLaunch& launch, uint32_t worker);
    ~Inside();

   private:
    RunningLaunch& launch_;
    const uint32_t worker_;
    const DefaultFloatEnvironment floatingPoint_;
    const Patience patience_;
  };

  // A resident block of this thread by number, made when needed; null when the system refuses memory.
  ResidentBlock* block(size_t number, const RunningLaunch& launch);
  // No block goes on from where it is.
  void abandonBlocks() noexcept;
  // How many blocks one thread can hold at once.
  static constexpr size_t kMaxResident = 8192;

 private:
  KernelThread();
  ~KernelThread();
  friend void endKernelThread(void*);
  bool reserveWindows();
  void ensureSignalStack(const RunningLaunch& launch);

  std::vector<std::unique_ptr<ResidentBlock>> blocks_;
  GuardedRange windows_;  // of shared memory
  coverage::ThreadNumber number_;
  uint64_t signalStackCheckedFor_ = 0;  // grid id
  std::unique_ptr<std::byte[]> signalStack_;
  bool ownsSignalStack_ = false;
};

}  // namespace vg::backend::cpu
