// What threads do to each other: races on shared memory, barriers and warp operations.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "check/block_checks.h"
#include "check/words.h"

namespace vg::check {
namespace {

using Kind = ptx::Access::Kind;

// What distinguishes faults of one tool at one line.
enum SyncFault : unsigned { kPartOfWarp, kOtherLine, kPartOfBlock, kNotNamed, kMissing, kStuck };

}  // namespace

// Races -------------------------------------------------------------------------------------------------------------

void BlockChecks::checkRace(const ptx::Access& access, uint32_t offset) {
  if (access.kind == Kind::Touch) return;
  const uint32_t thread = linear(access.warp, access.lane);
  if (ordersByAtomics_ && access.strong) clocks_.pass(thread, reinterpret_cast<uint64_t>(block_->shared) + offset);
  Hazard hazard;
  if (!shared_.touch(access, offset, thread, clocks_, hazard)) return;
  const bool storesOver = hazard.kind == Hazard::Kind::WriteAfterWrite && access.bytes <= sizeof overwrite_.before;
  if (!storesOver) return reportHazard(hazard);
  if (stored_) return changes(access, offset) ? reportHazard(hazard) : void();
  overwrite_.pending = true;
  overwrite_.address = reinterpret_cast<uint64_t>(ownShared()) + offset;
  overwrite_.bytes = static_cast<uint32_t>(access.bytes);
  overwrite_.hazard = hazard;
  std::memcpy(overwrite_.before, ownShared() + offset, access.bytes);
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
bool BlockChecks::changes(const ptx::Access& access, uint32_t offset) const {
  std::byte mine[sizeof overwrite_.before], found[sizeof overwrite_.before];
  stored_->valueOf(access.lane, mine);
  const int before = stored_->before(access.lane);
  if (before < 0)
    std::memcpy(found, ownShared() + offset, access.bytes);
  else
    stored_->valueOf(static_cast<uint32_t>(before), found);
  return std::memcmp(mine, found, access.bytes);
}

void BlockChecks::passes(const ptx::Access& object) {
  resolveOverwrite();
  if (!ordersByAtomics_ || !wants(Tool::Race)) return;
  const SharedPlace place = sharedPlace(object);
  if (place.own)
    clocks_.pass(linear(object.warp, object.lane), reinterpret_cast<uint64_t>(block_->shared) + place.offset);
}

// The store has been done by now. One that leaves the value as it was harms nobody.
void BlockChecks::resolveOverwrite() {
  if (!overwrite_.pending) return;
  overwrite_.pending = false;
  const bool changed = std::memcmp(reinterpret_cast<void*>(overwrite_.address), overwrite_.before, overwrite_.bytes);
  if (changed) reportHazard(overwrite_.hazard);
}

void BlockChecks::reportHazard(const Hazard& hazard) {
  if (!isNewAt(Tool::Race, static_cast<unsigned>(hazard.kind), hazard.at, hazard.otherAt)) return;
  const char *now = "", *before = "";
  switch (hazard.kind) {
    case Hazard::Kind::ReadAfterWrite:
      now = "reads", before = "wrote";
      break;
    case Hazard::Kind::WriteAfterRead:
      now = "writes", before = "read";
      break;
    case Hazard::Kind::WriteAfterWrite:
      now = "writes", before = "wrote something else to";
      break;
  }
  char headline[256];
  std::snprintf(headline, sizeof headline, "a thread %s shared memory at offset %#x that another %s, unordered", now,
                hazard.offset, before);
  const bool sameWarp = hazard.thread / ptx::kWarpSize == hazard.other / ptx::kWarpSize;
  describeLast(headline, {where(hazard.at), byWhom(hazard.thread),
                          "the other is " + threadName(hazard.other) +
                              (sameWarp ? " of the same warp" : " of another warp") + ", " + placeOf(hazard.otherAt),
                          sameWarp ? "nothing like __syncwarp() or __syncthreads() is between them"
                                   : "nothing like __syncthreads() is between them"});
}

// Meetings ----------------------------------------------------------------------------------------------------------

void BlockChecks::arrives(const ptx::BarrierArrival& arrival) {
  resolveOverwrite();
  Meeting& meeting = meetings_[arrival.id % kBarriers];
  for (uint32_t left = arrival.mask; left; left &= left - 1) {
    const uint32_t thread = linear(arrival.warp, static_cast<uint32_t>(std::countr_zero(left)));
    meeting.come.push_back(thread);
    if (arrival.waits) meeting.wait.push_back(thread);
  }
  meeting.live += static_cast<uint32_t>(std::popcount(arrival.live));
  meeting.whole &= arrival.threads == 0;
  meeting.at = arrival.instruction;
  rounds_[arrival.warp % kWarps][arrival.id % kBarriers] = meeting.round;
  if (!wants(Tool::Sync) || !arrival.waits) return;
  const uint32_t thread = linear(arrival.warp, static_cast<uint32_t>(std::countr_zero(arrival.mask)));
  if (arrival.aligned && arrival.live != arrival.mask && isNewAt(Tool::Sync, kPartOfWarp, arrival.instruction))
    describeLast("a barrier of the block is reached by " + words::lanes(arrival.mask) + " of a warp only",
                 {where(arrival.instruction), byWhom(thread),
                  words::lanes(arrival.live & ~arrival.mask) + " of the warp are elsewhere"});
  if (arrival.aligned && !arrival.sameLine && isNewAt(Tool::Sync, kOtherLine, arrival.instruction))
    describeLast("lanes of a warp meet at a barrier of the block from different places",
                 {where(arrival.instruction), byWhom(thread)});
}

// The first who leaves was let go by the last who came: all of them are known now, and nobody else has moved.
void BlockChecks::leaves(uint32_t warp, uint32_t id, uint32_t) {
  Meeting& meeting = meetings_[id % kBarriers];
  if (rounds_[warp % kWarps][id % kBarriers] != meeting.round) return;
  const uint32_t threads = block_->launch->threadsPerBlock;
  if (wants(Tool::Race)) {
    if (meeting.come.size() == threads || meeting.whole)
      clocks_.meetAll();
    else
      clocks_.meet(meeting.come, meeting.wait);
  }
  const uint32_t gone = threads - std::min(meeting.live, threads);
  if (wants(Tool::Exits) && meeting.whole && gone && isNewAt(Tool::Exits, kPartOfBlock, meeting.at))
    describeLast("a barrier of the block is reached by " + std::to_string(threads - gone) + " of its " +
                     std::to_string(threads) + " threads only",
                 {where(meeting.at), byWhom(meeting.come.front()), "the others have ended"});
  meeting.come.clear();
  meeting.wait.clear();
  meeting.whole = true;
  meeting.live = 0;
  ++meeting.round;
}

void BlockChecks::leavesCluster() {
  resolveOverwrite();
  if (wants(Tool::Race)) clocks_.meetAll();
}

void BlockChecks::meet(uint32_t warp, uint32_t mask) {
  resolveOverwrite();
  if (wants(Tool::Race)) clocks_.meetWarp(warp, mask);
}

void BlockChecks::notNamed(uint32_t warp, uint32_t lane, uint32_t mask, const ptx::Instruction& at) {
  if (!wants(Tool::Sync) || !isNewAt(Tool::Sync, kNotNamed, &at)) return;
  describeLast("a lane takes part in " + words::operation(at) + " whose mask does not name it",
               {where(&at), byWhom(linear(warp, lane)), "the mask is " + words::hex(mask)});
}

void BlockChecks::missing(uint32_t warp, uint32_t mask, uint32_t present, const ptx::Instruction& at) {
  if (!wants(Tool::Sync) || !isNewAt(Tool::Sync, kMissing, &at)) return;
  describeLast("the mask of " + words::operation(at) + " names lanes that do not come",
               {where(&at), byWhom(linear(warp, static_cast<uint32_t>(std::countr_zero(present)))),
                "the mask is " + words::hex(mask) + ", the lanes that come are " + words::hex(present)});
}

void BlockChecks::stuck() {
  if (!wants(Tool::Sync)) return;
  std::vector<std::string> details;
  const ptx::Instruction* at = nullptr;
  for (uint32_t id = 0; id < kBarriers; ++id) {
    const Meeting& meeting = meetings_[id];
    if (meeting.wait.empty()) continue;
    at = meeting.at;
    details.push_back(std::to_string(meeting.wait.size()) + " threads wait at barrier " + std::to_string(id) + ", " +
                      placeOf(meeting.at));
  }
  if (!at || !isNewAt(Tool::Sync, kStuck, at)) return;
  details.insert(details.begin(), {where(nullptr), byWhom(0)});
  describeLast("every warp of a block waits at a barrier that nobody can complete", details);
}

}  // namespace vg::check
