// Kernel launches as CUDA means them: which kernel of which context, its arguments copied at once, in stream order.
// Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "backend/command.h"
#include "base/result.h"

namespace vg::core {

class Stream;

// The two ways in which arguments come: an address for each parameter, or one buffer with all of them
// (CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE).
struct LaunchArguments {
  void** values = nullptr;
  void** extra = nullptr;
};

// What cuLaunchKernelEx's attributes ask for beyond the shape.
struct LaunchRequest {
  backend::LaunchShape shape;
  CUevent completionEvent = nullptr;  // recorded after the kernel
  bool prefersCluster = false;        // some clusters larger than the shape's
  // Of a launch that is captured: whether it becomes a node that kernels may change; receives the node.
  CUlaunchAttributeValue* updatable = nullptr;
};

// Copies the arguments to `out`, kernel.parameterBytes() bytes in the layout of the parameter buffer.
CUresult copyArguments(const backend::Kernel& kernel, const LaunchArguments& arguments, std::byte* out);

// What a launch of the shape means: blocks of one thread are as large as the code demands, if it does (recorded from
// the driver, which refuses all other sizes).
backend::LaunchShape shapeFor(const backend::Kernel& kernel, const backend::LaunchShape& asked);

// Reads CUlaunchConfig: shape and attributes. Those that only give advice are accepted.
Result<LaunchRequest> describeLaunch(const CUlaunchConfig& config);

// Launches a CUfunction, or a CUkernel, in a stream of its context.
CUresult launchKernel(Stream& stream, CUfunction function, const LaunchRequest& request,
                      const LaunchArguments& arguments);

}  // namespace vg::core
