// Kernel launches as CUDA means them: which kernel of which context, its arguments copied at once, in stream order.
// Every launch is described and checked here, whether it is given to a stream, captured, or a node of a graph.
// Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "backend/command.h"
#include "base/result.h"
#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core {

class Device;

// The two ways in which arguments come: an address for each parameter, or one buffer with all of them
// (CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE).
struct LaunchArguments {
  void** values = nullptr;
  void** extra = nullptr;
};

// What a launch of the shape means: blocks of one thread are as large as the code demands, if it does (recorded from
// the driver, which refuses all other sizes).
backend::LaunchShape shapeFor(const backend::Kernel& kernel, const backend::LaunchShape& asked);

namespace work {

// A Launch as a call gives it: what it points to is the caller's.
struct LaunchCall {
  CUfunction function = nullptr;  // or a CUkernel
  backend::LaunchShape shape;     // with what the attributes say of it
  LaunchArguments arguments;
  const LaunchAttributes* attributes = nullptr;  // null: none are given
  // Of a launch that is captured: whether it becomes a node that kernels may change; receives the node.
  CUlaunchAttributeValue* updatable = nullptr;
};

// The call that CUlaunchConfig means: shape and attributes. It refers to `attributes`, which are none at first.
Result<LaunchCall> callOf(const CUlaunchConfig& config, const Device& device, LaunchAttributes& attributes);

// CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, of a launch or of a node.
CUresult checkUpdatable(const CUlaunchAttributeValue& value);

// What runs: the kernel, and its shape made whole.
struct PreparedLaunch {
  backend::Kernel* kernel;
  backend::LaunchShape shape;
};
// Everything that is checked of a launch but for its arguments.
Result<PreparedLaunch> prepare(const Launch& launch);
// The same, and the arguments too: a launch that owns all it needs, in `context`.
Result<Launch> describe(Context& context, const LaunchCall& call);

// For Stream::give(). A function of another context than the stream's, and what is no function:
// CUDA_ERROR_INVALID_HANDLE. A launch that fails ends the capture that it was meant for.
Result<Work> keep(Stream& stream, const LaunchCall& call);
CUresult perform(Stream& stream, const LaunchCall& call, Form form);

}  // namespace work
}  // namespace vg::core
