// An in-order sequence of commands on a device. One a stream.
#pragma once

#include "backend/command.h"

namespace vg::backend {

class Queue {
 public:
  virtual ~Queue() = default;
  // Appends `count` commands, to run in order after everything submitted before; then advances `done`. Does not wait.
  // Commands of a queue never overlap. CUDA_ERROR_OUT_OF_MEMORY when no room can be had.
  virtual CUresult submit(const Command* commands, size_t count, Point done) = 0;
  // True when nothing is queued or running: the caller may do host-addressable work inline, as long as it lets no other
  // submit to this queue happen meanwhile.
  virtual bool idle() const = 0;
};

}  // namespace vg::backend
