#include "base/sync/patience.h"

#include <time.h>

#include <atomic>
#include <new>
#include <utility>

namespace vg {
namespace {

struct State {
  bool patient = false;
  int tries = 0;  // since it is
};
constinit thread_local State state [[gnu::tls_model("initial-exec")]];

// For `new`: when it returns, memory is looked for again.
void lackMemory() {
  if (state.patient && state.tries++ < kTriesOfAMoment) {
    napForOthers();
    return;
  }
  throw std::bad_alloc();
}

}  // namespace

void napForOthers() {
  constexpr timespec kBetweenTries{0, 1'000'000};
  nanosleep(&kBetweenTries, nullptr);
}

// The library has a C++ library of its own, so the handler is nobody else's.
Patience::Patience() noexcept : before_(std::exchange(state.patient, true)) {
  static constinit std::atomic<bool> installed{false};
  if (installed.load(std::memory_order_relaxed)) return;
  std::set_new_handler(lackMemory);
  installed.store(true, std::memory_order_relaxed);
}

Patience::~Patience() {
  state.patient = before_;
  state.tries = 0;
}

}  // namespace vg
