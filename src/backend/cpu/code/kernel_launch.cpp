#include "backend/cpu/code/kernel_launch.h"

#include <algorithm>

#include "backend/cpu/faults/faults.h"
#include "base/log.h"

namespace vg::backend::cpu {

RunningLaunch::RunningLaunch(const Device& where, const LaunchPlace& how, uint32_t threads)
    : device(where), place(how), words_(std::min(threads, kWords)) {
  std::fill_n(inside_, words_, pthread_t{});
}

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
  if (worker < words_) std::atomic_ref(inside_[worker]).store(pthread_self(), std::memory_order_relaxed);
}

void RunningLaunch::leave(uint32_t worker) {
  if (worker < words_) std::atomic_ref(inside_[worker]).store(0, std::memory_order_relaxed);
}

void RunningLaunch::interruptThreads() {
  for (uint32_t worker = 0; worker < words_; ++worker)
    if (const pthread_t thread = std::atomic_ref(inside_[worker]).load(std::memory_order_relaxed);
        thread && thread != pthread_self())
      faults::interrupt(thread);
}

}  // namespace vg::backend::cpu
