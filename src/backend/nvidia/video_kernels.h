// Copies and fills inside video memory by kernels of ours, which are several times as fast as a copy engine. Each runs
// to its end on the calling thread, in a channel that no queue uses. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "backend/nvidia/compute/compute_engine.h"
#include "copy/shape.h"

namespace vg::backend::nvidia {

class VideoKernels {
 public:
  using Engine = std::function<Result<ComputeEngine&>()>;
  // `engine` is asked when the first large piece of work comes.
  VideoKernels(Gpu& gpu, Addresses& addresses, Engine engine)
      : gpu_(gpu), addresses_(addresses), engine_(std::move(engine)) {}

  // How many bytes from the first on a kernel should move; 0: none. The rest is for a copy engine.
  static size_t partOf(const copy::Shape& shape);
  static size_t partOf(const copy::Fill& fill);
  // Requires: bytes is of partOf(), both sides are video memory.
  CUresult copy(std::byte* to, const std::byte* from, size_t bytes);
  CUresult fill(std::byte* to, size_t bytes, uint32_t word);

 private:
  template <class Parameters>
  CUresult run(KernelCode VideoKernels::*code, const Parameters& parameters, uint32_t bytes, size_t units);
  Result<ComputeEngine&> ready();

  Gpu& gpu_;
  Addresses& addresses_;
  const Engine engine_;
  std::mutex making_;
  std::unique_ptr<Block> block_;  // the code; guarded by making_
  KernelCode copy_, fill_;
};

// The pattern of a fill, repeated to four bytes.
uint32_t wordOf(const copy::Fill& fill);

}  // namespace vg::backend::nvidia
