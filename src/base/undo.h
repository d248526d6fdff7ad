// What has to be taken back when the rest of a function fails, by an error or an exception.
#pragma once

#include <utility>

#include "base/sync/thread_annotations.h"

namespace vg {

// Calls the function when it goes, unless the work is done by then. Who makes it holds until then what that requires.
template <class Function>
class [[nodiscard]] Undo {
 public:
  explicit Undo(Function function) : function_(std::move(function)) {}
  Undo(const Undo&) = delete;
  ~Undo() VG_UNCHECKED_LOCKS {
    if (!done_) function_();
  }
  // Nothing is taken back from now on.
  void done() { done_ = true; }

 private:
  Function function_;
  bool done_ = false;
};

}  // namespace vg
