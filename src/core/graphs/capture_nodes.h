// From calls on a capturing stream to nodes of its graph. Each of these is the captured form of a verb that core offers
// for streams; all require that the stream says captured(). Arguments are checked as the verb checks them. What cannot
// be a node is refused.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/streams/stream.h"
#include "core/work/copy.h"
#include "core/work/launch.h"

namespace vg::core::capture {

// As memory::copyLinear, copyBox and fillRows.
CUresult copyLinear(Stream& stream, memory::Place destination, memory::Place source, size_t bytes, memory::Form form);
CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D& box, memory::Form form);
CUresult copyBox(Stream& stream, const CUDA_MEMCPY2D& box, memory::Form form);
CUresult fillRows(Stream& stream, CUdeviceptr destination, size_t pitch, uint32_t value, uint32_t elementSize,
                  size_t width, size_t height, memory::Form form);

// As core::launchKernel; a launch that fails ends the capture.
CUresult launchKernel(Stream& stream, CUfunction function, const LaunchRequest& request,
                      const LaunchArguments& arguments);
CUresult launchHostFunction(Stream& stream, CUhostFn function, void* data, unsigned mode);
// As memory::allocateAsync and releaseAsync; the memory is the graph's. `pool`: the pool that was asked for, or null.
Result<CUdeviceptr> allocate(Stream& stream, size_t bytes, CUmemoryPool pool);
CUresult release(Stream& stream, CUdeviceptr address);
// As queueMemoryOperations.
CUresult memoryOperations(Stream& stream, const CUstreamBatchMemOpParams* operations, unsigned count);

}  // namespace vg::core::capture
