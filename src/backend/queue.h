// An in-order sequence of commands on a device. One a stream.
#pragma once

#include <memory>
#include <span>

#include "backend/command.h"
#include "backend/launches/prepared_launches.h"

namespace vg::backend {

class Queue {
 public:
  // Work that is still queued completes after the destructor, which does not wait.
  virtual ~Queue() = default;
  // Appends `count` commands, to run in order after everything submitted before; then advances `done`. Does not wait.
  // Commands of a queue never overlap. CUDA_ERROR_OUT_OF_MEMORY when no room can be had.
  virtual CUresult submit(const Command* commands, size_t count, Point done) = 0;
  // The same for who must not wait for kernels, not even for room behind them. Requires: all submits to this queue are
  // of this kind.
  virtual CUresult submitAtOnce(const Command* commands, size_t count, Point done) {
    return submit(commands, count, done);
  }
  // True when nothing is queued or running: the caller may do host-addressable work inline, as long as it lets no other
  // submit to this queue happen meanwhile.
  virtual bool idle() const = 0;
  // Runs the command on the calling thread when it is short, bounded and may run there; false, with nothing done, when
  // not. Requires: the queue is idle and the caller lets no submit happen meanwhile.
  virtual bool tryInline(const Command&) { return false; }
  // Makes launches of one context ready, to be sent as one PreparedCommand. Null: nothing is won by that, or it cannot
  // be done now.
  virtual std::unique_ptr<PreparedLaunches> prepare(std::span<const ChainedWork>) { return nullptr; }
  // Whether a PreparedCommand of them, which a queue of this device has made, may be given to this queue now.
  virtual bool sends(const PreparedLaunches&) const { return false; }
  // As in Device::createQueue, of what is scheduled from now on.
  virtual void setPriority(int) {}
};

}  // namespace vg::backend
