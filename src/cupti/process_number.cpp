#include "cupti/process_number.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace vg::cupti {
namespace {

constinit std::atomic<uint32_t> known{0};
void forget() { known.store(0, std::memory_order_relaxed); }

}  // namespace

uint32_t processNumber() {
  static const bool forgets = !pthread_atfork(nullptr, nullptr, forget);
  uint32_t number = known.load(std::memory_order_relaxed);
  if (number) return number;
  number = static_cast<uint32_t>(getpid());
  if (forgets) known.store(number, std::memory_order_relaxed);
  return number;
}

}  // namespace vg::cupti
