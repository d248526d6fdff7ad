// The grids that one grid's threads launch, and what else they queue on the device: CUDA's dynamic parallelism.
//
// A stream of a kernel is a queue like a stream of the host: launches run in its order, each over when all that it
// launched is. Blocks share a set of queues for their NULL streams, a block always meets the same; a launch into the
// fire-and-forget stream takes a queue that is idle. What goes into the tail-launch stream is kept until the grid and
// all its other children are over, and then runs in order. Parents never wait for children, so that nothing here can
// wait for itself, whoever keeps the threads busy.
//
// What differs between kinds of device is a Source. Made by the first thread that wants it, deleted by itself when all
// is over. Thread-safe. What kernels ask for throws std::bad_alloc, with nothing done, when the host has no memory;
// finish() does not, nor does what follows it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/device.h"
#include "backend/device_side/device_arguments.h"
#include "backend/queue.h"
#include "base/sync/mutex.h"
#include "base/sync/timeline.h"

namespace vg::backend {

class ChildGrids final : private Continuation {
 public:
  // What a kind of device gives, for one grid. Lives until all is over, which may be longer than the grid's own threads
  // run, and goes before anybody learns that it is. Thread-safe.
  class Source {
   public:
    virtual ~Source() = default;
    // Takes commands whatever runs, also from the continuation of a timeline.
    virtual std::unique_ptr<Queue> makeQueue() = 0;
    // The same for tail launches: takes commands once.
    virtual std::unique_ptr<Queue> makeTailQueue() { return makeQueue(); }
    // How many queues the launches of the fire-and-forget stream are spread over.
    virtual size_t mostIdleQueues() const { return 256; }
    // 256-byte aligned memory that kernels write and the host reads; null without memory.
    virtual std::byte* allocate(size_t bytes) = 0;
    virtual void release(std::byte* memory, size_t bytes) = 0;
    virtual FaultSink& faults() = 0;
    virtual const KernelLimits& limits() = 0;
  };

  // Those at `place`, which are made when there are none.
  template <class MakeSource>
  static ChildGrids& of(std::atomic<ChildGrids*>& place, MakeSource makeSource) {
    ChildGrids* const present = place.load(std::memory_order_acquire);
    return present ? *present : addTo(place, makeSource());
  }
  ChildGrids(const ChildGrids&) = delete;

  // Streams as kernels name them.
  static constexpr uint64_t kPerThread = 2, kTailLaunch = 3, kFireAndForget = 4;

  // A place for the parameters of a launch, 256-byte aligned; null without memory. `kernel` may be null until launch().
  std::byte* makeBuffer(Kernel* kernel, const LaunchShape& shape, size_t bytes);
  // Sets what the launch of a buffer is. False: there is no such buffer, or the kernel wants a larger one.
  bool describe(const std::byte* parameters, Kernel& kernel, const LaunchShape& shape);
  // False while as many launches of the grid as CUDA lets be pending have not run yet: who would launch waits for room.
  // Tail launches, which run later, fail instead.
  bool hasRoom(uint64_t stream) const;
  // Takes the buffer. `block`: the linear number of the caller's.
  RuntimeError launch(const std::byte* parameters, uint64_t stream, uint64_t block);
  // The same with a copy of parameters that are in no buffer.
  RuntimeError launchCopy(Kernel& kernel, const LaunchShape& shape, const std::byte* parameters, uint64_t stream,
                          uint64_t block);
  // A copy or a fill.
  RuntimeError queue(const Command& command, uint64_t stream, uint64_t block);

  uint64_t createStream();
  RuntimeError destroyStream(uint64_t stream);
  uint64_t createEvent();
  RuntimeError destroyEvent(uint64_t event);
  RuntimeError record(uint64_t event, uint64_t stream, uint64_t block);
  RuntimeError wait(uint64_t stream, uint64_t event, uint64_t block);

  // The last error of each thread; `thread` numbers those of the whole grid.
  void noteError(uint64_t thread, RuntimeError error);
  RuntimeError lastError(uint64_t thread, bool forget);

  FaultSink& faults() const { return source_->faults(); }

  // The grid's own threads have ended, and call nothing any more. When the answer is reached all is over.
  Point finish() noexcept VG_UNCHECKED_LOCKS;  // after the last thread

 private:
  struct Buffer;
  // A queue whose commands are numbered.
  struct Stream {
    explicit Stream(std::unique_ptr<Queue> made);
    ~Stream();
    Point last() const { return {timeline, value}; }
    CUresult submit(const Command* commands, size_t count);

    const std::unique_ptr<Queue> queue;
    Timeline* const timeline;
    uint64_t value;  // that the timeline has after the latest command
  };

  explicit ChildGrids(std::unique_ptr<Source> source);
  ~ChildGrids();
  static ChildGrids& addTo(std::atomic<ChildGrids*>& place, std::unique_ptr<Source> source);

  Stream* makeStream() VG_REQUIRES(mutex_) { return addStream(source_->makeQueue()); }
  Stream* addStream(std::unique_ptr<Queue> queue) VG_REQUIRES(mutex_);
  Stream* idleStream() VG_REQUIRES(mutex_);
  Stream* find(uint64_t stream, uint64_t block) VG_REQUIRES(mutex_);
  Buffer* newBuffer(Kernel* kernel, const LaunchShape& shape, size_t bytes);
  RuntimeError begin(Buffer* buffer, uint64_t stream, uint64_t block) VG_REQUIRES(mutex_);
  RuntimeError put(const Command& command, uint64_t stream, uint64_t block) noexcept VG_REQUIRES(mutex_);
  RuntimeError putOrThrow(const Command& command, uint64_t stream, uint64_t block) VG_REQUIRES(mutex_);
  size_t limit() const;
  // When the grid's threads have ended nobody else is here any more.
  void proceed() noexcept VG_UNCHECKED_LOCKS;                 // after the last thread
  void beginTail() noexcept VG_UNCHECKED_LOCKS;               // after the last thread
  void dropTail(CUresult error) noexcept VG_UNCHECKED_LOCKS;  // after the last thread

  static constexpr size_t kBlockStreams = 64;

  std::unique_ptr<Source> source_;
  Timeline* const over_;
  std::atomic<size_t> pending_{0};  // launches that have not run, but for tail launches
  Mutex mutex_;                     // guards what follows, until finish()
  std::unordered_map<const std::byte*, Buffer*> open_ VG_GUARDED_BY(mutex_);  // by their parameters: not launched yet
  std::vector<std::unique_ptr<Stream>> streams_ VG_GUARDED_BY(mutex_);        // all
  std::array<Stream*, kBlockStreams> blockStreams_ VG_GUARDED_BY(mutex_){};
  std::vector<Stream*> fireAndForget_ VG_GUARDED_BY(mutex_);
  std::unordered_set<uint64_t> named_ VG_GUARDED_BY(mutex_);  // streams that kernels have made and not destroyed
  std::vector<Stream*> spare_ VG_GUARDED_BY(mutex_);          // and destroyed
  std::unordered_map<uint64_t, Point> events_ VG_GUARDED_BY(mutex_);
  uint64_t lastEvent_ VG_GUARDED_BY(mutex_) = 0;
  size_t nextIdle_ VG_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, RuntimeError> errors_ VG_GUARDED_BY(mutex_);
  std::vector<Command> tail_ VG_GUARDED_BY(mutex_);
  size_t tailLaunches_ VG_GUARDED_BY(mutex_) = 0;
  size_t awaited_ VG_GUARDED_BY(mutex_) = 0;  // streams that are known to be done
};

}  // namespace vg::backend
