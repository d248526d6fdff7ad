// Ends kernels that run longer than VERDIGRIS_LAUNCH_TIMEOUT with CUDA_ERROR_LAUNCH_TIMEOUT. Its thread is made when
// the first kernel runs under a limit.
#pragma once

namespace vg::backend::cpu {

struct RunningLaunch;

namespace watchdog {

// Watches a launch while alive. Does nothing without a limit (launchLimit()).
class Watch {
 public:
  explicit Watch(RunningLaunch& launch);
  Watch(const Watch&) = delete;
  ~Watch();

 private:
  RunningLaunch* launch_;
};

}  // namespace watchdog
}  // namespace vg::backend::cpu
