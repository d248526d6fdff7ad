#include "check/memory/store_under_way.h"

#include <time.h>

#include <algorithm>
#include <vector>

#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/undying.h"

namespace vg::check {
namespace {

constexpr uint64_t kSpin = 20'000;  // ns
constexpr int kPauses = 1000;       // of a tenth of a millisecond; the other's thread may have no processor

struct All {
  Mutex mutex;
  std::vector<const StoreUnderWay*> each VG_GUARDED_BY(mutex);
};
All& all() { return undying<All, All>(); }  // never destroyed

}  // namespace

StoreUnderWay::StoreUnderWay() {
  const MutexLock lock(all().mutex);
  all().each.push_back(this);
}

StoreUnderWay::~StoreUnderWay() {
  const MutexLock lock(all().mutex);
  std::erase(all().each, this);
}

void StoreUnderWay::begins(uint64_t id, uint64_t address, uint64_t bytes) {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  if (!(state & 1)) {
    id_.store(id, std::memory_order_relaxed);
    from_.store(address, std::memory_order_relaxed);
    end_.store(address + bytes, std::memory_order_relaxed);
    state_.store(state + 1, std::memory_order_release);
    return;
  }
  from_.store(std::min(from_.load(std::memory_order_relaxed), address), std::memory_order_relaxed);
  end_.store(std::max(end_.load(std::memory_order_relaxed), address + bytes), std::memory_order_release);
}

bool StoreUnderWay::covers(uint64_t id, uint64_t address, uint64_t bytes) const {
  return id_.load(std::memory_order_relaxed) == id && from_.load(std::memory_order_relaxed) < address + bytes &&
         address < end_.load(std::memory_order_relaxed);
}

void StoreUnderWay::await(uint64_t id, uint64_t address, uint64_t bytes) {
  const StoreUnderWay* other = nullptr;
  uint64_t state = 0;
  {
    const MutexLock lock(all().mutex);
    for (const StoreUnderWay* const each : all().each) {
      const uint64_t now = each->state_.load(std::memory_order_acquire);
      if ((now & 1) && each->covers(id, address, bytes)) {
        other = each;
        state = now;
      }
    }
  }
  const auto over = [&] { return !other || other->state_.load(std::memory_order_acquire) != state; };
  if (spinUntil(over, kSpin)) return;
  for (int k = 0; k < kPauses && !over(); ++k) {
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace vg::check
