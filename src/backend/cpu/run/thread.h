// What a thread needs to run kernels: the shared-memory windows and stacks of its resident blocks, a stack for signal
// handlers, and the way back out of a kernel that faults. One a thread, made at its first block, ended with the thread.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/run/block.h"
#include "backend/cpu/run/fibre.h"
#include "base/guarded_range.h"
#include "base/patience.h"

namespace vg::backend::cpu {

// Why a thread was thrown out of a kernel. Plain data: written by signal handlers.
struct KernelFault {
  CUresult error = CUDA_SUCCESS;
  int signal = 0;                 // 0: the kernel's own request
  const void* address = nullptr;  // that the access meant; null when unknown
  bool stackOverflow = false;
  const void* codeAddress = nullptr;  // of the faulting instruction
  uint32_t line = 0;                  // of the PTX, when the kernel told it
  const char* what = "";              // of the kernel's own request
  uint32_t warp = 0, lanes = 0;       // of the kernel's own request: whose; no lanes: not known
};

class KernelThread {
 public:
  // The calling thread's. Throws std::bad_alloc.
  static KernelThread& current();
  // The calling thread's, or null; for signal handlers.
  static KernelThread* ifAny();

  KernelThread(const KernelThread&) = delete;

  // While alive, the thread may run blocks of `launch`: floating point as kernels expect it, a stack for signals, and
  // known to whoever wants to interrupt the launch.
  class Inside {
   public:
    Inside(KernelThread& thread, RunningLaunch& launch, uint32_t worker);
    ~Inside();

   private:
    RunningLaunch& launch_;
    const uint32_t worker_;
    const uint32_t floatingPoint_;
    const Patience patience_;
  };

  // A resident block of this thread by number, made when needed; null when the system refuses memory.
  ResidentBlock* block(size_t number, const RunningLaunch& launch);
  // No block goes on from where it is.
  void abandonBlocks() noexcept;
  // How many blocks one thread can hold at once.
  static constexpr size_t kMaxResident = 8192;

  Fibre& base() { return base_; }
  // Runs the fibre of `block` until something switches back; false when the thread was thrown out of the kernel.
  bool run(ResidentBlock& block, Fibre& fibre);
  // Goes to the worker's own stack; `from` never goes on.
  void throwOut(Fibre& from);

  // The block that runs, or null: set whenever a kernel or one of its calls is on this thread.
  ResidentBlock* running() const { return running_; }
  KernelFault& fault() { return fault_; }
  // Counts what lets waiting warps go on, so that whoever runs blocks can tell waiting from getting on.
  uint64_t progress() const { return progress_; }
  void noteProgress() { ++progress_; }

  // While alive no fault or timeout throws the thread out: it holds a lock or calls the C library.
  class Critical {
   public:
    explicit Critical(KernelThread& thread) : thread_(thread) { thread_.interruptible_ = 0; }
    ~Critical() { thread_.interruptible_ = 1; }

   private:
    KernelThread& thread_;
  };
  bool interruptible() const { return running_ && interruptible_; }
  // For a signal handler, when interruptible(): makes the thread go on at run(), which returns false.
  VG_OUTLIVES_FIBRE void throwOutOf(void* signalContext);

 private:
  KernelThread();
  ~KernelThread();
  friend void endKernelThread(void*);
  bool reserveWindows();
  void ensureSignalStack(const RunningLaunch& launch);

  Fibre base_;
  ResidentBlock* volatile running_ = nullptr;
  volatile sig_atomic_t interruptible_ = 1;
  volatile bool thrownOut_ = false;
  KernelFault fault_;
  uint64_t progress_ = 0;
  std::vector<std::unique_ptr<ResidentBlock>> blocks_;
  GuardedRange windows_;                // of shared memory
  uint64_t signalStackCheckedFor_ = 0;  // grid id
  std::unique_ptr<std::byte[]> signalStack_;
  bool ownsSignalStack_ = false;
};

}  // namespace vg::backend::cpu
