#include "backend/nvidia/work_sender.h"

#include <algorithm>

#include "backend/graph_run.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/gpu_kernel.h"
#include "backend/nvidia/kernel_requests.h"

namespace vg::backend::nvidia {
namespace {

CopyPieces piecesOf(const copy::Shape& shape) { return CopyPieces(shape); }
FillPieces piecesOf(const copy::Fill& fill) { return FillPieces(fill); }

}  // namespace

WorkSender::WorkSender(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs)
    : device_(device), disabledTpcs_(disabledTpcs), lane_(device.nextLane()) {}

// It follows all that was to be followed.
void WorkSender::note(const Result<Submission>& sent) {
  if (!sent.ok() || !sent.value().channel) return;
  before_.clear();
  before_.push_back(sent.value());
}

void WorkSender::follow(const Submission& other) {
  std::erase_if(before_, [](const Submission& one) { return one.done(); });
  for (Submission& one : before_)
    if (one.channel == other.channel) return void(one.number = std::max(one.number, other.number));
  before_.push_back(other);
}

bool WorkSender::followsNothing() const {
  return std::all_of(before_.begin(), before_.end(), [](const Submission& one) { return one.done(); });
}

// After a device fault the context's kernels do not run any more.
Result<Submission> WorkSender::send(const LaunchCommand& command, const ParentGrid* parent, Room room) {
  if (const CUresult error = command.faults->state(); error != CUDA_SUCCESS) return error;
  Result<Submission> launched = launch(command, parent, room);
  note(launched);
  if (!launched.ok() && launched.error() != CUDA_ERROR_NOT_READY)
    command.faults->report(launched.error(), "a kernel that could not be sent");
  return launched;
}

Result<Submission> WorkSender::launch(const LaunchCommand& command, const ParentGrid* parent, Room room) {
  const LaunchRecord& record = *command.record;
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  VG_TRY(ComputeEngine & engine, device_.compute());
  if (followsNothing()) lane_ = engine.quietLane(lane_);
  const auto send = [&](const std::byte* parameters, size_t bytes) {
    Grid grid = kernel.grid(record.shape);
    grid.disabledTpcs = disabledTpcs_;
    grid.number = parent ? parent->number() : 0;
    grid.graph = record.graph ? record.graph->exec() : 0;
    return engine.launch(lane_, {kernel.code(), grid, parameters, static_cast<uint32_t>(bytes),
                                 record.shape.cooperative, before_, room});
  };
  if (!kernel.namesTextures()) return send(record.parameters, kernel.parameterBytes());
  const std::vector<std::byte> parameters = kernel.withTextures(record.parameters);
  return send(parameters.data(), parameters.size());
}

template <class Box>
Result<Submission> WorkSender::sendBox(const Box& box, FaultSink* faults, Transfer::Route route, Room room) {
  Result<Submission> sent = transfer(box, route, room);
  note(sent);
  if (!sent.ok() && sent.error() != CUDA_ERROR_NOT_READY && faults)
    faults->report(sent.error(), "a copy that could not be sent");
  return sent;
}
template Result<Submission> WorkSender::sendBox(const copy::Shape&, FaultSink*, Transfer::Route, Room);
template Result<Submission> WorkSender::sendBox(const copy::Fill&, FaultSink*, Transfer::Route, Room);

template <class Box>
Result<Submission> WorkSender::transfer(const Box& box, Transfer::Route route, Room room) {
  if (route.way == Transfer::Way::None) return Submission{};
  if (route.way == Transfer::Way::Engine) {
    Submission& last = lastCopies_[static_cast<size_t>(route.direction)];
    VG_TRY(last, device_.copyLanes().send({route.direction, lane_, last, before_, room}, piecesOf(box)));
    return last;
  }
  VG_TRY(ComputeEngine & engine, device_.compute());
  VG_TRY(const VideoKernels::Work work, device_.transfer().kernelFor(box));
  return engine.launch(lane_, {work.code, work.grid, work.parameters.data(), work.bytes, false, before_, room});
}

}  // namespace vg::backend::nvidia
