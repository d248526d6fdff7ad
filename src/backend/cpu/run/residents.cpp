#include "backend/cpu/run/residents.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "backend/cpu/blocks/shuffle.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/code/places.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/kernel_context.h"
#include "backend/launches/fault_scene.h"
#include "backend/queues/interleaving.h"
#include "base/log.h"
#include "base/memory/shortage.h"
#include "base/settings.h"
#include "base/sync/spin.h"
#include "base/undying.h"
#include "check/check.h"

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kBusyRounds = 64;             // of running what can run before giving the processor away
constexpr uint64_t kPatientRounds = 1 << 17;     // before sleeping instead
constexpr long kNap = 20'000;                    // ns
constexpr uint64_t kLongWait = 10'000'000'000;   // ns of nothing but waiting after which the log says who waits
constexpr size_t kMostNamed = 8;                 // blocks that the log names
constexpr uint64_t kOverdue = 20'000'000;        // ns without an end after which more blocks begin
constexpr uint64_t kOverdueForEach = 2'500'000;  // ns of these for each group that has begun
constexpr uint64_t kRoundsOverdue = 1024;        // the same where a seed decides the order

const char* wordFor(const KernelFault& fault) {
  if (*fault.what) return fault.what;
  if (fault.stackOverflow) return "stack overflow";
  switch (fault.error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "illegal address";
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return "misaligned address";
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return "illegal instruction";
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return "ran too long";
    default:
      return "failed";
  }
}

// Nanoseconds; 0: never.
uint64_t readStuckAfter() {
  const std::string& text = settings().stuckAfter;
  const std::optional<uint64_t> wanted = parseSeconds(text);
  if (!wanted && !text.empty()) VG_LOG(Warn, "VERDIGRIS_STUCK_AFTER=%s is no number of seconds", text.c_str());
  return wanted.value_or(kLongWait);
}

}  // namespace

uint64_t stuckAfter() {
  return undyingFrom<uint64_t>([] { return readStuckAfter(); });
}

void Patience::wait() {
  if (++rounds_ % kBusyRounds || interleaving::standAside()) return;
  if (rounds_ < kPatientRounds) {
    sched_yield();
    return;
  }
  const timespec nap{0, kNap};
  nanosleep(&nap, nullptr);
}

void LongWait::sayWhen(const RunningLaunch& launch, const ResidentBlock& block) {
  if (said_ || !stuckAfter() || rounds_++ % kBusyRounds) return;
  const uint64_t now = monotonicNanoseconds();
  if (!since_) since_ = now;
  if (now - since_ < stuckAfter()) return;
  said_ = true;
  VG_LOG(Warn, "kernel %s may be stuck: for %.1f s a block has only waited: %s", launch.kernelName,
         static_cast<double>(now - since_) * 1e-9, block.describeWaiting().c_str());
}

static void describeAndReport(RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  const std::string place = placeOf(launch, block, fault);
  if (launch.cancelled()) {  // thrown out because another block failed, or for the time it took
    if (fault.error != CUDA_ERROR_LAUNCH_TIMEOUT) return;
    VG_LOG(Warn, "kernel %s: stopped in %s", launch.kernelName, place.c_str());
    const FaultScene scene = sceneOf(launch, block, fault);
    launch.tellStopped(&scene);
    return;
  }
  std::string text = std::string(wordFor(fault)) + " in " + place;
  char more[128] = "";
  if (fault.stackOverflow)
    std::snprintf(more, sizeof more, "; the stack is limited to %zu bytes a thread (CU_LIMIT_STACK_SIZE)",
                  launch.context->limits().stackBytes.load(std::memory_order_relaxed));
  else if (fault.address)
    std::snprintf(more, sizeof more, ", address %p", fault.address);
  const FaultScene scene = sceneOf(launch, block, fault);
  launch.end(fault.error, (text + more).c_str(), &scene);
}

void report(RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  try {
    describeAndReport(launch, block, fault);
  } catch (const std::bad_alloc&) {  // without the place, then
    launch.end(fault.error, wordFor(fault));
  }
}

void reportStuck(RunningLaunch& launch, const ResidentBlock& block) {
  if (check::any()) check::tellStuck(block.state());
  const std::string text =
      "every warp of a block waits at a barrier that nobody can complete: " + block.describeWaiting();
  const FaultScene scene = sceneOfWaiting(launch, block, CUDA_ERROR_LAUNCH_TIMEOUT);
  launch.end(CUDA_ERROR_LAUNCH_TIMEOUT, text.c_str(), &scene);
}

void tellStopped(RunningLaunch& launch, const ResidentBlock& block) {
  const FaultScene scene = sceneOfWaiting(launch, block, CUDA_ERROR_LAUNCH_TIMEOUT);
  launch.tellStopped(&scene);
}

void reportNoMemory(RunningLaunch& launch) noexcept {
  if (KernelThread* const thread = KernelThread::ifAny()) thread->abandonBlocks();
  shortage::tell(Shortage::HostMemory, "kernel %s", launch.kernelName);
  launch.end(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory for what a kernel asked for");
}

KernelThread* threadFor(RunningLaunch& launch, uint32_t worker) noexcept {
  try {
    return &KernelThread::current();
  } catch (const std::bad_alloc&) {
    if (!worker) reportNoMemory(launch);
    return nullptr;
  }
}

static ResidentBlock* blockOrNull(RunningLaunch& launch, KernelThread& thread, size_t number) noexcept {
  try {
    return thread.block(number, launch);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

ResidentBlock* blockFor(RunningLaunch& launch, KernelThread& thread, uint32_t worker, size_t number) {
  ResidentBlock* const block = blockOrNull(launch, thread, number);
  if (!block && !number && !worker)
    launch.end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the system has no memory for the stacks of a block");
  return block;
}

namespace {

// Where a block lies in the grid, from its cluster's number and its rank there.
std::array<uint32_t, 3> placeInGrid(const ptx::KernelLaunch& launch, uint64_t cluster, uint32_t rank) {
  std::array<uint32_t, 3> at;
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t size = launch.clusterSize[i], clusters = launch.gridSize[i] / size;
    at[i] = static_cast<uint32_t>(cluster % clusters) * size + rank % size;
    cluster /= clusters;
    rank /= size;
  }
  return at;
}

// Its number there.
uint64_t blockOfCluster(const ptx::KernelLaunch& launch, uint64_t cluster, uint32_t rank) {
  const auto [x, y, z] = placeInGrid(launch, cluster, rank);
  return x + launch.gridSize[0] * (y + uint64_t{launch.gridSize[1]} * z);
}

}  // namespace

ptx::CancelledCluster cancelCluster(RunningLaunch& launch) {
  if (launch.cooperative || !launch.blocksAreLeft()) return {};
  uint64_t ticket = launch.takeTicket();
  if (ticket * launch.blocksPerCluster() >= launch.blocks) return {};
  if (launch.shuffle) ticket = launch.shuffle->at(ticket);
  launch.blocksDone.fetch_add(launch.blocksPerCluster(), std::memory_order_relaxed);
  const auto [x, y, z] = placeInGrid(launch.abi, ticket, 0);
  return ptx::CancelledCluster::at(x, y, z);
}

namespace {

// Blocks may get on for ever and yet wait for some that have not begun: around a cluster's barrier, or one of barrier
// objects. So others begin when none has ended for a while. The more have begun the longer is the while, as each of
// them slows down the others: blocks that only work for long remain few.
class Overdue {
 public:
  void ended() { since_ = rounds_ = 0; }
  // Whether others are to begin beside `begun` ones, after a round in which none has ended.
  bool now(size_t begun, bool shuffled) {
    if (shuffled) return ++rounds_ % kRoundsOverdue == 0;
    if (++rounds_ % kBusyRounds) return false;
    const uint64_t now = monotonicNanoseconds();
    if (!since_) since_ = now;
    if (now - since_ < std::max(kOverdue, kOverdueForEach * begun)) return false;
    since_ = now;
    return true;
  }

 private:
  uint64_t since_ = 0, rounds_ = 0;
};

// What one thread has begun. Blocks come in groups: the blocks of a cluster, or single ones.
class Residents {
 public:
  Residents(RunningLaunch& launch, KernelThread& thread, uint32_t worker)
      : launch_(launch), thread_(thread), worker_(worker) {
    each_ = launch.blocksPerCluster();
    running_.reserve(64);  // so that short memory is met before anything has begun
    free_.reserve(64);
  }

  void run() {
    Patience patience;
    begin();
    noteProgress();
    launch_.progress.threads.fetch_add(1, std::memory_order_relaxed);
    while (!running_.empty() && !launch_.cancelled()) {
      bool gotOn = round();
      if (!gotOn || overdue_.now(running_.size(), launch_.shuffle)) gotOn |= begin();
      setWaiting(!gotOn);
      if (gotOn) {
        patience.reset();
      } else {
        patience.wait();
        sayWhoWaits();
      }
    }
    setWaiting(false);
    launch_.progress.threads.fetch_sub(1, std::memory_order_relaxed);
    if (launch_.ended.load(std::memory_order_relaxed) == CUDA_ERROR_LAUNCH_TIMEOUT) {
      nameWaiting();
      if (!running_.empty())
        tellStopped(launch_, member(running_[0], static_cast<uint32_t>(__builtin_ctz(running_[0].live))));
    }
    for (const Group& group : running_) abandon(group);
  }

 private:
  struct Group {
    size_t first;   // number of its first block among the thread's
    uint32_t live;  // blocks that have not ended, a bit each
  };

  ResidentBlock& member(const Group& group, uint32_t rank) { return *thread_.block(group.first + rank, launch_); }

  void abandon(const Group& group) {
    for (uint32_t rank = 0; rank < each_; ++rank)
      if (group.live >> rank & 1) member(group, rank).abandon();
  }

  // Room for a group. False when the system has none.
  bool reserve(size_t first) {
    for (uint32_t rank = 0; rank < each_; ++rank)
      if (!blockFor(launch_, thread_, worker_, first + rank)) {
        if (first == 0 && worker_ == 0)
          launch_.end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the system has no memory for the stacks of a cluster");
        return false;
      }
    return true;
  }

  // Begins the next blocks of the grid. False when there are none left or no room.
  bool begin() {
    if (!launch_.blocksAreLeft()) return false;
    const size_t first = free_.empty() ? begun_ * each_ : free_.back();
    if (!reserve(first)) return false;
    uint64_t ticket = launch_.takeTicket();
    if (ticket * each_ >= launch_.blocks) return false;
    if (launch_.shuffle) ticket = launch_.shuffle->at(ticket);
    free_.empty() ? static_cast<void>(++begun_) : free_.pop_back();
    const Group group{first, (1u << each_) - 1};
    if (each_ == 1) {
      member(group, 0).begin(launch_, worker_, ticket);
    } else {
      for (uint32_t rank = 0; rank < each_; ++rank)
        member(group, rank)
            .beginInCluster(launch_, worker_, blockOfCluster(launch_.abi, ticket, rank), member(group, 0), rank);
    }
    running_.push_back(group);
    return true;
  }

  // Lets every block run once. True when one of them ended, or something happened that others wait for.
  bool round() {
    const uint64_t before = thread_.progress();
    bool ended = false;
    if (launch_.shuffle) shuffle();
    for (size_t i = 0; i < running_.size() && !launch_.cancelled();) {
      runGroup(running_[i]);
      if (running_[i].live) {
        ++i;
        continue;
      }
      free_.push_back(running_[i].first);
      running_[i] = running_.back();
      running_.pop_back();
      ended = true;
    }
    if (ended) {
      overdue_.ended();
      begin();
    }
    const bool gotOn = ended || thread_.progress() != before;
    if (gotOn) noteProgress();
    return gotOn;
  }

  void shuffle() {
    interleaving::mayStandAside();
    for (size_t left = running_.size(); left > 1; --left)
      std::swap(running_[left - 1], running_[launch_.shuffle->below(left)]);
  }

  void runGroup(Group& group) {
    bool waits = false;
    for (uint32_t rank = 0; rank < each_ && !launch_.cancelled(); ++rank)
      if (group.live >> rank & 1) waits |= !runBlock(group, rank);
    if (waits && !launch_.cancelled() && member(group, 0).cluster().stuck())
      reportStuck(launch_, member(group, static_cast<uint32_t>(__builtin_ctz(group.live))));
  }

  // False when the block waits for others of its cluster.
  bool runBlock(Group& group, uint32_t rank) {
    ResidentBlock& block = member(group, rank);
    const ResidentBlock::Progress progress = block.resume();
    if (progress == ResidentBlock::Progress::Spinning) return true;
    if (progress == ResidentBlock::Progress::Waiting) return false;
    if (progress == ResidentBlock::Progress::Faulted) report(launch_, block, thread_.fault());
    if (progress == ResidentBlock::Progress::Stuck) reportStuck(launch_, block);
    if (progress != ResidentBlock::Progress::Done) block.abandon();
    ended_.add(1);
    group.live &= ~(1u << rank);
    return true;
  }

  void noteProgress() { launch_.progress.last.store(monotonicNanoseconds(), std::memory_order_relaxed); }

  void setWaiting(bool waits) {
    if (waits == waiting_) return;
    if (!waits) noteProgress();
    waiting_ = waits;
    launch_.progress.waiting.fetch_add(waits ? 1 : ~0u, std::memory_order_relaxed);
  }

  // A grid whose blocks wait for what never comes hangs here as it does on a GPU. When no thread of the launch has had
  // anything else for long, each says who waits on it: another kernel, the host or nobody may still end that, so the
  // launch goes on.
  void sayWhoWaits() {
    if (said_ || !stuckAfter() || ++waits_ % kBusyRounds) return;
    const RunningLaunch::Progress& all = launch_.progress;
    if (all.waiting.load(std::memory_order_relaxed) < all.threads.load(std::memory_order_relaxed)) return;
    const uint64_t since = monotonicNanoseconds() - all.last.load(std::memory_order_relaxed);
    if (static_cast<int64_t>(since) < static_cast<int64_t>(stuckAfter())) return;
    said_ = true;
    VG_LOG(Warn, "kernel %s may be stuck: for %.1f s no block has begun or ended, and those that run only wait",
           launch_.kernelName, static_cast<double>(since) * 1e-9);
    nameWaiting();
  }

  void nameWaiting() {
    size_t named = 0;
    for (const Group& group : running_)
      for (uint32_t rank = 0; rank < each_ && named < kMostNamed; ++rank)
        if (group.live >> rank & 1) {
          ++named;
          VG_LOG(Warn, "kernel %s: waiting: %s", launch_.kernelName, member(group, rank).describeWaiting().c_str());
        }
    if (running_.size() * each_ > kMostNamed)
      VG_LOG(Warn, "kernel %s: up to %zu blocks wait on this worker", launch_.kernelName, running_.size() * each_);
  }

  RunningLaunch& launch_;
  KernelThread& thread_;
  const uint32_t worker_;
  uint32_t each_ = 1;  // blocks of a group
  std::vector<Group> running_;
  std::vector<size_t> free_;  // first block numbers of groups that have ended
  size_t begun_ = 0;          // groups that have ever had a place
  Overdue overdue_;
  EndedBlocks ended_{launch_, monotonicNanoseconds()};
  uint64_t waits_ = 0;
  bool waiting_ = false;  // counted in launch_.progress.waiting
  bool said_ = false;
};

}  // namespace

void runResidents(void* state, uint32_t worker, Workers::Items& items) noexcept {
  RunningLaunch& launch = *static_cast<RunningLaunch*>(state);
  uint64_t first, end;
  if (launch.cancelled() || !items.next(&first, &end)) return;
  KernelThread* const thread = threadFor(launch, worker);
  if (!thread) return;
  bool begun = false;
  try {
    const KernelThread::Inside inside(*thread, launch, worker);
    Residents residents(launch, *thread, worker);
    begun = true;
    residents.run();
  } catch (const std::bad_alloc&) {
    if (begun || !worker) reportNoMemory(launch);  // else others run the blocks
  }
}

}  // namespace vg::backend::cpu
