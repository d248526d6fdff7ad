#include "activity/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "activity/consumer.h"
#include "activity/output_name.h"
#include "activity/ring.h"
#include "activity/summary.h"
#include "activity/timeline_file.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sync/futex.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/system/os.h"

namespace vg::activity {

constinit std::atomic<unsigned> on{0};
constinit std::atomic<bool> callsRecorded{false};
constinit std::atomic<unsigned> callsObserved{0};
constinit thread_local ThreadPart threadPart [[gnu::tls_model("initial-exec")]];

namespace {

constexpr uint64_t kPause = 5'000'000;       // ns between looks at the ring
constexpr uint64_t kPatience = 500'000'000;  // ns that who has a record waits for room
constexpr uint64_t kWakeEvery = Ring::kPlaces / 4;

// Never destroyed: threads may tell something while the process ends.
struct Recorder {
  explicit Recorder(std::vector<std::unique_ptr<Consumer>> who) : consumers(std::move(who)) {}

  Mutex consuming;  // one thread at a time
  std::vector<std::unique_ptr<Consumer>> consumers VG_GUARDED_BY(consuming);
  Ring ring;
  bool finished VG_GUARDED_BY(consuming) = false;
  std::atomic<bool> ending{false};
  std::atomic<uint32_t> signal{0};  // futex word of the thread
  std::atomic<uint64_t> lost{0};
  Recorder* parents = nullptr;  // in a child of fork(): whose thread and file are not here
};
constinit std::atomic<Recorder*> recorder{nullptr};
constinit std::atomic<uint64_t> lastNumber{0};
constinit Recorder* parentsRecorder = nullptr;
constinit Mutex starting;
constinit std::atomic<bool> tried{false};  // set under `starting`

bool consumeLocked(Recorder& r) VG_REQUIRES(r.consuming) {
  if (const uint64_t lost = r.lost.exchange(0, std::memory_order_relaxed))
    for (const auto& consumer : r.consumers) consumer->lost(lost);
  bool any = false;
  for (uint64_t i = 0; i < Ring::kPlaces; ++i) {
    Record* const record = r.ring.front();
    if (!record) break;
    any = true;
    for (const auto& consumer : r.consumers) consumer->take(*record);
    record->free();
    r.ring.pop();
  }
  return any;
}

// A consumer that lacks memory has lost the record that it was given; the next one may fare better. False where it was
// given none: there is nothing to go on with.
bool dropFront(Recorder& r) VG_REQUIRES(r.consuming) {
  Record* const record = r.ring.front();
  if (!record) return false;
  record->free();
  r.ring.pop();
  r.lost.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool consume(Recorder& r) noexcept {
  const MutexLock lock(r.consuming);
  if (r.finished) return false;
  try {
    const bool any = consumeLocked(r);
    for (const auto& consumer : r.consumers) consumer->flush();
    return any;
  } catch (const std::bad_alloc&) {
    return dropFront(r);
  }
}

void consumerThread(void* data) {
  Recorder& r = *static_cast<Recorder*>(data);
  while (!r.ending.load(std::memory_order_acquire)) {
    const uint32_t seen = r.signal.load(std::memory_order_acquire);
    if (!consume(r)) futex::wait(r.signal, seen, recording() ? &kPause : nullptr);
  }
}

void wake(Recorder& r) {
  r.signal.fetch_add(1, std::memory_order_release);
  futex::wake(r.signal, 1);
}

// Nobody wants records any more once the process ends.
void setWanted(Recorder& r, WantedBy who, bool wanted) {
  if (wanted)
    on.fetch_or(who);
  else
    on.fetch_and(~static_cast<unsigned>(who));
  if (r.ending.load()) on.store(0);
  wake(r);
}

// The ring is full: the thread that empties it has been woken, or has no processor.
Record* claimPatiently(Recorder& r, uint64_t* number) {
  const uint64_t limit = monotonicNanoseconds() + kPatience;
  wake(r);
  for (;;) {
    if (Record* const place = r.ring.claim(number)) return place;
    if (monotonicNanoseconds() > limit || !recording()) return nullptr;
    nap();
  }
}

// The thread is not there, and the file is its parent's.
void leaveInChild() {
  on.store(0);
  callsRecorded.store(false);
  // Kept as it is, because what it holds may be half done.
  if (Recorder* const r = recorder.exchange(nullptr)) r->parents = std::exchange(parentsRecorder, r);
  tried.store(false);
  threadPart = {};
}

void registerHandlers() {
  static constinit bool done = false;
  if (done) return;
  done = true;
  std::atexit(finish);
  pthread_atfork(nullptr, nullptr, leaveInChild);
}

std::vector<std::unique_ptr<Consumer>> makeConsumers() {
  std::vector<std::unique_ptr<Consumer>> consumers;
  const bool keep = truthy(settings().timelineKeep);
  if (!settings().timeline.empty())
    if (auto file = TimelineFile::open(settings().timeline, keep)) consumers.push_back(std::move(file));
  if (!settings().summary.empty() && settings().summary != "0")
    consumers.push_back(std::make_unique<Summary>(splitList(settings().summary), keep));
  return consumers;
}

// Null where there is no thread for it.
Recorder* begin(std::vector<std::unique_ptr<Consumer>> consumers) VG_REQUIRES(starting) {
  auto made = std::make_unique<Recorder>(std::move(consumers));
  registerHandlers();
  if (!os::startThread("vg-timeline", consumerThread, made.get())) return nullptr;
  recorder.store(made.get(), std::memory_order_release);
  return made.release();
}

void beginForSettings() VG_REQUIRES(starting) {
  auto consumers = makeConsumers();
  if (consumers.empty()) return;
  Recorder* r = recorder.load(std::memory_order_acquire);  // a profiler was earlier
  if (r) {
    const MutexLock lock(r->consuming);
    for (auto& consumer : consumers) r->consumers.push_back(std::move(consumer));
  } else if (r = begin(std::move(consumers)); !r) {
    VG_LOG(Warn, "no thread for the timeline: the system refused one; the program runs without it");
    return;
  }
  setWanted(*r, BySettings, true);
  callsRecorded.store(true);
  callsObserved.fetch_or(ByRecorder);
}

}  // namespace

void start() {
  if (settings().timeline.empty() && settings().summary.empty()) return;
  const MutexLock lock(starting);
  if (tried.exchange(true)) return;
  try {
    beginForSettings();
  } catch (const std::bad_alloc&) {
    VG_LOG(Warn, "no memory for the timeline: the program runs without it");
  }
}

void finish() {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  if (!r || r->ending.exchange(true)) return;
  on.store(0);
  wake(*r);
  const MutexLock lock(r->consuming);
  try {
    while (consumeLocked(*r)) {
    }
    for (const auto& consumer : r->consumers) consumer->finish();
  } catch (const std::bad_alloc&) {
    VG_LOG(Warn, "no memory: the end of the timeline is missing");
  }
  r->finished = true;
}

bool add(std::unique_ptr<Consumer> consumer) noexcept try {
  const MutexLock lock(starting);
  if (Recorder* const r = recorder.load(std::memory_order_acquire)) {
    const MutexLock consuming(r->consuming);
    r->consumers.push_back(std::move(consumer));
    return true;
  }
  std::vector<std::unique_ptr<Consumer>> consumers;
  consumers.push_back(std::move(consumer));
  return begin(std::move(consumers));
} catch (const std::bad_alloc&) {
  return false;
}

void want(bool records) {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  if (r) setWanted(*r, ByAdded, records);
}

void passOn() noexcept {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  if (!r) return;
  while (consume(*r)) {
  }
}

void tell(const Record& record) noexcept {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  uint64_t number = 0;
  Record* place = r ? r->ring.claim(&number) : nullptr;
  if (!place && r) [[unlikely]]
    place = claimPatiently(*r, &number);
  if (!place) [[unlikely]] {
    if (r) r->lost.fetch_add(1, std::memory_order_relaxed);
    Record dropped = record;
    return dropped.free();
  }
  *place = record;
  r->ring.publish(number);
  if (number % kWakeEvery == kWakeEvery - 1) [[unlikely]]
    wake(*r);
}

uint32_t threadNumber() {
  if (!threadPart.number) [[unlikely]]
    threadPart.number = static_cast<uint32_t>(syscall(SYS_gettid));
  return threadPart.number;
}

uint64_t nextNumber() { return lastNumber.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace vg::activity
