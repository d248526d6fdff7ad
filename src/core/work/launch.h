// Kernel launches as CUDA means them: which kernel of which context, its arguments copied at once, in stream order.
// Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "backend/command.h"
#include "base/result.h"

namespace vg::core {

class Device;
class LaunchAttributes;
class Stream;

// The two ways in which arguments come: an address for each parameter, or one buffer with all of them
// (CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE).
struct LaunchArguments {
  void** values = nullptr;
  void** extra = nullptr;
};

struct LaunchRequest {
  backend::LaunchShape shape;                    // with what the attributes say of it
  const LaunchAttributes* attributes = nullptr;  // null: none are given
  // Of a launch that is captured: whether it becomes a node that kernels may change; receives the node.
  CUlaunchAttributeValue* updatable = nullptr;
};

// Copies the arguments to `out`, kernel.parameterBytes() bytes in the layout of the parameter buffer.
CUresult copyArguments(const backend::Kernel& kernel, const LaunchArguments& arguments, std::byte* out);

// What a launch of the shape means: blocks of one thread are as large as the code demands, if it does (recorded from
// the driver, which refuses all other sizes).
backend::LaunchShape shapeFor(const backend::Kernel& kernel, const backend::LaunchShape& asked);

// Reads CUlaunchConfig: shape and attributes. The request refers to `attributes`, which are none at first.
CUresult describeLaunch(const CUlaunchConfig& config, const Device& device, LaunchAttributes& attributes,
                        LaunchRequest& request);
// Records the event that the attributes name, if any, in the stream of the launch or in its capture.
CUresult recordEvent(Stream& stream, const LaunchRequest& request);

// Launches a CUfunction, or a CUkernel, in a stream of its context.
CUresult launchKernel(Stream& stream, CUfunction function, const LaunchRequest& request,
                      const LaunchArguments& arguments);

}  // namespace vg::core
