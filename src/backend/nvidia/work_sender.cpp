#include "backend/nvidia/work_sender.h"

#include <algorithm>
#include <deque>

#include "backend/device_side/graph_run.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/queues/executor.h"

namespace vg::backend::nvidia {
namespace {

CopyPieces piecesOf(const copy::Shape& shape) { return CopyPieces(shape); }
FillPieces piecesOf(const copy::Fill& fill) { return FillPieces(fill); }

}  // namespace

WorkSender::WorkSender(QueueParts& parts, const std::array<uint32_t, 4>& disabledTpcs)
    : parts_(parts), disabledTpcs_(disabledTpcs), lane_(parts.nextLane()) {
  before_.reserve(1);  // note() must not need memory
}

// It follows all that was to be followed.
void WorkSender::note(const Submission& sent) {
  if (!sent.channel) return;
  before_.clear();
  before_.push_back(sent);
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
Result<WorkSender::Sent> WorkSender::send(std::span<const Command> launches, const ParentGrid* parent, Room room,
                                          uint64_t* stamped) {
  FaultSink& faults = *std::get<LaunchCommand>(launches.front()).faults;
  if (const CUresult error = faults.state(); error != CUDA_SUCCESS) return error;
  Result<Sent> sent = launch(launches, parent, room, stamped != nullptr);
  if (sent.ok() && stamped) *stamped = sent.value().submission.number;
  if (sent.ok())
    note(sent.value().submission);
  else if (sent.error() != CUDA_ERROR_NOT_READY)
    faults.report(sent.error(), "a kernel that could not be sent");
  return sent;
}

Result<WorkSender::Sent> WorkSender::launch(std::span<const Command> launches, const ParentGrid* parent, Room room,
                                            bool stamped) {
  VG_TRY(ComputeEngine & engine, parts_.compute());
  const bool urgent = urgencyOf(*std::get<LaunchCommand>(launches.front()).record) > 0;
  if (!urgent && followsNothing()) lane_ = engine.quietLane(lane_);
  if (prepared_.size() < launches.size()) prepared_.resize(launches.size());
  launches_.clear();
  for (size_t i = 0; i < launches.size(); ++i) launches_.push_back(prepare(launches[i], parent, prepared_[i], room));
  launches_.front().stamped = stamped;
  return engine.launch({lane_, urgent}, launches_);
}

unsigned WorkSender::urgencyOf(const LaunchRecord& record) const {
  const int8_t own = record.shape.priority;
  return own == LaunchShape::kOfQueue ? urgency_.load(std::memory_order_relaxed) : Executor::urgencyOf(own);
}

Grid WorkSender::gridOf(const LaunchRecord& record) const {
  Grid grid = static_cast<const GpuKernel&>(*record.kernel).grid(record.shape);
  grid.disabledTpcs = disabledTpcs_;
  grid.urgency = urgencyOf(record);
  grid.graph = record.graph ? record.graph->exec() : 0;
  return grid;
}

ComputeEngine::Launch WorkSender::prepare(const Command& launch, const ParentGrid* parent, Prepared& prepared,
                                          Room room) const {
  const auto& command = std::get<LaunchCommand>(launch);
  const LaunchRecord& record = *command.record;
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  prepared.code = kernel.code();
  prepared.grid = gridOf(record);
  prepared.grid.number = parent ? parent->number() : 0;
  const std::byte* parameters = record.parameters;
  uint32_t bytes = kernel.parameterBytes();
  if (kernel.namesTextures()) {
    prepared.withTextures = kernel.withTextures(record.parameters);
    parameters = prepared.withTextures.data();
    bytes = static_cast<uint32_t>(prepared.withTextures.size());
  }
  return {prepared.code, prepared.grid, parameters,    bytes,        record.shape.cooperative,
          before_,       room,          command.level, command.early};
}

// Of each run of a cooperative grid there is a workspace, of textures that modules name the numbers are read, and what
// may have children is answered by its number.
static bool mayBePrepared(const LaunchRecord& record) {
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  return !record.node && !record.shape.cooperative && !kernel.requests() && !kernel.namesTextures();
}

// Items of PreparedGrids, and what they point to.
struct ItemList {
  std::deque<std::pair<KernelCode, Grid>> launches;
  std::deque<VideoKernels::Work> boxes;
  std::vector<PreparedGrids::Item> items;
};

bool WorkSender::addItem(const LaunchCommand& launch, ItemList& list, PreparedWork& work) const {
  const LaunchRecord& record = *launch.record;
  if (!mayBePrepared(record)) return false;
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  const auto& [code, grid] = list.launches.emplace_back(kernel.code(), gridOf(record));
  list.items.push_back({{code, grid, record.parameters, kernel.parameterBytes()}, 0, false, launch.early});
  work.kernels.push_back(&kernel);
  return true;
}

template <class Box>
bool WorkSender::addBox(const Box& box, ItemList& list) const {
  if (parts_.transfer().route(box).way != Transfer::Way::Kernel) return false;
  Result<VideoKernels::Work> work = parts_.transfer().kernelFor(box);
  if (!work.ok()) return false;
  const VideoKernels::Work& kept = list.boxes.emplace_back(std::move(work).value());
  list.items.push_back({{kept.code, kept.grid, kept.parameters.data(), kept.bytes}});
  return true;
}

std::unique_ptr<PreparedWork> WorkSender::prepare(std::span<const ChainedWork> all) const {
  Result<ComputeEngine&> engine = parts_.compute();
  if (!engine.ok() || parts_.launchLimit()) return nullptr;  // under a limit each is watched by itself
  auto work = std::make_unique<PreparedWork>();
  ItemList list;
  for (const ChainedWork& one : all) {
    const auto* const launch = std::get_if<LaunchCommand>(&one.work);
    const auto* const fill = std::get_if<FillCommand>(&one.work);
    const bool added = launch ? addItem(*launch, list, *work)
                       : fill ? addBox(fill->fill, list)
                              : addBox(std::get<CopyCommand>(one.work).shape, list);
    if (!added) return nullptr;
    list.items.back().section = one.section;
    list.items.back().follows = one.follows;
  }
  std::sort(work->kernels.begin(), work->kernels.end());
  work->kernels.erase(std::unique(work->kernels.begin(), work->kernels.end()), work->kernels.end());
  work->urgent = list.items.front().contents.grid.urgency > 0;
  work->queue = traits();
  work->preparedLocalBytes = work->localBytes();
  Result<std::unique_ptr<PreparedGrids>> grids = engine->prepare(list.items);
  if (!grids.ok()) return nullptr;
  work->grids = std::move(grids).value();
  return work;
}

bool WorkSender::sends(const PreparedWork& work) const {
  Result<ComputeEngine&> engine = parts_.compute();
  return work.queue == traits() && work.localBytes() == work.preparedLocalBytes && engine.ok() &&
         engine->isCurrent(*work.grids);
}

Result<Submission> WorkSender::send(PreparedWork& work, FaultSink& faults, Room room) {
  if (const CUresult error = faults.state(); error != CUDA_SUCCESS) return error;
  Result<Submission> sent = launch(work, room);
  if (sent.ok())
    note(sent.value());
  else if (sent.error() != CUDA_ERROR_NOT_READY)
    faults.report(sent.error(), "a graph that could not be sent");
  return sent;
}

Result<Submission> WorkSender::launch(PreparedWork& work, Room room) {
  VG_TRY(ComputeEngine & engine, parts_.compute());
  if (!work.urgent && followsNothing()) lane_ = engine.quietLane(lane_);
  return engine.launch({lane_, work.urgent}, *work.grids, before_, room);
}

static bool mayBeRepeated(const copy::Shape& shape) { return !copy::overlap(shape); }
static bool mayBeRepeated(const copy::Fill&) { return true; }

template <class Box>
Result<Submission> WorkSender::sendBox(const Box& box, FaultSink* faults, const Sending& how) {
  Result<Submission> sent = transfer(box, how);
  if (sent.ok())
    note(sent.value());
  else if (sent.error() == CUDA_ERROR_OUT_OF_MEMORY && mayBeRepeated(box))
    throw std::bad_alloc();  // whoever calls tries again
  else if (sent.error() != CUDA_ERROR_NOT_READY && faults)
    faults->report(sent.error(), "a copy that could not be sent");
  return sent;
}
template Result<Submission> WorkSender::sendBox(const copy::Shape&, FaultSink*, const Sending&);
template Result<Submission> WorkSender::sendBox(const copy::Fill&, FaultSink*, const Sending&);

template <class Box>
Result<Submission> WorkSender::transfer(const Box& box, const Sending& how) {
  const Transfer::Route route = how.route;
  if (route.way == Transfer::Way::None) return Submission{};
  if (route.way == Transfer::Way::Engine) {
    Submission& last = lastCopies_[static_cast<size_t>(route.direction)];
    VG_TRY(last,
           parts_.copyLanes().send({route.direction, lane_, last, before_, how.room, how.stamped}, piecesOf(box)));
    return last;
  }
  VG_TRY(ComputeEngine & engine, parts_.compute());
  VG_TRY(const VideoKernels::Work work, parts_.transfer().kernelFor(box));
  ComputeEngine::Launch launch{work.code, work.grid, work.parameters.data(), work.bytes, false, before_, how.room};
  launch.stamped = how.stamped;
  VG_TRY(const Submission sent, engine.launch(lane_, launch));
  if (how.stamped) *how.stamped = sent.number;
  return sent;
}

}  // namespace vg::backend::nvidia
