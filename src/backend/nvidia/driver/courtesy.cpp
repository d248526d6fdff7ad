#include "backend/nvidia/driver/courtesy.h"

#include <atomic>

#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kMoment = 200'000, kFirstMoment = 1'000'000, kPatience = 5'000'000;  // ns

constinit thread_local bool inBackground [[gnu::tls_model("initial-exec")]] = false;
constinit std::atomic<uint64_t> lastCall{0};  // of a thread that is not in the background; monotonicNanoseconds()

void noteCall(uint64_t at) {
  if (!inBackground) lastCall.store(at, std::memory_order_relaxed);
}

}  // namespace

InBackground::InBackground() {
  noteCall(monotonicNanoseconds() + kFirstMoment - kMoment);
  inBackground = true;
}
InBackground::~InBackground() { inBackground = false; }

Courtesy::Courtesy() {
  noteCall(monotonicNanoseconds());
  if (!inBackground) return;
  const uint64_t begin = monotonicNanoseconds();
  for (uint64_t now = begin; now < lastCall.load(std::memory_order_relaxed) + kMoment && now < begin + kPatience;
       now = monotonicNanoseconds())
    nap();
}

Courtesy::~Courtesy() { noteCall(monotonicNanoseconds()); }

}  // namespace vg::backend::nvidia
