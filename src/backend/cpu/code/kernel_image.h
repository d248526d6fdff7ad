// Modules on the emulated device: PTX parsed, variables given memory, kernels made native on demand.
//
// loadImage answers CpuDevice::load, runLaunch is what its queues call for a LaunchCommand. An image may be used from
// several threads; it must outlive the launches of its kernels.
#pragma once

#include <memory>
#include <optional>

#include "backend/device.h"
#include "base/timeline.h"

namespace vg::backend::cpu {

// Parses and links the texts of `source` and makes its variables. CUDA_ERROR_INVALID_PTX and
// CUDA_ERROR_UNSUPPORTED_PTX_VERSION come with lines in options.errorLog.
Result<std::unique_ptr<Image>> loadImage(const Device& device, const ImageSource& source, const LoadOptions& options);

// Where the grids of a queue run.
struct LaunchPlace {
  uint32_t workers = UINT32_MAX;            // the most threads that a grid is given
  unsigned urgency = 0;                     // as in Executor::schedule
  std::optional<uint64_t> texturesRemoved;  // before the launch (texture_table.h); none: before it is queued, or runs
};

// Runs a launch to its end on the device's workers, the calling thread included. Faults of the kernel go to `faults`
// and are the result too; the process goes on. Grids that it launched are over, with all that they launched, when
// `descendants` is reached; null: they are waited for. Requires: the record's kernel accepted prepare(shape), or, of a
// launch from a kernel, permits(shape).
CUresult runLaunch(const Device& device, const LaunchRecord& record, FaultSink& faults, const LaunchPlace& place,
                   Point* descendants = nullptr);

// Writes what kernels of all devices have printed to standard output.
void flushKernelOutput() noexcept;

}  // namespace vg::backend::cpu
