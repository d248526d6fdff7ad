// Kernels of a plan, and what goes as one, with nothing else between them, which a device may have made ready to be run
// by one command.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/launches/prepared_launches.h"

namespace vg::backend {
class Queue;
}

namespace vg::core {

class PreparedRun {
 public:
  // Steps [first, last) of the plan; `work` points to what stays as long.
  PreparedRun(size_t first, size_t last, std::vector<backend::ChainedWork> work)
      : first_(first), last_(last), work_(std::move(work)) {}

  size_t first() const { return first_; }
  size_t last() const { return last_; }
  // What may be given to the queue in place of the launches; null: give them. `busy`: it may be under way. They are
  // made ready when they run the second time, as to do that takes longer than a run; `soon`: now.
  backend::PreparedLaunches* readyFor(backend::Queue& queue, bool busy, bool soon = false);

 private:
  size_t first_, last_;
  std::vector<backend::ChainedWork> work_;
  std::unique_ptr<backend::PreparedLaunches> prepared_;
  // Of streams by turns for which not the same is ready, only some get it made.
  static constexpr int kMostMade = 4;
  int made_ = 0;
  bool asked_ = false, refused_ = false;
};

}  // namespace vg::core
