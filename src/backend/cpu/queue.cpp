#include "backend/cpu/queue.h"

#include <memory>
#include <new>
#include <vector>

#include "backend/cpu/device.h"
#include "backend/cpu/kernel_image.h"
#include "base/spin.h"
#include "copy/copy.h"

namespace vg::backend::cpu {
namespace {

constexpr int kTurn = 32;  // commands after which a queue lets others have its thread

// The compute threads as the copy engines see them.
class WorkerParallel final : public copy::Parallel {
 public:
  explicit WorkerParallel(Workers& workers) : workers_(workers) {}
  unsigned width() const override { return workers_.count(); }
  void run(size_t chunks, void (*body)(void*, size_t), void* state) override {
    struct Pieces {
      void (*body)(void*, size_t);
      void* state;
    } pieces{body, state};
    const auto runPieces = [](void* raw, uint32_t, uint64_t first, uint64_t end) {
      const Pieces& p = *static_cast<Pieces*>(raw);
      for (uint64_t i = first; i < end; ++i) p.body(p.state, i);
    };
    workers_.runGrid(chunks, workers_.count(), runPieces, &pieces, 1);
  }

 private:
  Workers& workers_;
};

// Commands in a ring that grows; trim() gives back what a burst left behind.
class Ring {
 public:
  struct Entry {
    Command command;
    Point done;  // advanced after the command
  };

  bool empty() const { return first_ == end_; }
  const Entry& front() const { return entries_[first_ & mask()]; }
  void pop() { ++first_; }
  void push(const Command& command, Point done) { entries_[end_++ & mask()] = {command, done}; }
  // Room for `count` more. Throws std::bad_alloc.
  void reserve(size_t count) {
    const size_t used = end_ - first_;
    if (used + count <= entries_.size()) return;
    size_t size = entries_.empty() ? 16 : entries_.size();
    while (size < used + count) size *= 2;
    std::vector<Entry> larger(size);
    for (size_t i = 0; i < used; ++i) larger[i] = entries_[(first_ + i) & mask()];
    entries_.swap(larger);
    first_ = 0;
    end_ = used;
  }
  // Requires: empty().
  void trim() {
    constexpr size_t kKept = 4096;  // entries
    if (entries_.size() > kKept) std::vector<Entry>().swap(entries_);
  }

 private:
  size_t mask() const { return entries_.size() - 1; }

  std::vector<Entry> entries_;  // a power of two of them
  size_t first_ = 0, end_ = 0;
};

}  // namespace

// Invariants: `scheduled_` is true from the submit that finds the ring empty until a thread finds it empty again;
// meanwhile exactly one of these holds: it is in the executor's lists, a thread is in run(), or it is parked on a
// timeline. One reference belongs to the queue, one to `scheduled_`.
class CpuQueue::Work final : public Executor::Task, private Continuation {
 public:
  Work(const CpuDevice& device, Executor& executor, unsigned urgency)
      : device_(device), executor_(executor), urgency_(urgency) {
    Continuation::run = [](Continuation* self) { static_cast<Work*>(self)->schedule(); };
  }

  CUresult submit(const Command* commands, size_t count, Point done) {
    {
      SpinGuard guard(lock_);
      try {
        ring_.reserve(count ? count : 1);
      } catch (const std::bad_alloc&) {
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "no room for %zu commands in a queue", count);
      }
      for (size_t i = 0; i + 1 < count; ++i) ring_.push(commands[i], {});
      ring_.push(count ? commands[count - 1] : Command(Wait{}), done);
      if (scheduled_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
      scheduled_.store(true, std::memory_order_relaxed);
      references_.fetch_add(1, std::memory_order_relaxed);
    }
    schedule();
    return CUDA_SUCCESS;
  }

  bool idle() const { return !scheduled_.load(std::memory_order_acquire); }

  bool tryInline(const Command& command) {
    if (std::holds_alternative<HostCall>(command) || std::holds_alternative<Wait>(command)) return false;
    if (const auto* launch = std::get_if<LaunchCommand>(&command))
      if (!launch->record->kernel->inlineSafe(launch->record->shape)) return false;
    execute(command);
    return true;
  }

  void unreference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  void run() override {
    for (int turn = 0;; ++turn) {
      if (turn >= kTurn && executor_.congested()) return schedule();
      Ring::Entry entry;
      {
        SpinGuard guard(lock_);
        if (ring_.empty()) {
          ring_.trim();
          scheduled_.store(false, std::memory_order_release);
          break;
        }
        entry = ring_.front();
      }
      if (const auto* wait = std::get_if<Wait>(&entry.command); wait && park(wait->point)) return;
      {
        SpinGuard guard(lock_);
        ring_.pop();
      }
      if (!executor_.closing()) execute(entry.command);
      if (entry.done.timeline) entry.done.timeline->advance(entry.done.value);
    }
    unreference();
  }

 private:
  ~Work() = default;

  void schedule() { executor_.schedule(*this, urgency_); }

  // True when the point is not reached yet: then run() is called again once it is, perhaps before this returns.
  bool park(Point point) {
    if (point.done()) return false;
    Continuation::value = point.value;
    return point.timeline->whenReached(this);
  }

  void execute(const Command& command) {
    std::visit([this](const auto& c) { perform(c); }, command);
  }
  void perform(const CopyCommand& c) {
    WorkerParallel parallel(device_.workers());
    if (!copy::copy(c.shape, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  void perform(const FillCommand& c) {
    WorkerParallel parallel(device_.workers());
    if (!copy::fill(c.fill, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  // After a device fault the context's kernels do not run any more.
  void perform(const LaunchCommand& c) {
    if (c.faults->state() == CUDA_SUCCESS) (void)runLaunch(device_, *c.record, *c.faults);
    if (c.record->release) c.record->release(c.record);
  }
  void perform(const HostCall& c) {
    Executor::Blocking blocking(executor_);
    c.function(c.data);
  }
  void perform(const Wait&) {}
  void perform(const Write& c) { c.timeline->advance(c.value); }
  void perform(const Timestamp& c) { *c.nanoseconds = device_.timestamp(); }

  const CpuDevice& device_;
  Executor& executor_;
  const unsigned urgency_;
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> lock_{0};  // guards ring_ and setting scheduled_
  std::atomic<bool> scheduled_{false};
  Ring ring_;
};

CpuQueue::CpuQueue(const CpuDevice& device, Executor& executor, unsigned urgency)
    : work_(new Work(device, executor, urgency)) {}
CpuQueue::~CpuQueue() { work_->unreference(); }

CUresult CpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submit(commands, count, done);
}
bool CpuQueue::idle() const { return work_->idle(); }
bool CpuQueue::tryInline(const Command& command) { return work_->tryInline(command); }

}  // namespace vg::backend::cpu
