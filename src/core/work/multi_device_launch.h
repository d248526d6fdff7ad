// One cooperative kernel on several devices at once (cuLaunchCooperativeKernelMultiDevice): a grid on each, none of
// which begins before all streams have come to it, and behind all of which every stream goes on.
#pragma once

#include <cuda.h>

#include <span>

#include "base/result.h"

namespace vg::core {

// CUDA_ERROR_INVALID_VALUE for no grids, more than devices, unknown flags and grids of different shapes,
// CUDA_ERROR_INVALID_HANDLE for a default stream, CUDA_ERROR_INVALID_DEVICE for two grids on one device: as two H200s.
// `flags`: CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC and _POST_.
CUresult launchOnDevices(std::span<const CUDA_LAUNCH_PARAMS> grids, unsigned flags);

}  // namespace vg::core
