#include "activity/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "activity/chunks.h"
#include "activity/consumer.h"
#include "activity/output_name.h"
#include "activity/summary.h"
#include "activity/timeline_file.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sync/futex.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/sync/spin_lock.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::activity {

constinit std::atomic<unsigned> on{0};
constinit std::atomic<bool> callsRecorded{false};
constinit std::atomic<unsigned> callsObserved{0};
constinit thread_local ThreadPart threadPart [[gnu::tls_model("initial-exec")]];

namespace {

constexpr uint64_t kPause = 5'000'000;       // ns between looks at what was told
constexpr uint64_t kPatience = 500'000'000;  // ns that who has a record waits for room
constexpr uint64_t kNumbersAtOnce = 64;

// Packets beside those of a RecordKind: a launch, and calls and launches that say what one before them in the chunk
// said, but for numbers and times. That is most of them, and what another processor has to fetch is short so.
constexpr uint32_t kLaunchPacket = 100, kCallAgain = 101, kLaunchAgain = 102;
struct CallAgain {
  uint64_t correlation, begin;
  uint32_t lasted;  // ns
  uint32_t at;      // of the whole one's packet in the chunk
};
struct LaunchAgain {
  uint64_t correlation, outer, submitted, id, begin;
  uint32_t lasted, at;  // as above
};

// Launches that nobody uses: who launches takes them, and who tells of them gives them back, which is what memory
// allocators are slow at. Both look at the list once in a batch. They are kept.
class SpareLaunches {
 public:
  static constexpr unsigned kBatch = 64;

  // Linked by `next`. Null where there is no memory.
  Launch* takeBatch() noexcept {
    {
      const SpinGuard guard(lock_);
      if (Launch* const batch = first_) {
        first_ = batch->nextBatch;
        return batch;
      }
    }
    Launch* const fresh = new (std::nothrow) Launch[kBatch];
    for (unsigned i = 0; fresh && i < kBatch; ++i) fresh[i].next = i + 1 < kBatch ? &fresh[i + 1] : nullptr;
    return fresh;
  }
  void give(Launch* batch) noexcept {
    if (!batch) return;
    const SpinGuard guard(lock_);
    batch->nextBatch = first_;
    first_ = batch;
  }
  // In a child of fork(): a thread that is not there may have held the lock.
  void forget() noexcept { new (this) SpareLaunches; }

 private:
  SpinLock lock_;
  Launch* first_ VG_GUARDED_BY(lock_) = nullptr;
};
constinit SpareLaunches spareLaunches;

// Never destroyed: threads may tell something while the process ends.
struct Recorder {
  explicit Recorder(std::vector<std::unique_ptr<Consumer>> who) : consumers(std::move(who)) {}

  Mutex consuming;  // one thread at a time
  std::vector<std::unique_ptr<Consumer>> consumers VG_GUARDED_BY(consuming);
  Chunks chunks;
  bool taking VG_GUARDED_BY(consuming) = false;  // a packet is being consumed
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

// Of work that is a launch, all that consumers may look at.
void fill(Work& work, const Launch& launch) {
  work.kind = WorkKind::Kernel;
  work.copy = CopyKind::Unknown;
  work.pageable = false;
  work.to = work.from = Place::Unknown;
  work.cooperative = launch.cooperative;
  work.origin = launch.origin;
  work.id = launch.id;
  work.begin = std::max(launch.begin, launch.origin.submitted);
  work.end = std::max(launch.end, work.begin);
  work.bytes = 0;
  std::memcpy(work.grid, launch.grid, sizeof work.grid);
  std::memcpy(work.block, launch.block, sizeof work.block);
  std::copy(std::begin(launch.cluster), std::end(launch.cluster), work.cluster);
  work.dynamicShared = launch.dynamicShared;
  work.value = work.nodes = 0;
  work.kernel = launch.kernel;
}

// All parts begin at one place.
void* partOf(Record& record) { return &record.call; }
const void* partOf(const Record& record) { return &record.call; }
constexpr size_t partSize(RecordKind kind) {
  switch (kind) {
    case RecordKind::Call:
      return sizeof(Call);
    case RecordKind::Work:
      return sizeof(Work);
    case RecordKind::Memory:
      return sizeof(Memory);
    case RecordKind::Note:
      return sizeof(Note);
    case RecordKind::Name:
      return sizeof(Name);
  }
  return 0;
}

template <class Body>
Body bodyOf(const PacketHead& head) {
  Body body;
  std::memcpy(&body, &head + 1, sizeof body);
  return body;
}

void readWhole(const PacketHead& head, Record& record) {
  if (head.kind == kLaunchPacket) {
    record.kind = RecordKind::Work;
    fill(record.work, bodyOf<Launch>(head));
  } else {
    record.kind = static_cast<RecordKind>(head.kind);
    std::memcpy(partOf(record), &head + 1, head.size - sizeof head);
  }
}

// `chunk`: what the packet lies in.
void readPacket(const PacketHead& head, const std::byte* chunk, Record& record) {
  const auto wholeAt = [chunk](uint32_t at) -> const PacketHead& {
    return *reinterpret_cast<const PacketHead*>(chunk + at);
  };
  if (head.kind == kCallAgain) {
    const auto again = bodyOf<CallAgain>(head);
    readWhole(wholeAt(again.at), record);
    record.call.correlation = again.correlation;
    record.call.begin = again.begin;
    record.call.end = again.begin + again.lasted;
  } else if (head.kind == kLaunchAgain) {
    const auto again = bodyOf<LaunchAgain>(head);
    auto launch = bodyOf<Launch>(wholeAt(again.at));
    launch.origin.correlation = again.correlation;
    launch.origin.outer = again.outer;
    launch.origin.submitted = again.submitted;
    launch.id = again.id;
    launch.begin = again.begin;
    launch.end = again.begin + again.lasted;
    record.kind = RecordKind::Work;
    fill(record.work, launch);
  } else {
    readWhole(head, record);
  }
}

void takePacket(Recorder& r, const PacketHead& head, const std::byte* chunk) VG_REQUIRES(r.consuming) {
  Record record;
  readPacket(head, chunk, record);
  struct Freed {
    Record& record;
    ~Freed() { record.free(); }
  } const freed{record};
  r.taking = true;
  for (const auto& consumer : r.consumers) consumer->take(record);
  r.taking = false;
}

bool consumeLocked(Recorder& r) VG_REQUIRES(r.consuming) {
  if (const uint64_t lost = r.lost.exchange(0, std::memory_order_relaxed))
    for (const auto& consumer : r.consumers) consumer->lost(lost);
  // The lock is held: that is not seen through read().
  return r.chunks.read([&r](const PacketHead& head, const std::byte* chunk)
                           VG_UNCHECKED_LOCKS { takePacket(r, head, chunk); });
}

// A consumer that lacks memory has lost the record that it was given; the next one may fare better. False where it was
// given none: there is nothing to go on with.
bool lostOne(Recorder& r) VG_REQUIRES(r.consuming) {
  if (!std::exchange(r.taking, false)) return false;
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
    return lostOne(r);
  }
}

void consumerThread(void* data) {
  Recorder& r = *static_cast<Recorder*>(data);
  while (!r.ending.load(std::memory_order_acquire)) {
    const uint32_t seen = r.signal.load(std::memory_order_acquire);
    const bool asked = recording();
    asked ? tick_clock::keep() : tick_clock::rest();
    const bool any = consume(r);
    // Whoever reads what is being written slows down who writes it, so a pause comes first where little waits.
    if (!r.chunks.manyWait()) futex::wait(r.signal, seen, asked || any ? &kPause : nullptr);
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

// Too much waits: the thread that consumes it has been woken, or has no processor.
std::byte* claimPatiently(Recorder& r, uint32_t bytes) {
  const uint64_t limit = monotonicNanoseconds() + kPatience;
  wake(r);
  for (;;) {
    if (std::byte* const place = r.chunks.claim(threadPart.chunk, bytes)) return place;
    if (monotonicNanoseconds() > limit || !recording()) return nullptr;
    nap();
  }
}

// What the thread's chunk held is in another one now.
void forgetWholes() {
  for (ThreadPart::Whole& call : threadPart.calls) call.of = nullptr;
  for (ThreadPart::Whole& kernel : threadPart.kernels) kernel.of = nullptr;
}

// Ends what the calling thread has for telling.
void leaveThread(void*) {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  forgetWholes();
  if (Chunk* const chunk = std::exchange(threadPart.chunk, nullptr); chunk && r) r->chunks.close(chunk);
  spareLaunches.give(std::exchange(threadPart.launches, nullptr));
  spareLaunches.give(std::exchange(threadPart.told, nullptr));
  threadPart.toldCount = 0;
}
constinit pthread_key_t threadEnds = 0;  // made by registerHandlers()

[[gnu::cold, gnu::noinline]] std::byte* claimSlowly(Recorder& r, uint32_t bytes) {
  forgetWholes();
  std::byte* place = r.chunks.claim(threadPart.chunk, bytes);
  if (!place) place = claimPatiently(r, bytes);
  if (place) pthread_setspecific(threadEnds, place);  // any value but null
  if (r.chunks.manyWait()) wake(r);
  return place;
}

// Who only launches tells nothing itself, but has a batch to give back when it ends.
[[gnu::cold, gnu::noinline]] Launch* takeBatch() noexcept {
  Launch* const batch = spareLaunches.takeBatch();
  if (batch && recorder.load(std::memory_order_acquire)) pthread_setspecific(threadEnds, batch);
  return batch;
}

constexpr uint32_t packetOf(size_t size) { return static_cast<uint32_t>((sizeof(PacketHead) + size + 7) / 8 * 8); }

inline bool hasRoom(const Chunk* chunk, uint32_t bytes) {
  return chunk && chunk->filled.load(std::memory_order_relaxed) + bytes <= Chunk::kBytes;
}

// Runs `put(recorder)` where the calling thread may tell something; the answer is false, as is put()'s, if that is
// lost.
template <class Put>
inline bool telling(Put put) noexcept {
  Recorder* const r = recorder.load(std::memory_order_acquire);
  if (!r) return false;
  const bool free = !threadPart.telling;
  bool told = false;
  if (free) [[likely]] {
    threadPart.telling = true;
    told = put(*r);
    threadPart.telling = false;
  }
  if (!told) [[unlikely]]
    r->lost.fetch_add(1, std::memory_order_relaxed);
  return told;
}

// What the thread tells, of a head and these bytes. Null: it is lost. Else where it stands in the thread's chunk.
inline std::byte* put(Recorder& r, uint32_t kind, const void* body, size_t size) noexcept {
  const uint32_t bytes = packetOf(size);
  std::byte* const place = hasRoom(threadPart.chunk, bytes) ? r.chunks.claim(threadPart.chunk, bytes)  //
                                                            : claimSlowly(r, bytes);
  if (!place) return nullptr;
  const PacketHead head{kind, bytes};
  std::memcpy(place, &head, sizeof head);
  std::memcpy(place + sizeof head, body, size);
  Chunks::publish(threadPart.chunk, bytes);
  return place;
}

// The same of what later packets may refer to, as long as the chunk has room.
inline bool putWhole(Recorder& r, ThreadPart::Whole& whole, const void* of, uint32_t kind, const void* body,
                     size_t size) noexcept {
  whole.of = nullptr;
  const std::byte* const place = put(r, kind, body, size);
  if (!place) return false;
  whole = {of, static_cast<uint32_t>(place - threadPart.chunk->bytes)};
  return true;
}

// What the whole one says behind its head; null where there is none of that, or no room for a packet that refers to it.
template <class Again>
inline const std::byte* saidBy(const ThreadPart::Whole& whole, const void* of) {
  const Chunk* const chunk = threadPart.chunk;
  if (whole.of != of || !hasRoom(chunk, packetOf(sizeof(Again)))) return nullptr;
  return chunk->bytes + whole.at + sizeof(PacketHead);
}

constexpr size_t sizeOf(const Call& call) { return offsetof(Call, arguments) + call.count * sizeof *call.arguments; }

bool isAgain(const std::byte* said, const Call& call) {
  const auto& whole = *reinterpret_cast<const Call*>(said);
  return call.end - call.begin <= UINT32_MAX && whole.result == call.result && whole.thread == call.thread &&
         whole.count == call.count && whole.submitted == call.submitted &&
         !std::memcmp(whole.arguments, call.arguments, call.count * sizeof *call.arguments);
}

bool isAgain(const std::byte* said, const Launch& launch) {
  constexpr size_t from = offsetof(Launch, origin) + offsetof(Origin, stream);
  constexpr size_t to = offsetof(Launch, cooperative) + sizeof launch.cooperative;
  return launch.end >= launch.begin && launch.end - launch.begin <= UINT32_MAX &&
         !std::memcmp(said + from, reinterpret_cast<const std::byte*>(&launch) + from, to - from);
}

bool putLaunch(Recorder& r, const Launch& launch) noexcept {
  ThreadPart::Whole& whole = threadPart.kernels[reinterpret_cast<uintptr_t>(launch.kernel) / 64 % 2];
  const std::byte* const said = saidBy<LaunchAgain>(whole, launch.kernel);
  if (!said || !isAgain(said, launch)) return putWhole(r, whole, launch.kernel, kLaunchPacket, &launch, sizeof launch);
  const LaunchAgain again{launch.origin.correlation,
                          launch.origin.outer,
                          launch.origin.submitted,
                          launch.id,
                          launch.begin,
                          static_cast<uint32_t>(launch.end - launch.begin),
                          whole.at};
  return put(r, kLaunchAgain, &again, sizeof again);
}

bool putCall(Recorder& r, const Call& call) noexcept {
  const auto of = reinterpret_cast<const void*>(call.describe);
  ThreadPart::Whole& whole = threadPart.calls[reinterpret_cast<uintptr_t>(of) / 64 % std::size(threadPart.calls)];
  const std::byte* const said = saidBy<CallAgain>(whole, of);
  if (!said || !isAgain(said, call))
    return putWhole(r, whole, of, static_cast<uint32_t>(RecordKind::Call), &call, sizeOf(call));
  const CallAgain again{call.correlation, call.begin, static_cast<uint32_t>(call.end - call.begin), whole.at};
  return put(r, kCallAgain, &again, sizeof again);
}

// The thread is not there, and the file is its parent's.
void leaveInChild() {
  on.store(0);
  callsRecorded.store(false);
  // Kept as it is, because what it holds may be half done.
  if (Recorder* const r = recorder.exchange(nullptr)) r->parents = std::exchange(parentsRecorder, r);
  tried.store(false);
  threadPart = {};
  spareLaunches.forget();
  tick_clock::rest();
}

bool registerHandlers() {
  static constinit bool done = false;
  if (done) return true;
  if (pthread_key_create(&threadEnds, leaveThread)) return false;
  done = true;
  std::atexit(finish);
  pthread_atfork(nullptr, nullptr, leaveInChild);
  return true;
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
  if (!registerHandlers() || !os::startThread("vg-timeline", consumerThread, made.get())) return nullptr;
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
  const auto kind = static_cast<uint32_t>(record.kind);
  if (telling([&](Recorder& r) { return put(r, kind, partOf(record), partSize(record.kind)) != nullptr; })) return;
  Record lost = record;
  lost.free();
}

void tell(const Call& call) noexcept {
  telling([&call](Recorder& r) { return putCall(r, call); });
}

Launch* takeLaunch() noexcept {
  Launch* launch = threadPart.launches;
  if (!launch && (launch = std::exchange(threadPart.told, nullptr))) threadPart.toldCount = 0;
  if (!launch && !(launch = takeBatch())) return nullptr;
  threadPart.launches = launch->next;
  return launch;
}

void tell(Launch* launch) noexcept {
  telling([launch](Recorder& r) { return putLaunch(r, *launch); });
  drop(launch);
}

// Who runs what others launch gives whole batches back to them.
void drop(Launch* launch) noexcept {
  launch->next = std::exchange(threadPart.told, launch);
  if (++threadPart.toldCount < SpareLaunches::kBatch) return;
  threadPart.toldCount = 0;
  Launch* const batch = std::exchange(threadPart.told, nullptr);
  if (threadPart.launches)
    spareLaunches.give(batch);
  else
    threadPart.launches = batch;
}

const KernelFacts* kernelFacts(std::string_view name, uint32_t registers, uint32_t local,
                               uint32_t staticShared) noexcept try {
  using Key = std::tuple<std::string, uint32_t, uint32_t, uint32_t>;
  auto& known = undying<std::map<Key, KernelFacts>, struct KnownKernels>();
  static constinit Mutex mutex;
  const MutexLock lock(mutex);
  const auto [found, fresh] = known.try_emplace(Key(name, registers, local, staticShared));
  if (fresh) found->second = {std::get<0>(found->first), registers, local, staticShared};
  return &found->second;
} catch (const std::bad_alloc&) {
  static constexpr KernelFacts kNoMemory{"a kernel", 0, 0, 0};
  return &kNoMemory;
}

uint32_t threadNumber() {
  if (!threadPart.number) [[unlikely]]
    threadPart.number = static_cast<uint32_t>(syscall(SYS_gettid));
  return threadPart.number;
}

uint64_t takeNumbers() noexcept {
  const uint64_t before = lastNumber.fetch_add(kNumbersAtOnce, std::memory_order_relaxed);
  threadPart.nextNumber = before + 1;
  threadPart.lastNumber = before + kNumbersAtOnce;
  return before + 1;
}

}  // namespace vg::activity
