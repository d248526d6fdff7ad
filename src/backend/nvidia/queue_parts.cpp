#include "backend/nvidia/queue_parts.h"

#include "backend/nvidia/compute/fault_report.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {

QueueParts::QueueParts(Gpu& gpu, const KnownRanges& known, KernelEngine& engine, Transfer& transfer)
    : gpu_(gpu),
      known_(known),
      engine_(engine),
      transfer_(transfer),
      copyLanes_(transfer.engines()),
      clock_({[&gpu] { return gpu.time(); }, [&gpu] { return gpu.timeLow(); }}) {}

void QueueParts::stopKernels() noexcept {
  abandonWork(CUDA_ERROR_LAUNCH_TIMEOUT);
  if (ComputeEngine* const compute = engine_.computeIfMade()) compute->stop(CUDA_ERROR_LAUNCH_TIMEOUT);
}

void QueueParts::abandonWork(CUresult error) noexcept {
  copyLanes_.abandon(error);
  if (ComputeEngine* const compute = engine_.computeIfMade()) compute->abandon(error);
}

bool QueueParts::holdsTrap(uint64_t address) const {
  const auto* const instruction = reinterpret_cast<const std::byte*>(address);
  std::byte word[sizeof(uint64_t)];
  return known_.placeOf(instruction, sizeof word) == Place::Video && copy::copyBytes(word, instruction, sizeof word) &&
         isTrap(word);
}

}  // namespace vg::backend::nvidia
