// Who is given all records, one after the other, on one thread.
#pragma once

#include "activity/record.h"

namespace vg::activity {

class Consumer {
 public:
  virtual ~Consumer() = default;
  virtual void take(const Record& record) = 0;
  // Records were left out because they came too fast.
  virtual void lost(uint64_t /*records*/) {}
  // Nothing is left to be taken for now: what is held back should be where it belongs.
  virtual void flush() {}
  // The process ends.
  virtual void finish() {}
};

}  // namespace vg::activity
