#include "check/blocks/block_checks.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/sync/mutex.h"
#include "base/text/plain_names.h"
#include "base/undying.h"
#include "check/blocks/faulted.h"
#include "check/memory/allocations.h"
#include "check/memory/initialised.h"
#include "check/reports/words.h"
#include "ptx/facts/reach.h"

namespace vg::check {
namespace {

using Kind = ptx::Access::Kind;

// What distinguishes faults of one tool at one line.
enum MemoryFault : unsigned {
  kMisaligned,
  kOutside,
  kReadOnly,
  kPageable,
  kBeyondShared,
  kBeyondLocal,
  kFreedInOrder,
  kBeyondVariable
};
enum InitFault : unsigned { kGlobalEmpty, kSharedEmpty };

// Which blocks of the cluster that has this shared memory have begun.
struct BegunCluster {
  uint64_t grid = 0, ranks = 0;
};
struct BegunClusters {
  Mutex mutex;
  std::unordered_map<uint64_t, BegunCluster> byMemory VG_GUARDED_BY(mutex);
};

// The first block that begins clears the shared memory of all of them: it may touch the others' at once.
void beginCluster(const ptx::BlockState& block) {
  const auto memory = reinterpret_cast<uint64_t>(block.clusterShared);
  const uint64_t rank = uint64_t{1} << block.clusterRank % 64;
  BegunClusters& all = undyingFrom<BegunClusters>([] { return BegunClusters(); });
  const MutexLock lock(all.mutex);
  BegunCluster& cluster = all.byMemory[memory];
  const bool isFirst = cluster.grid != block.launch->gridId || cluster.ranks & rank;
  cluster.ranks = isFirst ? rank : cluster.ranks | rank;
  cluster.grid = block.launch->gridId;
  if (!isFirst) return;
  const uint32_t* const size = block.launch->clusterSize;
  for (uint64_t k = 0; k < uint64_t{size[0]} * size[1] * size[2]; ++k)
    global_memory::forget(memory + k * ptx::kSharedStride, block.sharedLimit, true);
}

}  // namespace

void BlockChecks::begin(ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry,
                        ptx::Carries carries, uint32_t reserved) {
  resolveOverwrite();
  block_ = &block;
  if (module_ != &module) guesses_.clear();
  module_ = &module;
  reports_.enter(block, module, entry);
  grid_ = block.launch->gridId;
  number_ = block.blockNumber;
  carries_ = carries;
  if (clocks_.nearlyFull()) clocks_ = Clocks();
  const uint32_t* const cluster = block.launch->clusterSize;
  inCluster_ = uint64_t{cluster[0]} * cluster[1] * cluster[2] > 1;
  if (wants(Tool::Race)) clocks_.reset(block.launch->threadsPerBlock);
  shared_.reset(block.sharedLimit);
  if (wants(Tool::Init)) shared_.written(0, std::min(reserved, block.sharedLimit));
  for (BlockMeeting& meeting : meetings_)
    if (meeting.comers || meeting.round) meeting = BlockMeeting();
  clusterMeeting_.reset(inCluster_);
  if (!wants(Tool::Race)) return;
  global_.begin(block, module, entry);
  if (inCluster_) beginCluster(block);
}

// Memory ------------------------------------------------------------------------------------------------------------

// Shared memory of the block itself, or of another one of its cluster: the offset there.
SharedPlace sharedElsewhere(const ptx::BlockState& block, const ptx::Access& access, uint64_t offset, uint64_t window) {
  const uint32_t* const size = block.launch->clusterSize;
  const uint64_t blocks = uint64_t{size[0]} * size[1] * size[2];
  const bool inCluster = blocks > 1 && offset / ptx::kSharedStride < blocks && offset % ptx::kSharedStride < window;
  if (inCluster) return {true, false, offset % ptx::kSharedStride};
  return {access.isShared, false, offset - block.sharedOffset};
}

bool BlockChecks::allows(const ptx::Access& access, Own own) {
  resolveOverwrite();
  if (!permits(access, own)) return false;
  if (own == Own::No) touches(access);
  return true;
}

bool BlockChecks::permits(const ptx::Access& access, Own own) {
  good_ = {};
  if (wants(Tool::Memory) && !aligned(access)) return false;
  if (own == Own::Yes) return true;
  if (own == Own::Beside || access.space == ptx::Space::Local)
    return !wants(Tool::Memory) || beyond(access, kBeyondLocal, "is outside of the local memory of the thread", {});
  const SharedPlace shared = sharedPlace(access);
  if (!shared.isShared) return !wants(Tool::Memory) || fitsGlobal(access);
  if (!fitsShared(access, shared))
    return !wants(Tool::Memory) || beyond(access, kBeyondShared, "is outside of the shared memory of the block",
                                          {"the block has " + std::to_string(block_->sharedLimit) + " bytes of it, " +
                                           std::to_string(block_->launch->dynamicShared) + " of them dynamic"});
  if (!inCluster_) good_ = {reinterpret_cast<uint64_t>(ownShared()), uint64_t{block_->sharedLimit} + 1};
  return true;
}

bool BlockChecks::fitsShared(const ptx::Access& access, const SharedPlace& place) const {
  return place.offset <= block_->sharedLimit && access.bytes <= block_->sharedLimit - place.offset;
}

void BlockChecks::touches(const ptx::Access& access) {
  if (access.space == ptx::Space::Local) return;
  const SharedPlace shared = sharedPlace(access);
  if (!shared.isShared) return checkGlobal(access);
  if (!fitsShared(access, shared)) return;
  if (!inCluster_) return shared.own ? checkShared(access, static_cast<uint32_t>(shared.offset)) : void();
  if (!wants(Tool::Race)) return;
  ptx::Access other = access;  // by its address of the host, as blocks have different ones of their own
  if (access.isShared) other.address += reinterpret_cast<uint64_t>(block_->shared);
  other.isShared = true;
  checkGlobalRace(other, other.address);
}

// Calls visit(first byte, bytes) for the pieces of a row that lanes touch, until one says no.
template <class Visit>
static bool eachPiece(uint64_t bytes, uint64_t laneBytes, uint32_t lanes, Visit visit) {
  if (!laneBytes || lanes == global_memory::kAllLanes) return visit(uint64_t{0}, bytes);
  for (uint32_t left = lanes; left;) {
    const auto first = static_cast<uint32_t>(std::countr_zero(left));
    const auto count = static_cast<uint32_t>(std::countr_one(left >> first));
    if (!visit(first * laneBytes, count * laneBytes)) return false;
    left &= count + first == 32 ? 0 : ~0u << (first + count);
  }
  return true;
}

inline bool BlockChecks::touchSharedTogether(const ptx::Access& access, const SharedPlace& place, uint64_t laneBytes,
                                             uint32_t lanes) {
  if (inCluster_ || !place.own || !fitsShared(access, place) || access.kind == Kind::Touch) return false;
  if (access.kind != Kind::Load) notes_.take(*block_, shared_, clocks_);
  const auto offset = static_cast<uint32_t>(place.offset), bytes = static_cast<uint32_t>(access.bytes);
  const uint32_t thread = linear(access.warp, access.lane);
  if (wants(Tool::Race) && shared_.touchRow(access, offset, laneBytes, thread, lanes, clocks_)) return false;
  if (!wants(Tool::Init)) return true;
  if (laneBytes && lanes != global_memory::kAllLanes && shared_.writtenBytes(offset, bytes) == bytes) return true;
  return eachPiece(bytes, laneBytes, lanes, [&](uint64_t at, uint64_t length) {
    const auto first = offset + static_cast<uint32_t>(at), size = static_cast<uint32_t>(length);
    if (access.kind != Kind::Store && shared_.writtenBytes(first, size) < size) return false;
    if (access.kind != Kind::Load) shared_.written(first, size);
    return true;
  });
}

bool BlockChecks::touchesTogether(const ptx::Access& access, uint64_t laneBytes, uint32_t lanes) {
  if (carries_ != ptx::Carries::Nothing && access.strong) return false;
  const SharedPlace shared = sharedPlace(access);
  if (shared.isShared) return touchSharedTogether(access, shared, laneBytes, lanes);
  if (wants(Tool::Race) && access.kind != Kind::Touch) {
    if (access.kind == Kind::Store) underWay_.begins(global_.id(), access.address, access.bytes);
    const uint32_t first = linear(access.warp, access.lane);
    if (!global_.touchRow(access, access.address, laneBytes, first, lanes)) return false;
  }
  if (!wants(Tool::Init)) return true;
  const bool reads = access.kind == Kind::Load || access.kind == Kind::Atomic,
             some = laneBytes && lanes != global_memory::kAllLanes;
  if (some && initialised::writtenBytes(access.address, access.bytes) == access.bytes) return true;
  return eachPiece(access.bytes, laneBytes, lanes, [&](uint64_t at, uint64_t bytes) {
    if (reads && initialised::writtenBytes(access.address + at, bytes) < bytes) return false;
    if (access.kind != Kind::Load) initialised::written(access.address + at, bytes);
    return true;
  });
}

void BlockChecks::storing(const StoredData* stored) {
  resolveOverwrite();
  stored_ = stored;
}

bool BlockChecks::aligned(const ptx::Access& access) {
  if (!(access.address & (access.alignment - 1))) return true;
  markFaulted(*block_, CUDA_ERROR_MISALIGNED_ADDRESS);
  if (!reports_.isNewAt(Tool::Memory, kMisaligned, access.instruction)) return false;
  return refuse(access, "is not aligned to " + std::to_string(access.alignment) + " bytes", {});
}

// Outside of memory that a kind of fault is about.
bool BlockChecks::beyond(const ptx::Access& access, unsigned kind, const char* why,
                         const std::vector<std::string>& around) {
  if (!reports_.isNewAt(Tool::Memory, kind, access.instruction))
    return markFaulted(*block_, CUDA_ERROR_ILLEGAL_ADDRESS);
  return refuse(access, why, around);
}

bool BlockChecks::beyondVariable(const ptx::Access& access, const ptx::Variable& variable) {
  return beyond(access, kBeyondVariable, "is outside of the shared variable that its address is computed from",
                {"the variable " + plainName(variable.name) + " has " + std::to_string(variable.size) + " bytes"});
}

bool BlockChecks::fitsGlobal(const ptx::Access& access) {
  const uint64_t workspace = block_->launch->cooperativeWorkspace;
  if (workspace && access.address - workspace < ptx::kCooperativeWorkspace) return true;
  // Shared memory of blocks of the cluster, by an address that names no space.
  const uint32_t* const size = block_->launch->clusterSize;
  const uint64_t windows = uint64_t{size[0]} * size[1] * size[2] * ptx::kSharedStride;
  if (inCluster_ && access.address - reinterpret_cast<uint64_t>(block_->clusterShared) < windows) return true;
  const bool stores = access.kind == Kind::Store || access.kind == Kind::Atomic;
  const bool pageable = block_->launch->flags & ptx::kReachesPageable;
  const allocations::Answer answer = allocations::judge(access.address, access.bytes, stores, pageable);
  const auto fault = [&](unsigned kind, const char* why) {
    if (!reports_.isNewAt(Tool::Memory, kind, access.instruction, 0, answer.id))
      return markFaulted(*block_, CUDA_ERROR_ILLEGAL_ADDRESS);
    return refuse(access, why, allocations::whereabouts(access.address, access.bytes));
  };
  switch (answer.verdict) {
    case allocations::Verdict::Fine:
      if (!answer.goodBytes && wants(Tool::Race) && global_.freedBefore(access.address))
        return fault(kFreedInOrder, "is in memory that was freed in the order of a stream before");
      if (answer.goodBytes) good_ = {answer.goodBase, answer.goodBytes + 1};
      return true;
    case allocations::Verdict::Outside:
      return fault(kOutside, "is outside of every allocation");
    case allocations::Verdict::ReadOnly:
      return fault(kReadOnly, "goes to memory that the host registered read-only");
    case allocations::Verdict::Pageable:
      return fault(kPageable, "goes to memory of the host that the device does not know");
  }
  return true;
}

// Requires: the fault is new. Always false.
bool BlockChecks::refuse(const ptx::Access& access, const std::string& why, const std::vector<std::string>& around) {
  std::vector<std::string> details{reports_.where(access.instruction),
                                   reports_.byWhom(linear(access.warp, access.lane))};
  details.insert(details.end(), around.begin(), around.end());
  reports_.describeLast(words::access(access) + " " + why, details);
  return markFaulted(*block_, CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Contents ----------------------------------------------------------------------------------------------------------

void BlockChecks::checkGlobal(const ptx::Access& access) {
  if (wants(Tool::Race)) checkGlobalRace(access, access.address);
  if (!wants(Tool::Init)) return;
  if (access.kind == Kind::Load || access.kind == Kind::Atomic) {
    const size_t good = initialised::writtenBytes(access.address, access.bytes);
    if (good < access.bytes) uninitialised(access, access.address + good, good, false);
  }
  if (access.kind != Kind::Load) initialised::written(access.address, access.bytes);
}

void BlockChecks::checkShared(const ptx::Access& access, uint32_t offset) {
  if (wants(Tool::Race)) checkRace(access, offset);
  if (!wants(Tool::Init)) return;
  const uint32_t bytes = static_cast<uint32_t>(access.bytes);
  if (access.kind == Kind::Load || access.kind == Kind::Atomic) {
    const uint32_t good = shared_.writtenBytes(offset, bytes);
    if (good < bytes) uninitialised(access, offset + good, good, true);
  }
  if (access.kind != Kind::Load) shared_.written(offset, bytes);
}

void BlockChecks::fills(const ptx::Access& to, const ptx::Access* reports) {
  resolveOverwrite();
  const SharedPlace place = sharedPlace(to);
  if (reports && to.bytes && wants(Tool::Race) && !inCluster_ && place.own && sharedPlace(*reports).own &&
      fitsShared(to, place)) {  // a bulk copy, of which the barrier object tells
    notes_.take(*block_, shared_, clocks_);
    Hazard hazard;
    if (shared_.touchByBulk(to, static_cast<uint32_t>(place.offset), linear(to.warp, to.lane),
                            sharedPlace(*reports).offset, clocks_, hazard))
      reports_.hazard(hazard);
  }
  if (!wants(Tool::Init) || !place.own || place.offset >= block_->sharedLimit) return;
  const uint64_t rest = block_->sharedLimit - place.offset;
  shared_.written(static_cast<uint32_t>(place.offset),
                  static_cast<uint32_t>(to.bytes ? std::min(to.bytes, rest) : rest));
}

void BlockChecks::uninitialised(const ptx::Access& access, uint64_t address, size_t good, bool shared) {
  if (!reports_.isNewAt(Tool::Init, shared ? kSharedEmpty : kGlobalEmpty, access.instruction)) return;
  std::vector<std::string> details{reports_.where(access.instruction),
                                   reports_.byWhom(linear(access.warp, access.lane))};
  if (!shared)
    for (std::string& line : allocations::whereabouts(address, 1)) details.push_back(std::move(line));
  std::string what = words::access(access) + " reads what nobody has written";
  if (good) what += ", from byte " + std::to_string(good) + " on";
  reports_.describeLast(what, details);
}

}  // namespace vg::check
