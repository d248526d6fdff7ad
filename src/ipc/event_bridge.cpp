#include "ipc/event_bridge.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <vector>

#include "base/sync/futex.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::ipc {
namespace {

constexpr uint64_t kLookPeriod = 100'000'000;  // ns between looks after the recorders
constexpr uint64_t kPollPeriod = 1'000'000;    // ns where not all signals can be slept on at once
constexpr size_t kMostWords = 128;             // of one sleep

struct Pending {
  std::shared_ptr<SharedEvent> event;
  uint64_t ticket;
  Point point;
};

// One word that a thread sleeps on with others (the kernel's struct futex_waitv, since Linux 5.16).
struct Word {
  uint64_t expected, address;
  uint32_t flags, reserved;
};
constexpr long kFutexWaitv = 449;
constexpr uint32_t kWord32 = 2;  // FUTEX_32

// False when the system cannot do it.
bool sleepOnAll(const Word* words, size_t count, uint64_t nanoseconds) {
  const uint64_t until = monotonicNanoseconds() + nanoseconds;
  const timespec limit{time_t(until / 1'000'000'000), long(until % 1'000'000'000)};
  return syscall(kFutexWaitv, words, count, 0, &limit, CLOCK_MONOTONIC) >= 0 || (errno != ENOSYS && errno != EPERM);
}

class Bridge {
 public:
  Result<Point> add(const std::shared_ptr<SharedEvent>& event, uint64_t ticket) {
    const MutexLock lock(mutex_);
    for (const Pending& pending : pending_)
      if (pending.event == event && pending.ticket == ticket) return pending.point;
    if (!started_ && !os::startThread(
                         "vg-ipc-wait", [](void* self) { static_cast<Bridge*>(self)->run(); }, this))
      return CUDA_ERROR_OUT_OF_MEMORY;
    started_ = true;
    pending_.reserve(pending_.size() + 1);
    Timeline* timeline = Timeline::create();
    const Point point{timeline, timeline->value() + 1};
    pending_.push_back({event, ticket, point});
    wake_.fetch_add(1, std::memory_order_release);
    futex::wakeAll(wake_);
    return point;
  }

 private:
  void run() {
    uint64_t looked = monotonicNanoseconds();
    for (;;) {
      const uint32_t seen = wake_.load(std::memory_order_acquire);
      std::array<Pending, kMostWords> room;  // no memory is asked for: who waits would wait for ever without it
      const std::span<const Pending> now = copy(room);
      const bool look = monotonicNanoseconds() - looked >= kLookPeriod;
      if (look) looked = monotonicNanoseconds();
      if (now.empty()) {
        futex::wait(wake_, seen);
      } else if (!settleSome(now, look)) {
        sleep(now, seen);
      }
    }
  }

  // As many as there is room for; others at the next time.
  std::span<const Pending> copy(std::span<Pending> room) {
    const MutexLock lock(mutex_);
    const size_t count = std::min(room.size(), pending_.size());
    for (size_t i = 0; i < count; ++i) room[i] = pending_[++turn_ % pending_.size()];
    return room.first(count);
  }

  // Advances what is reached or lost; false when there was nothing.
  bool settleSome(std::span<const Pending> all, bool look) {
    bool some = false;
    for (const Pending& pending : all) {
      SharedEvent::Outcome outcome = pending.event->outcome(pending.ticket);
      if (outcome == SharedEvent::Outcome::Pending && look) outcome = pending.event->lookAfter(pending.ticket);
      if (outcome == SharedEvent::Outcome::Pending) continue;
      some = true;
      {
        const MutexLock lock(mutex_);
        std::erase_if(pending_, [&](const Pending& other) { return other.point.timeline == pending.point.timeline; });
      }
      pending.point.timeline->advance(pending.point.value);
      Timeline::destroy(pending.point.timeline);
    }
    return some;
  }

  void sleep(std::span<const Pending> all, uint32_t seen) {
    Word words[kMostWords] = {{seen, reinterpret_cast<uintptr_t>(&wake_), kWord32 | FUTEX_PRIVATE_FLAG, 0}};
    std::optional<SharedEvent::Sleeper> sleepers[kMostWords];
    size_t count = 1;
    bool settled = false;
    for (size_t i = 0; i < all.size() && count < kMostWords && !settled; ++i, ++count) {
      sleepers[count].emplace(*all[i].event);
      const std::atomic<uint32_t>& signal = all[i].event->signal();
      words[count] = {signal.load(std::memory_order_seq_cst), reinterpret_cast<uintptr_t>(&signal), kWord32, 0};
      settled = all[i].event->outcome(all[i].ticket) != SharedEvent::Outcome::Pending;
    }
    if (settled) return;
    const uint64_t limit = all.size() < kMostWords ? kLookPeriod : kPollPeriod;
    if (canSleepOnAll_ && sleepOnAll(words, count, limit)) return;
    canSleepOnAll_ = false;
    futex::wait(wake_, seen, &kPollPeriod);
  }

  Mutex mutex_;
  std::vector<Pending> pending_ VG_GUARDED_BY(mutex_);
  size_t turn_ = 0;  // the thread's
  bool started_ VG_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> wake_{0};  // futex word: something was added
  bool canSleepOnAll_ = true;      // the thread's
};

Bridge& bridge() { return undying<Bridge, Bridge>(); }

}  // namespace

Result<Point> pointOf(const std::shared_ptr<SharedEvent>& event, uint64_t ticket) {
  if (event->outcome(ticket) != SharedEvent::Outcome::Pending) return Point{};
  return bridge().add(event, ticket);
}

}  // namespace vg::ipc
