// The compute threads as the copy engines see them.
#pragma once

#include "backend/cpu/workers.h"
#include "copy/parallel.h"

namespace vg::backend::cpu {

// Chunks have no order among each other, so each thread begins with a share of its own, the same at every call: what
// it touched the last time is in its caches, and cores need not have one in common. Whoever is done helps the others.
class WorkerParallel final : public copy::Parallel {
 public:
  explicit WorkerParallel(Workers& workers) : workers_(workers) {}
  unsigned width() const override { return workers_.count(); }
  void run(size_t chunks, void (*body)(void*, size_t), void* state) override;

 private:
  Workers& workers_;
};

}  // namespace vg::backend::cpu
