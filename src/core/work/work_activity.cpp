#include "core/work/work_activity.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/sync/spin.h"
#include "base/sync/spin_lock.h"
#include "core/memory/memory_table.h"
#include "core/process/device.h"

namespace vg::core::work_activity {
namespace {

using activity::CopyKind;
using activity::WorkKind;

struct SideOfCopy {
  bool onDevice;
  uint16_t device;
  activity::Place place;
};

activity::Place placeOf(const alloc::Record& record) {
  switch (record.kind.load(std::memory_order_relaxed)) {
    case alloc::Kind::Managed:
      return activity::Place::Managed;
    case alloc::Kind::Pinned:
    case alloc::Kind::Registered:
      return activity::Place::Pinned;
    case alloc::Kind::Array:
      return activity::Place::Array;
    default:
      return memory::onDevice(record) ? activity::Place::Device : activity::Place::Pinned;
  }
}

SideOfCopy sideAt(const std::byte* base) {
  const alloc::Record* const record = memory::lookup(base);
  if (!record) return {false, 0, activity::Place::Pageable};
  const bool device = memory::onDevice(*record);
  return {device, device ? record->window.load(std::memory_order_relaxed) : uint16_t{0}, placeOf(*record)};
}
SideOfCopy sideOf(const copy::Side& side) {
  SideOfCopy found = sideAt(side.base);
  if (side.tiling) found.place = activity::Place::Array;
  return found;
}

void describe(activity::Work& work, const copy::Shape& shape) {
  const SideOfCopy to = sideOf(shape.destination), from = sideOf(shape.source);
  work.kind = WorkKind::Copy;
  work.bytes = shape.bytes();
  work.to = to.place;
  work.from = from.place;
  work.pageable = to.place == activity::Place::Pageable || from.place == activity::Place::Pageable;
  work.peers[0] = to.device;
  work.peers[1] = from.device;
  if (to.onDevice && from.onDevice)
    work.copy = to.device == from.device ? CopyKind::DeviceToDevice : CopyKind::PeerToPeer;
  else if (to.onDevice)
    work.copy = CopyKind::HostToDevice;
  else
    work.copy = from.onDevice ? CopyKind::DeviceToHost : CopyKind::HostToHost;
}

void describe(activity::Work& work, const copy::Fill& fill) {
  work.kind = WorkKind::Fill;
  work.bytes = fill.width * fill.height;
  work.to = sideAt(fill.base).place;
  work.value = fill.pattern;
}

uint32_t known(backend::Kernel& kernel, CUfunction_attribute which) {
  Result<int> value = kernel.attribute(which);
  return value.ok() ? static_cast<uint32_t>(*value) : 0;
}

const activity::KernelFacts* factsOf(backend::Kernel& kernel) {
  if (const void* const asked = kernel.facts.load(std::memory_order_acquire)) [[likely]]
    return static_cast<const activity::KernelFacts*>(asked);
  const activity::KernelFacts* const facts = activity::kernelFacts(
      kernel.name(), known(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS), known(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
      known(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  kernel.facts.store(facts, std::memory_order_release);
  return facts;
}

// Of a piece of work or a launch.
template <class Told>
void describeLaunch(Told& told, const backend::LaunchRecord& launch) {
  std::memcpy(told.grid, launch.shape.grid, sizeof told.grid);
  std::memcpy(told.block, launch.shape.block, sizeof told.block);
  for (int i = 0; i < 3; ++i)
    told.cluster[i] = static_cast<std::remove_reference_t<decltype(told.cluster[i])>>(
        launch.shape.clustered ? launch.shape.cluster[i] : 0);
  told.dynamicShared = launch.shape.dynamicShared;
  told.cooperative = launch.shape.cooperative;
  told.kernel = factsOf(*launch.kernel);
}

void describe(activity::Work& work, const backend::LaunchRecord& launch) {
  work.kind = WorkKind::Kernel;
  describeLaunch(work, launch);
}

bool isTold(const backend::Command& command) {
  return std::holds_alternative<backend::CopyCommand>(command) ||
         std::holds_alternative<backend::FillCommand>(command) ||
         std::holds_alternative<backend::LaunchCommand>(command);
}

void describe(activity::Work& work, const backend::Command& command) {
  if (const auto* copy = std::get_if<backend::CopyCommand>(&command)) describe(work, copy->shape);
  if (const auto* fill = std::get_if<backend::FillCommand>(&command)) describe(work, fill->fill);
  if (const auto* launch = std::get_if<backend::LaunchCommand>(&command)) describe(work, *launch->record);
}

activity::Record recordOf(const activity::Origin& origin) {
  activity::Record record;
  record.kind = activity::RecordKind::Work;
  record.work = {};
  record.work.origin = origin;
  record.work.id = activity::nextNumber();
  return record;
}

// How far the device's clock is ahead of the host's. A small difference to what was found before is the uncertainty of
// the comparison: what runs one behind the other must not seem to overlap.
class DeviceClock {
 public:
  explicit DeviceClock(const backend::Device& device) : isHosts_(device.hasClockOfHost()) {
    if (isHosts_) return;
    const uint64_t before = activity::now(), there = device.timestamp(), after = activity::now();
    if (there >= before && there <= after) return;  // the host's own
    std::atomic<int64_t>& known = knownOf(device);
    const int64_t now = static_cast<int64_t>(there - (before + (after - before) / 2));
    ahead_ = known.load(std::memory_order_relaxed);
    if (std::abs(now - ahead_) <= kUncertain + static_cast<int64_t>(after - before) / 2) return;
    ahead_ = now;
    known.store(now, std::memory_order_relaxed);
  }
  uint64_t atHost(uint64_t there) const { return there - static_cast<uint64_t>(ahead_); }
  bool isHosts() const { return isHosts_; }

 private:
  static constexpr int64_t kUncertain = 2'000;  // ns
  static std::atomic<int64_t>& knownOf(const backend::Device& device) {
    static constinit std::atomic<int64_t> known[64] = {};
    for (int i = 0; i < deviceCount() && i < 63; ++i)
      if (&deviceAt(i).backend() == &device) return known[i];
    return known[63];
  }
  const bool isHosts_;
  int64_t ahead_ = 0;
};

// What was told of each stream last. Clocks are compared again and again, and each comparison is uncertain: all the
// same a piece of work does not begin before the one before it in its stream has ended, and a graph has what it ran
// inside.
class ToldStreams {
 public:
  // Requires: pieces of a stream that the device stamped come in its order, those of a graph before or behind it.
  void tellStamped(activity::Work& work) noexcept {
    Last& last = lastOf(work);
    const SpinGuard guard(last.lock);
    last.enter(work);
    if (work.kind == WorkKind::Graph)
      last.enclose(work);
    else
      last.fitIn(work);
  }
  // By the host's clock. What the device stamped before it may be told of later.
  void tellOfHost(const activity::Work& work) noexcept {
    Last& last = lastOf(work);
    const SpinGuard guard(last.lock);
    last.enter(work);
    last.first = std::min(last.first, work.begin);
    last.hostBegin = work.begin;
    last.hostEnd = work.end;
  }

 private:
  static constexpr size_t kMost = 256;  // streams that share a place forget each other
  struct Last {
    SpinLock lock;
    uint64_t stream = 0, correlation = 0;  // of the last call of which something was told
    uint64_t first = 0;                    // the beginning of that call's work
    uint64_t end = 0;                      // of all that the device stamped, but for graphs
    uint64_t graphBegin = 0, graphEnd = 0;
    uint64_t hostBegin = 0, hostEnd = 0;  // of what the host did last

    void enter(const activity::Work& work) {
      if (stream != work.origin.stream) end = graphEnd = hostBegin = hostEnd = 0;
      if (stream != work.origin.stream || correlation != work.origin.correlation) {
        end = std::max({end, graphEnd, hostEnd});
        first = UINT64_MAX;
        graphBegin = graphEnd = 0;
      }
      stream = work.origin.stream;
      correlation = work.origin.correlation;
    }
    void enclose(activity::Work& graph) {
      graph.begin = std::min(std::max(graph.begin, end), first);
      const uint64_t hosts = hostBegin >= first ? hostEnd : 0;  // of this graph
      graph.end = std::max({graph.end, graph.begin, hosts, first == UINT64_MAX ? 0 : end});
      graphBegin = graph.begin;
      graphEnd = graph.end;
    }
    void fitIn(activity::Work& work) {
      const uint64_t most = graphEnd ? graphEnd : UINT64_MAX;
      work.begin = std::min(std::max({work.begin, end, graphBegin}), most);
      work.end = std::max(std::min(work.end, most), work.begin);
      keepApart(work);
      first = std::min(first, work.begin);
      end = std::max(end, work.end);
    }
    void keepApart(activity::Work& work) const {
      if (work.begin < hostBegin) {
        work.end = std::min(work.end, hostBegin);
      } else if (work.begin < hostEnd) {
        work.begin = hostEnd;
        work.end = std::max(work.end, hostEnd);
      }
    }
  };
  Last& lastOf(const activity::Work& work) { return lasts_[work.origin.stream % kMost]; }
  Last lasts_[kMost];
};
constinit ToldStreams toldStreams;

// Nothing ends after it is told of, or begins before it was submitted.
void tellStamped(activity::Record& record, const DeviceClock& clock, uint64_t begin, uint64_t end) {
  activity::Work& work = record.work;
  work.begin = std::max(clock.atHost(begin), work.origin.submitted);
  work.end = std::max(clock.atHost(end), work.begin);
  if (!clock.isHosts()) {
    work.end = std::min(work.end, activity::now());
    work.begin = std::min(work.begin, work.end);
    toldStreams.tellStamped(work);
  }
  activity::tell(record);
}

// Null where there is no memory.
activity::Launch* launchOf(const activity::Origin& origin, const backend::LaunchRecord& record) {
  activity::Launch* const launch = activity::takeLaunch();
  if (!launch) return nullptr;
  launch->origin = origin;
  launch->id = activity::nextNumber();
  describeLaunch(*launch, record);
  return launch;
}

}  // namespace

Here::Here(const activity::Origin& origin, const backend::Command& command) {
  const auto* const launch = std::get_if<backend::LaunchCommand>(&command);
  if (launch && (launch_ = launchOf(origin, *launch->record))) {
    launch_->begin = activity::now();
    return;
  }
  record_ = recordOf(origin);
  describe(record_.work, command);
  record_.work.begin = activity::now();
}

Here::Here(const activity::Origin& origin, WorkKind kind, uint32_t nodes) : record_(recordOf(origin)) {
  record_.work.kind = kind;
  record_.work.nodes = nodes;
  record_.work.begin = activity::now();
}

Here::~Here() {
  if (launch_) {
    launch_->end = activity::nowHere();
    activity::tell(launch_);
    return;
  }
  if (dropped_) return;
  record_.work.end = activity::now();
  if (!deviceAt(record_.work.origin.device).backend().hasClockOfHost()) toldStreams.tellOfHost(record_.work);
  activity::tell(record_);
}

void Here::drop() {
  dropped_ = true;
  if (launch_) activity::drop(std::exchange(launch_, nullptr));
}

bool tellsOf(const backend::Command* commands, size_t count) { return std::any_of(commands, commands + count, isTold); }

namespace {
void tellTimed(void* told, uint64_t begin, uint64_t end) noexcept {
  auto* const launch = static_cast<activity::Launch*>(told);
  launch->begin = begin;
  launch->end = end;
  activity::tell(launch);
}
}  // namespace

bool TimedLaunch::isFor(const backend::Device& device, const backend::Command* commands, size_t count) {
  const auto* const launch = count == 1 ? std::get_if<backend::LaunchCommand>(commands) : nullptr;
  return launch && device.hasClockOfHost() && !launch->record->node && !launch->record->kernel->calls().launchesKernels;
}

TimedLaunch::TimedLaunch(const activity::Origin& origin, const backend::Command& command) noexcept : command_(command) {
  auto& launch = *std::get_if<backend::LaunchCommand>(&command_);
  launch_ = launchOf(origin, *launch.record);
  if (launch_) launch.timing = {launch_, tellTimed};
}

// What was not submitted.
TimedLaunch::~TimedLaunch() {
  if (launch_) activity::drop(launch_);
}

// The pieces of work that are told of together, when the last of them has ended.
struct Stamped::Batch {
  struct Piece {
    activity::Record record;
    uint64_t begin = 0, end = 0;
  };
  explicit Batch(const backend::Device& device) : device(device) {}
  // On a thread of the library, behind the work.
  void tell() noexcept {
    const DeviceClock clock(device);
    if (one.used) tellStamped(one.piece.record, clock, one.piece.begin, one.piece.end);
    for (Piece& piece : pieces) tellStamped(piece.record, clock, piece.begin, piece.end);
  }
  // Nearly always there is one.
  Piece& add(const activity::Record& record) {
    Piece& piece = pieces.empty() && !one.used ? one.piece : pieces.emplace_back();
    if (&piece == &one.piece) one.used = true;
    piece.record = record;
    return piece;
  }
  const backend::Device& device;
  struct {
    bool used = false;
    Piece piece;
  } one;
  std::vector<Piece> pieces;  // the others; does not grow once stamps are to be written
};

Stamped::Stamped(const activity::Origin& origin, const backend::Device& device, const backend::Command* commands,
                 size_t count) noexcept
    : commands_(commands), count_(count) {
  try {
    stamp(origin, device);
  } catch (const std::bad_alloc&) {
    batch_.reset();
    return;
  }
  commands_ = stamped_;
  count_ = stampedCount_;
}

Stamped::~Stamped() = default;

void Stamped::stamp(const activity::Origin& origin, const backend::Device& device) {
  const auto told = static_cast<size_t>(std::count_if(commands_, commands_ + count_, isTold));
  batch_ = std::make_unique<Batch>(device);
  batch_->pieces.reserve(told - 1);
  const size_t size = count_ + 2 * told + 1;
  if (size > kFew) many_.resize(size);
  stamped_ = size > kFew ? many_.data() : few_.data();
  stampAll(origin);
  const auto tell = [](void* data) { std::unique_ptr<Batch>(static_cast<Batch*>(data))->tell(); };
  push(backend::HostCall{tell, batch_.get(), true});
}

void Stamped::push(const backend::Command& command) { stamped_[stampedCount_++] = command; }

void Stamped::stampAll(const activity::Origin& origin) {
  for (size_t i = 0; i < count_; ++i) {
    if (!isTold(commands_[i])) {
      push(commands_[i]);
      continue;
    }
    Batch::Piece& piece = batch_->add(recordOf(origin));
    describe(piece.record.work, commands_[i]);
    push(backend::Timestamp{&piece.begin});
    push(commands_[i]);
    push(backend::Timestamp{&piece.end});
  }
}

void Stamped::submitted() { (void)batch_.release(); }

WholeGraph::WholeGraph(const activity::Origin& origin, const backend::Device& device, uint32_t nodes)
    : record_(recordOf(origin)), device_(device) {
  record_.work.kind = WorkKind::Graph;
  record_.work.nodes = nodes;
}

std::unique_ptr<WholeGraph> WholeGraph::around(const activity::Origin& origin, const backend::Device& device,
                                               uint32_t nodes, std::vector<backend::Command>& commands,
                                               size_t first) noexcept {
  try {
    std::unique_ptr<WholeGraph> graph(new WholeGraph(origin, device, nodes));
    std::vector<backend::Command> with(commands.begin(), commands.begin() + static_cast<ptrdiff_t>(first));
    with.reserve(commands.size() + 3);
    with.push_back(backend::Timestamp{&graph->begin_});
    for (size_t i = first; i < commands.size(); ++i) graph->enter(with.emplace_back(commands[i]));
    with.push_back(backend::Timestamp{&graph->end_});
    const auto tell = [](void* data) { std::unique_ptr<WholeGraph>(static_cast<WholeGraph*>(data))->tell(); };
    with.push_back(backend::HostCall{tell, graph.get(), true});
    commands.swap(with);
    return graph;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void WholeGraph::enter(backend::Command& command) {
  auto* const call = std::get_if<backend::HostCall>(&command);
  if (!call || call->brief) return;
  calls_.push_back(std::make_unique<CallInside>(CallInside{*call, &record_.work.origin}));
  call->function = [](void* data) {
    const auto& inside = *static_cast<const CallInside*>(data);
    const Inside here(*inside.origin);
    inside.call.function(inside.call.data);
  };
  call->data = calls_.back().get();
}

void WholeGraph::tell() noexcept { tellStamped(record_, DeviceClock(device_), begin_, end_); }

}  // namespace vg::core::work_activity
