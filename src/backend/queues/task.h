// Something that a service thread runs once each time it is scheduled.
#pragma once

namespace vg::backend {

class Executor;
namespace interleaving {
class Table;
}

// Requires: not scheduled again before run() has begun.
class Task {
 public:
  virtual void run() = 0;

 protected:
  ~Task() = default;

 private:
  friend class Executor;
  friend class interleaving::Table;
  Task* next_ = nullptr;
};

}  // namespace vg::backend
