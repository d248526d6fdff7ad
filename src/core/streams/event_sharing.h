// What an event has besides that other processes see (core/streams/ipc_event.h): the last record of any process.
// Thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/sync/timeline.h"

namespace vg::ipc {
class SharedEvent;
}

namespace vg::core {

class EventSharing {
 public:
  EventSharing(std::shared_ptr<ipc::SharedEvent> shared, bool imported)
      : shared_(std::move(shared)), imported_(imported) {}

  const std::shared_ptr<ipc::SharedEvent>& shared() const { return shared_; }
  bool imported() const { return imported_; }  // another process made it

  // A record in three steps: reserve() before it is made, then recorded() with its point, or abandon().
  Result<uint64_t> reserve();
  void recorded(uint64_t ticket, Point point);
  void abandon(uint64_t ticket);

  // About the last record of any process. `own`: the last one of this event object.
  Point point(Point own) const;
  CUresult query(Point own) const;  // CUDA_SUCCESS, CUDA_ERROR_NOT_READY or CUDA_ERROR_EXTERNAL_DEVICE
  CUresult wait(Point own) const;   // blocks the thread

 private:
  const std::shared_ptr<ipc::SharedEvent> shared_;
  const bool imported_;
  std::atomic<uint64_t> ownTicket_{0};       // of the last record of this event object
  mutable std::atomic<uint64_t> looked_{0};  // when query() last looked after the recorder
};

}  // namespace vg::core
