// What the engines need to use more than one core: somebody who runs pieces of work at the same time. Implemented above
// (backend/cpu's workers); tests bring their own.
#pragma once

#include <cstddef>

namespace vg::copy {

class Parallel {
 public:
  // How many threads may take part, the calling one included; at least 1.
  virtual unsigned width() const = 0;
  // Calls body(state, i) once for every i below `chunks`, on the calling thread and others; returns when all are done.
  virtual void run(size_t chunks, void (*body)(void* state, size_t chunk), void* state) = 0;

 protected:
  ~Parallel() = default;
};

}  // namespace vg::copy
