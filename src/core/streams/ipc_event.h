// Events between processes: cuIpcGetEventHandle and cuIpcOpenEventHandle.
//
// The last record of any process counts. A record of this process is a point of a timeline as ever, and is marked in
// the shared state when it is reached; a record of another process is waited for there (ipc/shared_event.h), by streams
// through ipc/event_bridge.h. When a process ends in the middle of what it recorded, waiting ends with
// CUDA_ERROR_EXTERNAL_DEVICE; streams go on. Thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>

#include "base/result.h"
#include "base/timeline.h"

namespace vg::ipc {
class SharedEvent;
}

namespace vg::core {

class Context;
class Event;

// What an event that other processes see has besides.
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

namespace ipc_event {

// The same handle each time. CUDA_ERROR_INVALID_HANDLE for an event without CU_EVENT_INTERPROCESS or one that another
// process made.
Result<CUipcEventHandle> handleOf(Event& event);

// A new event object of the context. CUDA_ERROR_MAP_FAILED, as the vendor's driver answers, whatever is wrong with the
// handle.
Result<CUevent> open(Context& context, const CUipcEventHandle& handle);

}  // namespace ipc_event
}  // namespace vg::core
