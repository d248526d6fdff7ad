#include "backend/nvidia/driver/courtesy.h"

#include <atomic>

#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kMoment = 200'000, kPatience = 5'000'000;  // ns

constinit thread_local bool inBackground [[gnu::tls_model("initial-exec")]] = false;
constinit std::atomic<uint64_t> lastCall{0};  // of a thread that is not in the background; monotonicNanoseconds()

void noteCall() {
  if (!inBackground) lastCall.store(monotonicNanoseconds(), std::memory_order_relaxed);
}

}  // namespace

InBackground::InBackground() { inBackground = true; }
InBackground::~InBackground() { inBackground = false; }

Courtesy::Courtesy() {
  noteCall();
  if (!inBackground) return;
  const uint64_t begin = monotonicNanoseconds();
  for (uint64_t now = begin; now < lastCall.load(std::memory_order_relaxed) + kMoment && now < begin + kPatience;
       now = monotonicNanoseconds())
    nap();
}

Courtesy::~Courtesy() { noteCall(); }

}  // namespace vg::backend::nvidia
