// Copies and fills inside video memory by kernels of ours, which are several times as fast as a copy engine. Each runs
// to its end on the calling thread, in a channel that no queue uses. Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "backend/nvidia/compute/compute_engine.h"
#include "base/sync/mutex.h"
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
    alignas(8) std::array<std::byte, 64> parameters{};
    uint32_t bytes = 0;  // of the parameters
  };
  // Whether a kernel can do it. Requires: both sides are video memory that does not overlap.
  static bool can(const copy::Shape& shape);
  static bool can(const copy::Fill& fill);
  // Require: can(), and there is something to do.
  Result<Work> work(const copy::Shape& shape);
  Result<Work> work(const copy::Fill& fill);
  // Sends it in a channel that no queue uses, and waits.
  CUresult run(const Work& work);

 private:
  Result<ComputeEngine&> ready();
  Work rowWork(const copy::Shape& row) const;

  Gpu& gpu_;
  Addresses& addresses_;
  const Engine engine_;
  Mutex making_;
  std::unique_ptr<Block> block_ VG_GUARDED_BY(making_);  // the code
  KernelCode copy_, copyRow_, fillBox_, fillRow_;
};

}  // namespace vg::backend::nvidia
