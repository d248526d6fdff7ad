// The compute threads as the copy engines see them.
#pragma once

#include "backend/cpu/workers.h"
#include "copy/parallel.h"

namespace vg::backend::cpu {

class WorkerParallel final : public copy::Parallel {
 public:
  explicit WorkerParallel(Workers& workers) : workers_(workers) {}
  unsigned width() const override { return workers_.count(); }
  void run(size_t chunks, void (*body)(void*, size_t), void* state) override {
    struct Pieces {
      void (*body)(void*, size_t);
      void* state;
    } pieces{body, state};
    const auto runPieces = [](void* raw, uint32_t, uint64_t first, uint64_t end) {
      const Pieces& p = *static_cast<Pieces*>(raw);
      for (uint64_t i = first; i < end; ++i) p.body(p.state, i);
    };
    workers_.runGrid(chunks, workers_.count(), runPieces, &pieces, 1);
  }

 private:
  Workers& workers_;
};

}  // namespace vg::backend::cpu
