// What a kernel and the queues that launch it know of those who answer it while it runs: the services of a driver
// (kernel_services.h) and CUDA's device runtime (kernel_requests.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backend/command.h"
#include "base/sync/timeline.h"

namespace vg::backend::nvidia {

class GpuKernel;

// Printing, malloc, assertions.
class CalledServices {
 public:
  // That the functions take of a thread's local memory.
  virtual uint32_t stackBytes() const = 0;
  // Writes what was printed. True when an assertion has failed since the last time.
  virtual bool flush() noexcept = 0;

 protected:
  ~CalledServices() = default;
};

// A grid that may ask, from before it is sent until its end.
class ParentGrid {
 public:
  explicit ParentGrid(uint64_t number) : number_(number) {}
  ParentGrid(const ParentGrid&) = delete;
  virtual ~ParentGrid() = default;

  // Of this process, and no other grid's: %gridid.
  uint64_t number() const { return number_; }
  // All that was queued before it has been seen to end: what it asks is answered from now on. Of the Watcher.
  virtual void begin() = 0;
  // Answers what kernels of its context ask at present. True when there was something. One thread at a time.
  virtual bool serve() = 0;
  // No thread of the grid runs any more. When the answer is reached, all that it launched is over. Called once.
  virtual Point finish() = 0;

 private:
  const uint64_t number_;
};

// The device runtime of a context's kernels.
class AskedRuntime {
 public:
  virtual ~AskedRuntime() = default;
  virtual uint32_t stackBytes() const = 0;
  // `disabledTpcs` as in Grid.
  virtual std::unique_ptr<ParentGrid> parent(const GpuKernel& kernel, const LaunchRecord& record, FaultSink& faults,
                                             const std::array<uint32_t, 4>& disabledTpcs) = 0;
};

}  // namespace vg::backend::nvidia
