// Copies and fills inside video memory by kernels of ours, which are several times as fast as a copy engine. Each runs
// to its end on the calling thread, in a channel that no queue uses. Thread-safe.
#pragma once

#include <array>
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

  // A copy or fill as a kernel's launch.
  struct Work {
    KernelCode code;
    Grid grid;
    alignas(8) std::array<std::byte, 24> parameters{};
    uint32_t bytes = 0;  // of the parameters
  };
  // How many bytes from the first on a kernel can move: all but a rest of less than 16, or none. Requires: both sides
  // are video memory that does not overlap.
  static size_t partOf(const copy::Shape& shape);
  static size_t partOf(const copy::Fill& fill);
  // Requires: `bytes` is of partOf() and not 0.
  Result<Work> work(const copy::Shape& shape, size_t bytes);
  Result<Work> work(const copy::Fill& fill, size_t bytes);
  // Sends it in a channel that no queue uses, and waits.
  CUresult run(const Work& work);

 private:
  Result<ComputeEngine&> ready();

  Gpu& gpu_;
  Addresses& addresses_;
  const Engine engine_;
  std::mutex making_;
  std::unique_ptr<Block> block_;  // the code; guarded by making_
  KernelCode copy_, fill_;
};

}  // namespace vg::backend::nvidia
