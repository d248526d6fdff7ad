// One piece of work, whole: what it does and all that was said of it, as plain data that owns what it names, but for
// places of the caller's that receive an answer while the call lasts. A stream
// runs it, a capture makes it a node, a graph's node holds it, the plan of an executable graph is compiled from it, and
// what CUDA answers about a node is read from it.
//
// Each kind has a file that describes it: `keep(stream, given)` checks what a call gave and makes Work of it, and
// `perform(stream, given, form)` runs it in a stream. Stream::give() (core/streams/stream.h) chooses between the two.
// Where a call hands over pointers to memory of its own, `given` is a short form of the kind: Row is a Copy,
// LaunchCall a Launch, OperationsCall are MemoryOperations.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "backend/command.h"
#include "core/process/thread_state.h"
#include "core/work/launch_attributes.h"

namespace vg::core::work {

// A box between memory and arrays.
struct Copy {
  CUDA_MEMCPY3D box{};  // as given
  ContextReference context;

  bool nothing() const { return !box.WidthInBytes || !box.Height || !box.Depth; }
};

// Copies between pointers; attributes[k] holds from copy starts[k] to before starts[k + 1].
struct CopyBatch {
  std::vector<CUdeviceptr> destinations, sources;
  std::vector<size_t> sizes;
  std::vector<CUmemcpyAttributes> attributes;
  std::vector<size_t> starts;
  CUcontext handle = nullptr;  // as given: may be green, or null
};

// Elements, or rows of them; the context in it is as given.
struct Fill {
  CUDA_MEMSET_NODE_PARAMS_v2 rows{};
  ContextReference context;

  bool nothing() const { return !rows.width || !rows.height; }
};

// A kernel, its arguments in the layout of the parameter buffer, and every attribute.
struct Launch {
  CUfunction function = nullptr;  // as given: a CUfunction or a CUkernel; one of the two
  CUkernel kernel = nullptr;
  backend::LaunchShape shape;  // as given: what the attributes say is not in it
  LaunchAttributes attributes;
  std::vector<std::byte> arguments;  // backend::Kernel::parameterBytes()
  ContextReference context;
  // Of a launch that a stream captures: whether it becomes a node that kernels may change; receives the node.
  CUlaunchAttributeValue* updatable = nullptr;

  CUfunction callee() const { return function ? function : reinterpret_cast<CUfunction>(kernel); }
  // With what the attributes say.
  backend::LaunchShape wholeShape() const { return attributes.shaped(shape); }
};

// A function of the application.
struct HostCall {
  CUDA_HOST_NODE_PARAMS call{};
  unsigned syncMode = CU_HOST_TASK_BLOCKING;  // a CUhostTaskSyncMode
  CUcontext context = nullptr;                // as given: may be green, or null
};

// Waits for words of memory and changes of them.
struct MemoryOperations {
  CUcontext handle = nullptr;
  ContextReference context;
  unsigned flags = 0;
  std::vector<CUstreamBatchMemOpParams> operations;
};

struct Record {
  CUevent event = nullptr;
  unsigned flags = 0;           // CU_EVENT_RECORD_*
  CUcontext context = nullptr;  // as given: may be green, or null
};

struct Wait {
  CUevent event = nullptr;
  unsigned flags = 0;  // CU_EVENT_WAIT_*
};

struct Allocation {
  size_t bytes = 0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr* address = nullptr;  // receives it, while the call lasts
  bool fromPool = false;           // from `pool`, whatever that is; else from the device's
};

struct Free {
  CUdeviceptr address = 0;
};

}  // namespace vg::core::work

namespace vg::core {

// A struct, so that it can be named without this header.
struct Work : std::variant<work::Copy, work::Fill, work::Launch, work::HostCall, work::MemoryOperations, work::Record,
                           work::Wait, work::Allocation, work::Free> {
  using variant::variant;
};

}  // namespace vg::core
