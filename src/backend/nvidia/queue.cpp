#include "backend/nvidia/queue.h"

#include "backend/device_side/updatable_node.h"
#include "backend/nvidia/sent_work.h"
#include "backend/queues/command_failure.h"
#include "base/sync/claim.h"
#include "base/sync/mutex.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {

// What goes to the GPU and needs nobody beside it is sent by the calling thread (SentWork) as long as everything before
// it was. A thread of the executor does all else, and sends what comes behind that as it gets there; before it does
// anything itself it waits until all that was sent has ended.
class GpuQueue::Work final : public SerialWork {
 public:
  Work(QueueParts& parts, Executor& executor, unsigned urgency, const std::array<uint32_t, 4>& disabledTpcs)
      : SerialWork(executor, urgency),
        parts_(parts),
        executor_(executor),
        sent_(std::make_shared<SentWork>(parts, disabledTpcs)) {
    sent_->setUrgency(urgency);
  }

  // Of threads of the host, and of grids.
  void setPriority(unsigned urgency) {
    setUrgency(urgency);
    sent_->setUrgency(urgency);
  }

  CUresult submitAll(const Command* commands, size_t count, Point done, Patience patience) {
    const MutexLock guard(order_);
    if (patience != Patience::None && count == 1 && isQuick(*commands) && idleAll() && tryInline(*commands)) {
      Claim(done).release();
      return CUDA_SUCCESS;
    }
    const Command nothing = Wait{};
    if (!count) commands = &nothing, count = 1;
    // What cannot be sent now must find room behind what was: all are taken or none.
    VG_CHECK(reserve(count));
    std::span<const Command> left(commands, count);
    if (SerialWork::idle()) left = left.subspan(send(left, done, patience));
    return left.empty() ? CUDA_SUCCESS : submit(left.data(), left.size(), done);
  }
  bool launchAtOnce(const LaunchCommand& command, Point done) noexcept {
    if (!order_.try_lock()) return false;
    const MutexLock guard(order_, std::adopt_lock);
    if (!SerialWork::idle()) return false;
    const Command launch = command;
    return send(std::span(&launch, 1), done, Patience::None);
  }
  std::unique_ptr<PreparedLaunches> prepare(std::span<const ChainedWork> launches) const {
    return sent_->prepare(launches);
  }
  bool sends(const PreparedLaunches& launches) const { return sent_->sends(launches); }
  bool idleAll() const { return SerialWork::idle() && sent_->empty(); }

  // A thread that waits for its copy may as well send it.
  bool tryInline(const Command& command) noexcept {
    if (!std::holds_alternative<CopyCommand>(command) && !std::holds_alternative<FillCommand>(command)) return false;
    return tryHere(command);
  }

 private:
  // How many of them were sent.
  size_t send(std::span<const Command> commands, Point done, Patience patience) noexcept {
    size_t sent = 0;
    try {
      while (sent < commands.size()) {
        const size_t taken = sent_->take(commands.subspan(sent), done, patience);
        if (!taken) break;
        sent += taken;
      }
    } catch (const std::bad_alloc&) {  // a thread of the executor tries again
    }
    return sent;
  }
  bool isQuick(const Command& command) {
    if (const auto* copy = std::get_if<CopyCommand>(&command)) return parts_.transfer().isQuick(copy->shape);
    const auto* const fill = std::get_if<FillCommand>(&command);
    return fill && parts_.transfer().isQuick(fill->fill);
  }

  bool handOver(const Command& command, Point done) noexcept override {
    const Executor::Blocking blocking(executor_);  // there may be no room behind kernels
    return send(std::span(&command, 1), done, Patience::Any);
  }
  Point before(const Command& command) const override {
    const Point point = SerialWork::before(command);
    return point.done() ? sent_->end() : point;
  }
  void perform(const CopyCommand& c) override {
    end(parts_.transfer().copy(c.shape), c.faults, !copy::overlap(c.shape));
  }
  void perform(const FillCommand& c) override { end(parts_.transfer().fill(c.fill), c.faults, true); }
  // Nothing is before it now, so that it can be sent, and is what kernels have made of it if they may change it.
  Point perform(const LaunchCommand& c) override {
    LaunchCommand now = c;
    const bool changeable = c.record->node;
    if (changeable && !(now.record = present(c))) return {};
    try {
      (void)sent_->take(now, {}, Patience::Any);
    } catch (const std::bad_alloc&) {
      if (!changeable) throw;
      const OwnedRecord dropped(now.record);
      c.faults->report(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory for a launch");
    }
    return sent_->end();
  }
  Point perform(const PreparedCommand& c) override {
    (void)sent_->take(c, {}, Patience::Any);
    return sent_->end();
  }
  // Null: nothing is to be launched.
  static LaunchRecord* present(const LaunchCommand& c) {
    Result<UpdatableNode::OwnRecord> record = c.record->node->now(c.record->graph);
    if (!record.ok()) c.faults->report(record.error(), "a kernel node that kernels may change");
    if (c.record->release) c.record->release(c.record);
    LaunchRecord* const own = record.ok() ? record.value().release() : nullptr;
    if (own) own->release = [](LaunchRecord* one) { UpdatableNode::Free()(one); };
    return own;
  }
  void perform(const Timestamp& c) override { *c.nanoseconds = parts_.timestamp(); }

  // What may be done twice is tried again by whoever calls, in a moment.
  static void end(CUresult result, FaultSink* faults, bool mayBeRepeated) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY && mayBeRepeated) throw std::bad_alloc();
    if (result != CUDA_SUCCESS && faults) faults->report(result, copy::kFault);
  }

  QueueParts& parts_;
  Executor& executor_;
  const std::shared_ptr<SentWork> sent_;
  Mutex order_;
};

GpuQueue::GpuQueue(QueueParts& parts, Executor& executor, unsigned urgency, const std::array<uint32_t, 4>& disabledTpcs)
    : work_(new Work(parts, executor, urgency, disabledTpcs)) {}
GpuQueue::~GpuQueue() { work_->unreference(); }

CUresult GpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submitAll(commands, count, done, Patience::BehindKernels);
}
CUresult GpuQueue::submitAtOnce(const Command* commands, size_t count, Point done) {
  return work_->submitAll(commands, count, done, Patience::None);
}
bool GpuQueue::launchAtOnce(const LaunchCommand& command, Point done) noexcept {
  return work_->launchAtOnce(command, done);
}
bool GpuQueue::idle() const { return work_->idleAll(); }
std::unique_ptr<PreparedLaunches> GpuQueue::prepare(std::span<const ChainedWork> launches) {
  return work_->prepare(launches);
}
bool GpuQueue::sends(const PreparedLaunches& launches) const { return work_->sends(launches); }
bool GpuQueue::tryInline(const Command& command) noexcept { return work_->tryInline(command); }
void GpuQueue::setPriority(int priority) { work_->setPriority(Executor::urgencyOf(priority)); }

}  // namespace vg::backend::nvidia
