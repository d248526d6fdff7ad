#include "backend/cpu/code/kernel_launch.h"

#include "backend/cpu/faults/faults.h"
#include "base/log.h"

namespace vg::backend::cpu {

void RunningLaunch::end(CUresult error, const char* reason, const FaultScene* scene) {
  int none = CUDA_SUCCESS;
  if (!ended.compare_exchange_strong(none, error, std::memory_order_acq_rel)) return;
  VG_LOG(Warn, "kernel %s ended with error %d: %s", kernelName, error, reason);
  if (scene) {
    interruptThreads();
    faults->witness(*scene);
  }
  faults->report(error, reason);
  interruptThreads();
}

void RunningLaunch::stop(CUresult error, const char* reason) {
  stopped_.store(reason, std::memory_order_release);
  int none = CUDA_SUCCESS;
  if (!ended.compare_exchange_strong(none, error, std::memory_order_acq_rel)) {
    stopped_.store(nullptr, std::memory_order_relaxed);
    return;
  }
  VG_LOG(Warn, "kernel %s ended with error %d: %s", kernelName, error, reason);
  interruptThreads();
}

void RunningLaunch::tellStopped(const FaultScene* scene) {
  const char* const reason = stopped_.exchange(nullptr, std::memory_order_acq_rel);
  if (!reason) return;
  if (scene) faults->witness(*scene);
  faults->report(static_cast<CUresult>(ended.load(std::memory_order_relaxed)), reason);
}

void RunningLaunch::enter(uint32_t worker) {
  if (worker < kWords) inside_[worker].store(pthread_self(), std::memory_order_relaxed);
}

void RunningLaunch::leave(uint32_t worker) {
  if (worker < kWords) inside_[worker].store(0, std::memory_order_relaxed);
}

void RunningLaunch::interruptThreads() {
  for (std::atomic<pthread_t>& slot : inside_)
    if (const pthread_t thread = slot.load(std::memory_order_relaxed); thread && thread != pthread_self())
      faults::interrupt(thread);
}

}  // namespace vg::backend::cpu
