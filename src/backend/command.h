// The closed set of things a queue can do. Trivially copyable; memory that a command points to (launch parameters,
// host-call data) stays valid until the command is done.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/sync/timeline.h"
#include "copy/shape.h"

namespace vg::backend {

class Kernel;
class PreparedLaunches;
class UpdatableNode;
struct FaultScene;
struct GraphRun;

struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1};   // blocks
  uint32_t block[3] = {1, 1, 1};  // threads
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;  // bytes
  bool cooperative = false;
  bool clustered = false;      // the launch asks for clusters, if of one block each
  bool programmatic = false;   // may begin when the launch before it in its stream says so
  int8_t priority = kOfQueue;  // of the launch, as CUDA counts them
  static constexpr int8_t kOfQueue = 1;
};

// A launch as core built it. Reference-counted by its maker: `release` is called once, by the queue, when the command
// is done or dropped.
struct LaunchRecord {
  Kernel* kernel = nullptr;
  LaunchShape shape;
  const std::byte* parameters = nullptr;  // parameterBytes() bytes in C layout, 256-byte aligned
  void (*release)(LaunchRecord*) = nullptr;
  GraphRun* graph = nullptr;      // of a kernel node that may ask for the graph it runs in (graph_run.h)
  UpdatableNode* node = nullptr;  // says what is launched in place of this record (updatable_node.h)
};

// Where asynchronous errors of a context go: the first device fault sticks. Lives as long as the process.
struct FaultSink {
  virtual void report(CUresult error, const char* reason) noexcept = 0;
  // What a device can tell of a kernel's fault, before it is reported.
  virtual void witness(const FaultScene&) noexcept {}
  virtual CUresult state() const noexcept = 0;  // CUDA_SUCCESS or the sticky error

 protected:
  ~FaultSink() = default;
};

// What touches memory that is not there is reported as CUDA_ERROR_ILLEGAL_ADDRESS, when somebody wants to know.
struct CopyCommand {
  copy::Shape shape;
  FaultSink* faults = nullptr;
  uint64_t checked = 0;  // what checked mode calls it (check/races/order.h); 0: nobody follows it
};
struct FillCommand {
  copy::Fill fill;
  FaultSink* faults = nullptr;
  uint64_t checked = 0;  // as of copies
};
// Who wants to know when a launch ran, by the host's clock. `ended` is called once, on the thread that ran or dropped
// it (then both times are 0). Only of devices that have that clock, and of kernels that launch none.
struct Timing {
  void* launch = nullptr;  // null: nobody does
  void (*ended)(void* launch, uint64_t begin, uint64_t end) noexcept = nullptr;
};
struct LaunchCommand {
  LaunchRecord* record;
  FaultSink* faults;
  uint64_t queuedAt = 0;  // the device's own: when its queue took the launch
  uint32_t level = 0;     // launches one behind the other of the same level, but 0, may run side by side
  bool early = false;     // may begin when the launch just before it says so, and waits for its end itself
  uint64_t checked = 0;   // as of copies
  Timing timing;
};
// All launches that a device has made ready (prepared_launches.h).
struct PreparedCommand {
  PreparedLaunches* launches;
  FaultSink* faults;
};
struct HostCall {
  void (*function)(void* data);
  void* data;
  bool brief = false;  // waits for nothing: whoever sees that it is due may make it
};
struct Wait {
  Point point;
  // What was submitted just before reaches it: whoever watches the end of that may look at the point, too.
  bool soon = false;
};
struct Write {
  Timeline* timeline;  // advanced to value
  uint64_t value;
};
struct Timestamp {
  uint64_t* nanoseconds;  // receives Device::timestamp()
};

using Command =
    std::variant<CopyCommand, FillCommand, LaunchCommand, HostCall, Wait, Write, Timestamp, PreparedCommand>;
static_assert(std::is_trivially_copyable_v<Command>);

}  // namespace vg::backend
