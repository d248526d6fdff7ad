#include "backend/nvidia/sent_work.h"

#include <algorithm>
#include <utility>

#include "backend/nvidia/compute/fault_report.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "base/log.h"
#include "base/sync/claim.h"
#include "base/sync/spin.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {
namespace {

constexpr char kKeptOthersWaiting[] =
    "one of its blocks ran for more than four seconds while another process waited for the GPU, and grids are "
    "interrupted between blocks only; let its blocks do less each, or keep other processes from this GPU";
constexpr char kRanTooLong[] = "a kernel ran longer than VERDIGRIS_LAUNCH_TIMEOUT";

}  // namespace

FaultSink* SentWork::faultsOf(const Ending& ending) {
  if (const auto* launch = std::get_if<SentLaunch>(&ending)) return launch->faults;
  if (const auto* prepared = std::get_if<SentPrepared>(&ending)) return prepared->faults;
  const auto* const transfer = std::get_if<SentTransfer>(&ending);
  return transfer ? transfer->faults : nullptr;
}

// `instruction`: where one stopped, or 0. Null: it is no kernel.
const GpuKernel* SentWork::kernelOf(const Ending& ending, uint64_t instruction) {
  if (const auto* prepared = std::get_if<SentPrepared>(&ending)) return prepared->work->kernelAt(instruction);
  const auto* const launch = std::get_if<SentLaunch>(&ending);
  return launch ? &static_cast<const GpuKernel&>(*launch->record->kernel) : nullptr;
}

// An assertion says so in words, then traps.
bool SentWork::assertionFailed(const Ending& ending) {
  const auto flushed = [](const GpuKernel* kernel) { return kernel->services() && kernel->services()->flush(); };
  if (const auto* prepared = std::get_if<SentPrepared>(&ending))
    return std::any_of(prepared->work->kernels.begin(), prepared->work->kernels.end(), flushed);
  const GpuKernel* const kernel = kernelOf(ending, 0);
  return kernel && flushed(kernel);
}

SentWork::SentWork(QueueParts& parts, const std::array<uint32_t, 4>& disabledTpcs)
    : parts_(parts), sender_(parts, disabledTpcs), timeline_(Timeline::create()), first_(timeline_->value()) {}

SentWork::~SentWork() { Timeline::destroy(timeline_); }

// A piece of work between two time stamps.
static bool isStamped(std::span<const Command> commands) {
  if (commands.size() < 3 || !std::holds_alternative<Timestamp>(commands[0]) ||
      !std::holds_alternative<Timestamp>(commands[2]))
    return false;
  const auto* const launch = std::get_if<LaunchCommand>(&commands[1]);
  return launch ? !launch->level && !launch->early
                : std::holds_alternative<CopyCommand>(commands[1]) || std::holds_alternative<FillCommand>(commands[1]);
}

// All memory for what is kept comes first: nothing may be sent and then be forgotten.
size_t SentWork::take(std::span<const Command> commands, Point done, Patience patience) {
  entries_.reserve(commands.size());
  if (isStamped(commands) && takeStamped(commands, patience)) return 2;
  if (const size_t together = goingTogether(commands); together > 1)
    return takeLaunches(commands.first(together), together == commands.size() ? done : Point{}, patience);
  return take(commands.front(), commands.size() == 1 ? done : Point{}, patience);
}

bool SentWork::take(const Command& command, Point done, Patience patience) {
  entries_.reserve(1);
  if (const auto* wait = std::get_if<Wait>(&command)) {
    return takeWait(*wait, done);
  } else if (const auto* write = std::get_if<Write>(&command)) {
    promise({write->timeline, write->value});
    add({*write, done, {}});
  } else if (const auto* call = std::get_if<HostCall>(&command)) {
    if (!call->brief) return false;
    add({*call, done, {}});
  } else if (const auto* stamp = std::get_if<Timestamp>(&command)) {
    add({Stamp{stamp->nanoseconds, parts_.timestamp()}, done, {}});
  } else {
    return takeWork(command, done, patience);
  }
  return true;
}

// Nothing can go to the GPU behind a grid that may have children, because it has ended when they have; and what kernels
// may change is not known before all that was sent has ended.
bool SentWork::takeWork(const Command& command, Point done, Patience patience) {
  if (!reached(parentEnd_)) return false;
  if (const auto* launch = std::get_if<LaunchCommand>(&command))
    return !launch->record->node && takeLaunch(command, done, roomForKernels(patience));
  if (const auto* prepared = std::get_if<PreparedCommand>(&command))
    return takePrepared(*prepared, done, roomForKernels(patience));
  if (const auto* copy = std::get_if<CopyCommand>(&command))
    return takeTransfer(*copy, parts_.transfer().route(copy->shape), done, patience);
  const auto* const fill = std::get_if<FillCommand>(&command);
  return fill && takeTransfer(*fill, parts_.transfer().route(fill->fill), done, patience);
}

// The first time stamp, and what it stands in front of.
bool SentWork::takeStamped(std::span<const Command> commands, Patience patience) {
  stamped_ = {std::get<Timestamp>(commands[0]).nanoseconds, parts_.timestamp()};
  const bool taken = takeWork(commands[1], {}, patience);
  stamped_ = {};
  return taken;
}

// What waits for work behind which nobody has to look goes to the GPU with the next piece that is sent.
bool SentWork::takeWait(const Wait& wait, Point done) {
  Submission awaited;
  if (!wait.point.done()) {
    awaited = parts_.promisedPoints().find(wait.point);
    if (!awaited.channel && !wait.soon) return false;
    const uint64_t end = this->end().value + 1;
    if (awaited.channel)
      sender_.follow(awaited);
    else
      parentEnd_ = end;
    otherEnd_ = end;
  }
  add({wait, done, awaited});
  return true;
}

// Children of a grid end when nobody on the GPU can tell.
void SentWork::promise(Point point) {
  const Submission last = sender_.last();
  if (point.timeline && last.channel && reached(parentEnd_)) parts_.promisedPoints().promise(point, last);
}

// Asks the timeline, which the Watcher writes all the time, no more than it must.
bool SentWork::reached(uint64_t& value) const {
  if (!value) return true;
  if (!timeline_->reached(value)) return false;
  value = 0;
  return true;
}

Room SentWork::roomForKernels(Patience patience) {
  const bool waits = patience == Patience::Any || (patience == Patience::BehindKernels && reached(otherEnd_));
  return waits ? Room::Waited : Room::Now;
}

// Sent before it is kept: whoever looks for new entries waits for no launch.
bool SentWork::takeLaunch(const Command& launch, Point done, Room room) {
  const auto& command = std::get<LaunchCommand>(launch);
  entries_.prepare();
  std::unique_ptr<ParentGrid> parent = parentFor(command);
  const Result<WorkSender::Sent> sent = sender_.send(std::span(&launch, 1), parent.get(), room, stampOfNext());
  if (!sent.ok() && sent.error() == CUDA_ERROR_NOT_READY) return false;
  const bool family = parent && static_cast<const GpuKernel&>(*command.record->kernel).mayHaveChildren();
  if (family) parentEnd_ = end().value + 1;
  add({SentLaunch(command), done, sent.ok() ? sent.value().submission : Submission{}, 0, 0, std::move(parent)});
  return true;
}

bool SentWork::takePrepared(const PreparedCommand& command, Point done, Room room) {
  auto& work = static_cast<PreparedWork&>(*command.launches);
  const Result<Submission> sent = sender_.send(work, *command.faults, room);
  if (!sent.ok() && sent.error() == CUDA_ERROR_NOT_READY) return false;
  add({SentPrepared{&work, command.faults}, done, sent.ok() ? sent.value() : Submission{}});
  return true;
}

// Launches of one context of which nobody has to see each end by itself.
size_t SentWork::goingTogether(std::span<const Command> commands) const {
  constexpr size_t kMostInLine = 32, kMostSideBySide = 176;
  const auto* const first = std::get_if<LaunchCommand>(&commands.front());
  if (!first || parts_.launchLimit()) return 0;
  const size_t most = first->level ? kMostSideBySide : kMostInLine;
  size_t count = 0;
  for (const Command& command : commands.first(std::min(commands.size(), most))) {
    const auto* const launch = std::get_if<LaunchCommand>(&command);
    if (!launch || launch->faults != first->faults || launch->record->node ||
        (first->level && launch->level != first->level) ||
        static_cast<const GpuKernel&>(*launch->record->kernel).requests())
      break;
    ++count;
  }
  return count;
}

size_t SentWork::takeLaunches(std::span<const Command> launches, Point done, Patience patience) {
  if (!reached(parentEnd_)) return 0;
  const Result<WorkSender::Sent> result = sender_.send(launches, nullptr, roomForKernels(patience), nullptr);
  if (!result.ok() && result.error() == CUDA_ERROR_NOT_READY) return 0;
  const WorkSender::Sent sent = result.ok() ? result.value() : WorkSender::Sent{{}, 1};
  if (sent.count < launches.size()) done = {};
  promise(done);
  for (size_t i = 0; i < sent.count; ++i) {
    const bool last = i + 1 == sent.count;
    const uint64_t step = last || !sent.firstStep ? 0 : sent.firstStep + i;
    keep({SentLaunch(std::get<LaunchCommand>(launches[i])), last ? done : Point{}, sent.submission, step});
  }
  return sent.count;
}

template <class Transferring>
bool SentWork::takeTransfer(const Transferring& command, Transfer::Route route, Point done, Patience patience) {
  if (route.way == Transfer::Way::Thread) return false;
  const bool byEngine = route.way == Transfer::Way::Engine;
  const Room forCopies = patience == Patience::Any ? Room::Waited : Room::Now;
  const Result<Submission> sent =
      sender_.send(command, {route, byEngine ? forCopies : roomForKernels(patience), stampOfNext()});
  if (!sent.ok() && sent.error() == CUDA_ERROR_NOT_READY) return false;
  if (byEngine) otherEnd_ = end().value + 1;
  add({SentTransfer{command.faults, byEngine}, done, sent.ok() ? sent.value() : Submission{}});
  return true;
}

void SentWork::add(Entry&& entry) {
  entry.beginning = stamped_;
  promise(entry.done);
  keep(std::move(entry));
}

// Whether the Watcher looks is asked after there is something to see, and it asks again what there is after it has
// left.
void SentWork::keep(Entry&& entry) {
  entries_.push(std::move(entry));
  if (watched_.load(std::memory_order_seq_cst)) [[likely]]
    return;
  if (!watched_.exchange(true, std::memory_order_seq_cst)) parts_.watcher().watch(shared_from_this());
}

bool SentWork::leave() {
  watched_.store(false, std::memory_order_seq_cst);
  return !entries_.front() || watched_.exchange(true, std::memory_order_seq_cst);
}

std::unique_ptr<ParentGrid> SentWork::parentFor(const LaunchCommand& command) const {
  const auto& kernel = static_cast<const GpuKernel&>(*command.record->kernel);
  if (!kernel.requests()) return nullptr;
  return kernel.requests()->parent(kernel, *command.record, *command.faults, sender_.disabledTpcs());
}

bool SentWork::overdue(Entry& entry) const {
  const uint64_t limit = parts_.launchLimit();
  if (!limit || !std::holds_alternative<SentLaunch>(entry.ending) || !entry.sent.first()) return false;
  const uint64_t now = monotonicNanoseconds();
  if (!entry.begun) entry.begun = now;
  return now - entry.begun > limit;
}

void SentWork::remind() {
  const Entry* const first = entries_.front();
  if (const Channel* const channel = first ? first->sent.channel : nullptr) channel->remind();
}

bool SentWork::ended(Entry& entry) {
  if (const auto* wait = std::get_if<Wait>(&entry.ending)) return wait->point.done();
  if (!workEnded(entry)) return false;
  if (entry.parent) {
    noteEnd(entry);
    entry.sent = {};
    entry.children = entry.parent->finish();
    entry.parent.reset();
  }
  return entry.children.done();
}

// Not before the end of what was before it, nor before it was asked for where the GPU says nothing.
void SentWork::noteBeginning(Entry& entry) {
  uint64_t* const to = std::exchange(entry.beginning.nanoseconds, nullptr);
  if (!to) return;
  const bool sent = entry.sent.channel && entry.beginning.submission;
  const uint64_t begun = sent ? entry.sent.channel->beginning(entry.beginning.submission).at() : 0;
  *to = std::max(lastEnd_, begun ? begun : entry.beginning.asked);
}

// Nobody says when the last of several children had ended, so that is when it is seen.
void SentWork::noteEnd(Entry& entry) {
  noteBeginning(entry);
  if (entry.sent.channel && entry.sent.done())
    lastEnd_ = std::max(lastEnd_, entry.sent.endedAt());
  else if (entry.children.timeline)
    lastEnd_ = parts_.timestamp();
}

bool SentWork::workEnded(Entry& entry) {
  if (!entry.sent.channel || entry.sent.done()) return true;
  CUresult error = entry.sent.channel->state();
  if (error == CUDA_SUCCESS) {
    if (!overdue(entry)) return false;
    parts_.stopKernels();
    error = CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  const bool before = entry.step && entry.sent.channel->stepsDone() >= entry.step;
  if (before || entry.sent.done()) return true;  // just before its channel died
  reportFault(entry, error);
  return true;
}

// Whoever waits for what has ended so, on the GPU, waits for ever.
void SentWork::reportFault(const Entry& entry, CUresult error) {
  FaultSink* const faults = faultsOf(entry.ending);
  try {
    if (faults && faults->state() == CUDA_SUCCESS) reportFirstFault(entry, error, *faults);
  } catch (const std::bad_alloc&) {
    faults->report(error, "a fault, for whose description the host has no memory");
  }
  parts_.abandonWork(error);
}

void SentWork::reportFirstFault(const Entry& entry, CUresult error, FaultSink& faults) {
  const Channel& channel = *entry.sent.channel;
  const auto* const transfer = std::get_if<SentTransfer>(&entry.ending);
  const bool byEngine = transfer && transfer->byEngine;
  Fault fault{error, error == CUDA_ERROR_LAUNCH_TIMEOUT ? kRanTooLong : ""};
  if (!byEngine && error != CUDA_ERROR_LAUNCH_TIMEOUT) fault = examineFault(parts_.gpu(), channel, error);
  if (fault.instruction && parts_.holdsTrap(fault.instruction)) fault = {CUDA_ERROR_LAUNCH_FAILED, "it met a trap"};
  if (!byEngine && channel.keptOthersWaiting()) fault.what = kKeptOthersWaiting;
  const GpuKernel* const kernel = kernelOf(entry.ending, fault.instruction);
  const bool ofGraph = std::holds_alternative<SentPrepared>(entry.ending);
  const std::string name = kernel ? "kernel " + kernel->name() : ofGraph ? "a kernel of a graph" : "a copy";
  VG_LOG(Error, "%s was stopped by a fault%s%s (%s)", name.c_str(), fault.what.empty() ? "" : ": ", fault.what.c_str(),
         channel.describe().c_str());
  if (assertionFailed(entry.ending))
    faults.report(CUDA_ERROR_ASSERT, "an assertion failed");
  else
    faults.report(fault.error, byEngine ? copy::kFault : "a fault in a kernel");
}

void SentWork::finish(const Entry& entry) {
  const Claim claim(entry.done);
  if (const auto* launch = std::get_if<SentLaunch>(&entry.ending)) {
    if (launch->release) launch->release(launch->record);
  } else if (const auto* stamp = std::get_if<Stamp>(&entry.ending)) {
    *stamp->nanoseconds = std::max(lastEnd_, stamp->asked);
  } else if (const auto* call = std::get_if<HostCall>(&entry.ending)) {
    call->function(call->data);
  } else if (const auto* write = std::get_if<Write>(&entry.ending)) {
    write->timeline->advance(write->value);
  }
}

// Timelines run the code of others, so no lock is held then.
Watched::Found SentWork::collect() {
  for (Found found = Found::Nothing;; found = Found::Something) {
    Entry* const first = entries_.front();
    if (!first) return found == Found::Nothing ? Found::Empty : found;
    if (first->parent) {
      try {
        first->parent->begin();
        if (first->parent->serve()) found = Found::Something;
      } catch (const std::bad_alloc&) {  // what it asked for is there at the next look
      }
    }
    if (!ended(*first)) return found;
    noteEnd(*first);
    finish(*first);
    entries_.pop();
    timeline_->advance(timeline_->value() + 1);
  }
}

}  // namespace vg::backend::nvidia
