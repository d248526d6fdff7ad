#include "backend/cpu/run/worker_parallel.h"

namespace vg::backend::cpu {

void WorkerParallel::run(size_t chunks, void (*body)(void*, size_t), void* state) {
  struct Chunks {
    void (*body)(void*, size_t);
    void* state;
  } work{body, state};
  const auto each = [](void* raw, uint32_t, Workers::Items& items) noexcept {
    const Chunks& c = *static_cast<Chunks*>(raw);
    for (uint64_t first, end; items.next(&first, &end);)
      for (uint64_t chunk = first; chunk < end; ++chunk) c.body(c.state, chunk);
  };
  workers_.runGrid(chunks, workers_.count(), each, &work, 1);
}

}  // namespace vg::backend::cpu
