// The compute threads as the copy engines see them.
#pragma once

#include "backend/cpu/run/workers.h"
#include "copy/parallel.h"

namespace vg::backend::cpu {

class WorkerParallel final : public copy::Parallel {
 public:
  explicit WorkerParallel(Workers& workers) : workers_(workers) {}
  unsigned width() const override { return workers_.count(); }
  void run(size_t chunks, void (*body)(void*, size_t), void* state) override;

 private:
  Workers& workers_;
};

}  // namespace vg::backend::cpu
