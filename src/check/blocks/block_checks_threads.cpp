// What threads do to each other: races on shared memory, barriers and warp operations.
#include <algorithm>
#include <bit>
#include <cstring>

#include "check/blocks/block_checks.h"
#include "check/races/guesses.h"
#include "check/reports/words.h"

namespace vg::check {
namespace {

using Kind = ptx::Access::Kind;

// What distinguishes faults of one tool at one line.
enum SyncFault : unsigned {
  kPartOfWarp,
  kOtherLine,
  kPartOfBlock,
  kNotNamed,
  kMissing,
  kStuck,
  kArrivesTwice,
  kWaitsOnly,
  kArrivesApart
};

void clusterFault(unsigned kind, const ptx::ClusterArrival& arrival, const char* what, uint32_t lanes,
                  BlockReports& reports) {
  if (!lanes || !reports.isNewAt(Tool::Sync, kind, arrival.instruction)) return;
  const uint32_t thread = arrival.warp * ptx::kWarpSize + static_cast<uint32_t>(std::countr_zero(lanes));
  reports.describeLast(words::lanes(lanes) + " of a warp " + what,
                       {reports.where(arrival.instruction), reports.byWhom(thread)});
}

// Of those who wait, all that can come have come.
void judgeArrival(const ptx::ClusterArrival& arrival, ClusterMeeting& meeting, BlockReports& reports) {
  if (!arrival.waits)
    return clusterFault(kArrivesTwice, arrival, "arrive at the barrier of the cluster twice without waiting in between",
                        meeting.arrive(arrival.warp, arrival.mask, arrival.instruction), reports);
  ptx::ClusterArrival before = arrival;
  before.instruction = meeting.placeOf(arrival.warp, arrival.mask);
  bool apart = false;
  clusterFault(kWaitsOnly, arrival, "wait at the barrier of the cluster without having arrived",
               meeting.wait(arrival.warp, arrival.mask, &apart), reports);
  if (apart && before.instruction && before.instruction->has(ptx::Mod::Aligned))
    clusterFault(kArrivesApart, before, "arrive at an aligned barrier of the cluster from different places",
                 arrival.mask, reports);
  if (!arrival.aligned) return;
  if (arrival.live != arrival.mask)
    clusterFault(kPartOfWarp, arrival, "wait at an aligned barrier of the cluster while the others are elsewhere",
                 arrival.mask, reports);
  if (!arrival.sameLine)
    clusterFault(kOtherLine, arrival, "wait at an aligned barrier of the cluster from different places", arrival.mask,
                 reports);
}

uint32_t lanesOf(uint32_t mask) { return mask == ~0u ? ptx::kWarpSize : static_cast<uint32_t>(std::popcount(mask)); }

Clocks::Threads threadsOf(const uint32_t* lanes, uint32_t warps) {
  Clocks::Threads threads;
  for (uint32_t warp = 0; warp < warps; ++warp)
    for (uint32_t left = lanes[warp]; left; left &= left - 1)
      threads.push_back(warp * ptx::kWarpSize + static_cast<uint32_t>(std::countr_zero(left)));
  return threads;
}

}  // namespace

// Races -------------------------------------------------------------------------------------------------------------

void BlockChecks::checkRace(const ptx::Access& access, uint32_t offset) {
  if (access.kind == Kind::Touch) return;
  const uint32_t thread = linear(access.warp, access.lane);
  if (access.kind != Kind::Load || access.strong) notes_.take(*block_, shared_, clocks_);
  if (carries_ != ptx::Carries::Nothing && access.strong)
    clocks_.pass(thread, reinterpret_cast<uint64_t>(block_->shared) + offset);
  Hazard hazard;
  if (!shared_.touch(access, offset, thread, clocks_, hazard)) return;
  const bool storesOver = hazard.kind == Hazard::Kind::WriteAfterWrite && access.bytes <= sizeof overwrite_.before;
  if (!storesOver) return reports_.hazard(hazard);
  if (stored_) return changes(access, ownShared() + offset) ? reports_.hazard(hazard) : void();
  overwrites(access, ownShared() + offset);
  overwrite_.global = false;
  overwrite_.hazard = hazard;
}

void BlockChecks::overwrites(const ptx::Access& access, const std::byte* place) {
  overwrite_.pending = true;
  overwrite_.address = reinterpret_cast<uint64_t>(place);
  overwrite_.bytes = static_cast<uint32_t>(access.bytes);
  std::memcpy(overwrite_.before, place, access.bytes);
}

// Whether a plain load meets an atomic as the first guess of a loop around one.
bool BlockChecks::guesses(const global_memory::Conflict& conflict, const ptx::Access& access) {
  const bool earlierStrong = conflict.where & global_memory::kStrong;
  const bool loadsNow = access.kind == Kind::Load && earlierStrong, loaded = !conflict.earlierWrote && access.strong;
  if ((!loadsNow && !loaded) || (conflict.where & global_memory::kCopy)) return false;
  const ptx::Module* const module = loadsNow ? module_ : global_.moduleOf(conflict.earlier);
  if (!module) return false;
  const uint32_t line = loadsNow ? access.instruction->line : conflict.where & global_memory::kLine;
  if (module != module_) return isGuess(*module, line);
  const auto [found, isNew] = guesses_.try_emplace(line, false);
  if (isNew) found->second = isGuess(*module, line);
  return found->second;
}

// `address`: of the host.
void BlockChecks::checkGlobalRace(const ptx::Access& access, uint64_t address) {
  constexpr uint64_t kMost = 32;  // of a fragment of a matrix only the first and the last byte are known
  if (access.kind == Kind::Touch || access.space == ptx::Space::Param || access.bytes > kMost) return;
  const uint32_t thread = linear(access.warp, access.lane);
  global_memory::Conflict conflict;
  if (access.kind == Kind::Store) underWay_.begins(global_.id(), address, access.bytes);
  const bool fine = global_.touch(access, address, thread, conflict);
  if (carries_ != ptx::Carries::Nothing && access.strong) {
    notes_.take(*block_, shared_, clocks_);
    if (carries_ == ptx::Carries::BetweenBlocks && !access.instruction->has(ptx::Mod::Cta))
      global_.pass(access, thread);
    clocks_.pass(thread, address);
  }
  if (fine || guesses(conflict, access)) return;
  const auto* const place = reinterpret_cast<const std::byte*>(address);
  if (access.kind != Kind::Store || access.bytes > sizeof overwrite_.before)
    return reports_.conflict(conflict, access.instruction, global_);
  if (conflict.earlier.id() != global_.id() && !isKnown(reports_.keyOf(conflict, access.instruction)))
    StoreUnderWay::await(conflict.earlier.id(), address, access.bytes);
  if (stored_) return changes(access, place) ? reports_.conflict(conflict, access.instruction, global_) : void();
  overwrites(access, place);
  overwrite_.global = true;
  overwrite_.conflict = conflict;
  overwrite_.at = access.instruction;
}

void StoredData::valueOf(uint32_t lane, std::byte* to) const {
  for (uint32_t at = 0; at < bytes; at += elementBytes)
    std::memcpy(to + at, data + at * ptx::kWarpSize + lane * elementBytes, elementBytes);
}

int StoredData::before(uint32_t lane) const {
  for (int other = static_cast<int>(lane) - 1; other >= 0; --other)
    if ((mask >> other & 1) && addresses[other] == addresses[lane]) return other;
  return -1;
}

// Whether a store that is known changes what it finds.
bool BlockChecks::changes(const ptx::Access& access, const std::byte* place) const {
  std::byte mine[sizeof overwrite_.before], found[sizeof overwrite_.before];
  stored_->valueOf(access.lane, mine);
  const int before = stored_->before(access.lane);
  if (before < 0)
    std::memcpy(found, place, access.bytes);
  else
    stored_->valueOf(static_cast<uint32_t>(before), found);
  return std::memcmp(mine, found, access.bytes);
}

void BlockChecks::passes(const ptx::Access& object) {
  resolveOverwrite();
  if (carries_ == ptx::Carries::Nothing || !wants(Tool::Race)) return;
  notes_.take(*block_, shared_, clocks_);
  const SharedPlace place = sharedPlace(object);
  const uint32_t thread = linear(object.warp, object.lane);
  const ptx::Instruction& by = *object.instruction;
  if (place.own && (by.has(ptx::Mod::TestWait) || by.has(ptx::Mod::TryWait)))
    shared_.copies().waitAt(place.offset, thread, clocks_.sinceBegin(thread));
  if (inCluster_ && place.isShared) {
    const uint64_t word = object.address + (object.isShared ? reinterpret_cast<uint64_t>(block_->shared) : 0);
    global_.acquire(word, thread);
    global_.release(word, thread);
  }
  if (place.own) clocks_.pass(thread, reinterpret_cast<uint64_t>(block_->shared) + place.offset);
}

void BlockChecks::copies(uint32_t warp, uint32_t mask, Copies what, uint32_t left) {
  if (!wants(Tool::Race)) return;
  resolveOverwrite();
  notes_.take(*block_, shared_, clocks_);
  for (; mask; mask &= mask - 1) {
    const uint32_t thread = linear(warp, static_cast<uint32_t>(std::countr_zero(mask)));
    const uint32_t clock = clocks_.sinceBegin(thread);
    if (what == Copies::Commit) shared_.copies().commit(thread);
    if (what == Copies::Wait) shared_.copies().wait(thread, left, clock);
    if (what == Copies::WaitForAll) shared_.copies().waitForAll(thread, clock);
  }
}

// The store has been done by now. One that leaves the value as it was harms nobody.
void BlockChecks::resolveOverwrite() {
  underWay_.ends();
  if (!overwrite_.pending) return;
  overwrite_.pending = false;
  const bool changed = std::memcmp(reinterpret_cast<void*>(overwrite_.address), overwrite_.before, overwrite_.bytes);
  if (changed && overwrite_.global) return reports_.conflict(overwrite_.conflict, overwrite_.at, global_);
  if (changed) reports_.hazard(overwrite_.hazard);
}

// Meetings ----------------------------------------------------------------------------------------------------------

static uint32_t barrierOf(uint32_t warp, uint32_t id, bool ofWarpgroup) {
  return ofWarpgroup ? BlockMeeting::kNumbers + warp % BlockMeeting::kWarps / ptx::kWarpsOfGroup
                     : id % BlockMeeting::kNumbers;
}

void BlockChecks::arrives(const ptx::BarrierArrival& arrival) {
  resolveOverwrite();
  const bool ofWarpgroup = arrival.threads == ptx::kThreadsOfWarpgroup;
  const uint32_t id = barrierOf(arrival.warp, arrival.id, ofWarpgroup);
  WarpMeetings& came = came_[arrival.warp % BlockMeeting::kWarps];
  if (arrival.waits) came.ofWarpgroup = ofWarpgroup;
  BlockMeeting& meeting = meetings_[id];
  const uint32_t lanes = lanesOf(arrival.mask);
  meeting.come[arrival.warp % BlockMeeting::kWarps] |= arrival.mask;
  meeting.comers += lanes;
  if (arrival.waits) {
    meeting.wait[arrival.warp % BlockMeeting::kWarps] |= arrival.mask;
    meeting.waiters += lanes;
  }
  meeting.live += lanesOf(arrival.live);
  meeting.whole &= arrival.threads == 0;
  meeting.at = arrival.instruction;
  came.rounds[id] = meeting.round;
  if (!wants(Tool::Sync) || !arrival.waits) return;
  const uint32_t thread = linear(arrival.warp, static_cast<uint32_t>(std::countr_zero(arrival.mask)));
  if (arrival.aligned && arrival.live != arrival.mask && reports_.isNewAt(Tool::Sync, kPartOfWarp, arrival.instruction))
    reports_.describeLast("a barrier of the block is reached by " + words::lanes(arrival.mask) + " of a warp only",
                          {reports_.where(arrival.instruction), reports_.byWhom(thread),
                           words::lanes(arrival.live & ~arrival.mask) + " of the warp are elsewhere"});
  if (arrival.aligned && !arrival.sameLine && reports_.isNewAt(Tool::Sync, kOtherLine, arrival.instruction))
    reports_.describeLast("lanes of a warp meet at a barrier of the block from different places",
                          {reports_.where(arrival.instruction), reports_.byWhom(thread)});
}

// The first who leaves was let go by the last who came: all of them are known now, and nobody else has moved.
void BlockChecks::leaves(uint32_t warp, uint32_t number, uint32_t) {
  const WarpMeetings& came = came_[warp % BlockMeeting::kWarps];
  const uint32_t id = barrierOf(warp, number, came.ofWarpgroup);
  BlockMeeting& meeting = meetings_[id];
  if (came.rounds[id] != meeting.round) return;
  const uint32_t threads = block_->launch->threadsPerBlock;
  if (wants(Tool::Race)) {
    const bool all = meeting.comers == threads || meeting.whole;
    if (!all) notes_.take(*block_, shared_, clocks_);
    if (all)
      clocks_.meetAll(), notes_.begin(*block_, !inCluster_ && !shared_.copies().pending() &&
                                                   (!wants(Tool::Init) || shared_.isWritten()));
    else
      clocks_.meet(threadsOf(meeting.come, BlockMeeting::kWarps), threadsOf(meeting.wait, BlockMeeting::kWarps));
  }
  const uint32_t gone = threads - std::min(meeting.live, threads);
  if (wants(Tool::Exits) && meeting.whole && gone && reports_.isNewAt(Tool::Exits, kPartOfBlock, meeting.at))
    reports_.describeLast(
        "a barrier of the block is reached by " + std::to_string(threads - gone) + " of its " +
            std::to_string(threads) + " threads only",
        {reports_.where(meeting.at), reports_.byWhom(threadsOf(meeting.come, BlockMeeting::kWarps).front()),
         "the others have ended"});
  const uint32_t round = meeting.round + 1;
  meeting = BlockMeeting();
  meeting.round = round;
}

// The word by which the blocks of a cluster know of each other, where nobody has memory: one for each of the last
// rounds, as some are at the next one already.
uint64_t BlockChecks::clusterWord(uint32_t warp) const {
  constexpr uint64_t kNowhere = uint64_t{1} << 63, kRounds = 16, kWord = 4;
  return kNowhere + reinterpret_cast<uint64_t>(block_->clusterShared) +
         clusterMeeting_.rounds(warp % BlockMeeting::kWarps) % kRounds * kWord;
}

void BlockChecks::arrivesCluster(const ptx::ClusterArrival& arrival) {
  resolveOverwrite();
  if (!arrival.mask) return;
  if (wants(Tool::Sync) && inCluster_) judgeArrival(arrival, clusterMeeting_, reports_);
  if (!wants(Tool::Race) || arrival.waits) return;
  for (uint32_t left = arrival.mask; left; left &= left - 1)
    global_.release(clusterWord(arrival.warp), linear(arrival.warp, static_cast<uint32_t>(std::countr_zero(left))));
}

void BlockChecks::leavesCluster(uint32_t warp) {
  resolveOverwrite();
  if (!wants(Tool::Race)) return;
  global_.acquire(clusterWord(warp), linear(warp, 0));
  clusterMeeting_.leave(warp % BlockMeeting::kWarps);
  clocks_.meetAll();
}

void BlockChecks::meet(uint32_t warp, uint32_t mask) {
  resolveOverwrite();
  if (!wants(Tool::Race)) return;
  notes_.take(*block_, shared_, clocks_);
  clocks_.meetWarp(warp, mask);
}

// The vendor's own code (cooperative groups) hands on by a shuffle what one lane has acquired.
void BlockChecks::operate(uint32_t warp, uint32_t mask) {
  if (carries_ != ptx::Carries::Nothing) meet(warp, mask);
}

void BlockChecks::notNamed(uint32_t warp, uint32_t lane, uint32_t mask, const ptx::Instruction& at) {
  if (!wants(Tool::Sync) || !reports_.isNewAt(Tool::Sync, kNotNamed, &at)) return;
  reports_.describeLast("a lane takes part in " + words::operation(at) + " whose mask does not name it",
                        {reports_.where(&at), reports_.byWhom(linear(warp, lane)), "the mask is " + words::hex(mask)});
}

void BlockChecks::missing(uint32_t warp, uint32_t mask, uint32_t present, const ptx::Instruction& at) {
  if (!wants(Tool::Sync) || !reports_.isNewAt(Tool::Sync, kMissing, &at)) return;
  reports_.describeLast(
      "the mask of " + words::operation(at) + " names lanes that do not come",
      {reports_.where(&at), reports_.byWhom(linear(warp, static_cast<uint32_t>(std::countr_zero(present)))),
       "the mask is " + words::hex(mask) + ", the lanes that come are " + words::hex(present)});
}

void BlockChecks::stuck() {
  if (!wants(Tool::Sync)) return;
  std::vector<std::string> details;
  const ptx::Instruction* at = nullptr;
  for (uint32_t id = 0; id < BlockMeeting::kBarriers; ++id) {
    const BlockMeeting& meeting = meetings_[id];
    if (!meeting.waiters) continue;
    at = meeting.at;
    const std::string which = id < BlockMeeting::kNumbers ? "barrier " + std::to_string(id) : "wgmma.wait_group";
    details.push_back(std::to_string(meeting.waiters) + " threads wait at " + which + ", " +
                      reports_.placeOf(meeting.at));
  }
  if (!at || !reports_.isNewAt(Tool::Sync, kStuck, at)) return;
  details.insert(details.begin(), {reports_.where(nullptr), reports_.byWhom(0)});
  reports_.describeLast("every warp of a block waits at a barrier that nobody can complete", details);
}

}  // namespace vg::check
