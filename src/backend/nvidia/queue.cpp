#include "backend/nvidia/queue.h"

#include <algorithm>
#include <mutex>

#include "backend/nvidia/device.h"
#include "backend/nvidia/sent_work.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {

// What goes to the GPU and needs nobody beside it is sent by the calling thread (SentWork); all else runs on a thread
// of the executor, behind what was sent. Both never have work at once, but for a Wait of the thread's.
class GpuQueue::Work final : public SerialWork {
 public:
  Work(GpuDevice& device, Executor& executor, unsigned urgency, const std::array<uint32_t, 4>& disabledTpcs)
      : SerialWork(executor, urgency),
        device_(device),
        executor_(executor),
        sent_(std::make_shared<SentWork>(device, disabledTpcs)) {}

  CUresult submitAll(const Command* commands, size_t count, Point done) {
    const std::lock_guard guard(order_);
    if (count == 1 && isQuick(*commands) && idleAll()) {
      execute(*commands);
      if (done.timeline) done.timeline->advance(done.value);
      return CUDA_SUCCESS;
    }
    const auto accepted = [&](const Command& command) {
      return sent_->accepts(command) && (count == 1 || !SentWork::mayLaunch(command));
    };
    if (SerialWork::idle() && count && std::all_of(commands, commands + count, accepted)) {
      for (size_t i = 0; i < count; ++i) sent_->add(commands[i], i + 1 == count ? done : Point{});
      return CUDA_SUCCESS;
    }
    if (!sent_->empty()) {
      const Command wait = Wait{sent_->end()};
      VG_CHECK(submit(&wait, 1, {}));
    }
    return submit(commands, count, done);
  }
  bool idleAll() const { return SerialWork::idle() && sent_->empty(); }

  // A thread that waits for its copy may as well send it.
  bool tryInline(const Command& command) {
    if (!std::holds_alternative<CopyCommand>(command) && !std::holds_alternative<FillCommand>(command)) return false;
    execute(command);
    return true;
  }

 private:
  bool isQuick(const Command& command) {
    if (const auto* copy = std::get_if<CopyCommand>(&command)) return device_.transfer().isQuick(copy->shape);
    const auto* const fill = std::get_if<FillCommand>(&command);
    return fill && device_.transfer().isQuick(fill->fill);
  }

  void perform(const CopyCommand& c) override { end(device_.transfer().copy(c.shape), c.faults); }
  void perform(const FillCommand& c) override { end(device_.transfer().fill(c.fill), c.faults); }
  Point perform(const LaunchCommand& c) override {
    if (SentWork::mayLaunch(c)) {
      sent_->add(c, {});
      return sent_->end();
    }
    const Executor::Blocking blocking(executor_);
    sent_->runLaunch(c);
    return {};
  }
  void perform(const Timestamp& c) override { *c.nanoseconds = device_.timestamp(); }

  static void end(CUresult result, FaultSink* faults) {
    if (result != CUDA_SUCCESS && faults) faults->report(result, copy::kFault);
  }

  GpuDevice& device_;
  Executor& executor_;
  const std::shared_ptr<SentWork> sent_;
  std::mutex order_;
};

GpuQueue::GpuQueue(GpuDevice& device, Executor& executor, unsigned urgency, const std::array<uint32_t, 4>& disabledTpcs)
    : work_(new Work(device, executor, urgency, disabledTpcs)) {}
GpuQueue::~GpuQueue() { work_->unreference(); }

CUresult GpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submitAll(commands, count, done);
}
bool GpuQueue::idle() const { return work_->idleAll(); }
bool GpuQueue::tryInline(const Command& command) { return work_->tryInline(command); }

}  // namespace vg::backend::nvidia
