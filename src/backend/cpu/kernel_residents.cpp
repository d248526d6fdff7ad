#include "backend/cpu/kernel_residents.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "backend/cpu/kernel_block.h"
#include "backend/cpu/kernel_code.h"
#include "backend/cpu/kernel_context.h"
#include "base/log.h"
#include "base/spin.h"
#include "check/check.h"

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kBusyRounds = 64;            // of running what can run before giving the processor away
constexpr uint64_t kPatientRounds = 1 << 17;    // before sleeping instead
constexpr long kNap = 20'000;                   // ns
constexpr uint64_t kLongWait = 10'000'000'000;  // ns without the end of a block after which the log says who waits
constexpr size_t kMostNamed = 8;                // blocks that the log names

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

}  // namespace

void Patience::wait() {
  if (++rounds_ % kBusyRounds) return;
  if (rounds_ < kPatientRounds) {
    sched_yield();
    return;
  }
  const timespec nap{0, kNap};
  nanosleep(&nap, nullptr);
}

void report(RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  if (launch.cancelled()) return;  // thrown out because another block failed
  const uint32_t line = fault.line ? fault.line : fault.codeAddress ? launch.code->lineAt(fault.codeAddress) : 0;
  const uint32_t* const index = block.state().blockIndex;
  char text[512];
  int used = std::snprintf(text, sizeof text, "%s in block [%u,%u,%u], warp %u", wordFor(fault), index[0], index[1],
                           index[2], block.runningWarp());
  const auto add = [&](const char* format, auto... values) {
    if (used > 0 && used < static_cast<int>(sizeof text))
      used += std::snprintf(text + used, sizeof text - static_cast<size_t>(used), format, values...);
  };
  if (line) add(", PTX line %u", line);
  if (fault.address && !fault.stackOverflow) add(", address %p", fault.address);
  if (fault.stackOverflow)
    add("; the stack is limited to %zu bytes a thread (CU_LIMIT_STACK_SIZE)",
        launch.context->limits().stackBytes.load(std::memory_order_relaxed));
  launch.end(fault.error, text);
}

void reportStuck(RunningLaunch& launch, const ResidentBlock& block) {
  if (check::any()) check::tellStuck(block.state());
  const std::string text =
      "every warp of a block waits at a barrier that nobody can complete: " + block.describeWaiting();
  launch.end(CUDA_ERROR_LAUNCH_TIMEOUT, text.c_str());
}

ResidentBlock* blockFor(RunningLaunch& launch, KernelThread& thread, size_t number) {
  ResidentBlock* const block = thread.block(number, launch);
  if (!block && !number)
    launch.end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the system has no memory for the stacks of a block");
  return block;
}

namespace {

// The number of a block in the grid, from its cluster's and its rank there.
uint64_t blockOfCluster(const ptx::KernelLaunch& launch, uint64_t cluster, uint32_t rank) {
  uint64_t at[3];
  for (int i = 0; i < 3; ++i) {
    const uint32_t size = launch.clusterSize[i], clusters = launch.gridSize[i] / size;
    at[i] = cluster % clusters * size + rank % size;
    cluster /= clusters;
    rank /= size;
  }
  return at[0] + launch.gridSize[0] * (at[1] + launch.gridSize[1] * at[2]);
}

// What one thread has begun. Blocks come in groups: the blocks of a cluster, or single ones.
class Residents {
 public:
  Residents(RunningLaunch& launch, KernelThread& thread, uint32_t worker)
      : launch_(launch), thread_(thread), worker_(worker) {
    const uint32_t* const size = launch.abi.clusterSize;
    each_ = size[0] * size[1] * size[2];
  }

  void run() {
    Patience patience;
    begin();
    lastEnd_ = monotonicNanoseconds();
    while (!running_.empty() && !launch_.cancelled()) {
      if (round() || begin()) {
        patience.reset();
      } else {
        patience.wait();
        sayWhoWaits();
      }
    }
    if (launch_.ended.load(std::memory_order_relaxed) == CUDA_ERROR_LAUNCH_TIMEOUT) nameWaiting();
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
      if (!blockFor(launch_, thread_, first + rank)) {
        if (first == 0)
          launch_.end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the system has no memory for the stacks of a cluster");
        return false;
      }
    return true;
  }

  // Begins the next blocks of the grid. False when there are none left or no room.
  bool begin() {
    if (launch_.nextBlock.load(std::memory_order_relaxed) * each_ >= launch_.blocks) return false;
    const size_t first = free_.empty() ? begun_ * each_ : free_.back();
    if (!reserve(first)) return false;
    const uint64_t ticket = launch_.nextBlock.fetch_add(1, std::memory_order_relaxed);
    if (ticket * each_ >= launch_.blocks) return false;
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
      lastEnd_ = monotonicNanoseconds();
      begin();
    }
    return ended || thread_.progress() != before;
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
    group.live &= ~(1u << rank);
    return true;
  }

  // A grid whose blocks wait for what never comes hangs here as it does on a GPU; the log says who waits.
  void sayWhoWaits() {
    if (said_ || ++waits_ % kBusyRounds || monotonicNanoseconds() - lastEnd_ < kLongWait) return;
    said_ = true;
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
  uint64_t lastEnd_ = 0, waits_ = 0;
  bool said_ = false;
};

}  // namespace

void runResidents(void* state, uint32_t worker, uint64_t, uint64_t) {
  RunningLaunch& launch = *static_cast<RunningLaunch*>(state);
  if (launch.cancelled()) return;
  KernelThread& thread = KernelThread::current();
  const KernelThread::Inside inside(thread, launch, worker);
  Residents(launch, thread, worker).run();
}

}  // namespace vg::backend::cpu
