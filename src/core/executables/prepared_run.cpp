#include "core/executables/prepared_run.h"

#include "backend/queue.h"

namespace vg::core {

backend::PreparedLaunches* PreparedRun::readyFor(backend::Queue& queue, bool busy, bool soon) {
  if (refused_) return nullptr;
  if (prepared_ && queue.sends(*prepared_)) return prepared_.get();
  const bool first = !asked_;
  asked_ = true;
  if ((first && !soon) || (prepared_ && busy) || made_ == kMostMade) return nullptr;
  ++made_;
  prepared_.reset();
  prepared_ = queue.prepare(work_);
  refused_ = !prepared_;
  return prepared_.get();
}

}  // namespace vg::core
