// Where lanes wait for each other: warp operations, barriers of the block and of the cluster.
#include <algorithm>
#include <initializer_list>

#include "ptx/abi/more_barriers.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::interpreter {
namespace {

constexpr uint32_t kClusterBarrier = 16;  // beside the numbers of the block's barriers

// Where two lanes part, from the kernel's own steps on: the function and their steps in it; no function where they do
// not.
struct Places {
  const FunctionCode* code = nullptr;
  uint32_t first = 0, second = 0;
};

Places placesOf(const Warp::Lane& a, const Warp::Lane& b) {
  const auto stepIn = [](const Warp::Lane& l, size_t level) {
    return level + 1 < l.frames.size() ? l.frames[level + 1].resume : l.step;
  };
  for (size_t level = 0; level < std::min(a.frames.size(), b.frames.size()); ++level) {
    if (a.frames[level].code != b.frames[level].code) break;
    const uint32_t at = stepIn(a, level), other = stepIn(b, level);
    if (at != other) return {a.frames[level].code, at, other};
  }
  return {};
}

// Lanes with one mask meet wherever they are, in operations of one kind or in barriers of the warp.
bool meets(const Warp& w, uint32_t a, uint32_t b) {
  if (w.lanes[b].state != Warp::State::AtWarpSync || w.lanes[a].syncMask != w.lanes[b].syncMask) return false;
  const Step &x = w.stepOf(a), &y = w.stepOf(b);
  if (&x == &y) return true;
  if (!x.execute) return x.number == 1 && !y.execute && y.number == 1;
  return y.execute && meetAlike(*x.i, *y.i);
}

uint32_t presentWith(const Warp& w, uint32_t lane) {
  uint32_t present = 0;
  for (uint32_t other = 0; other < kWarpSize; ++other)
    if ((w.lanes[lane].syncMask >> other & 1) && meets(w, lane, other)) present |= 1u << other;
  return present;
}

// Of those that wait for others, one at the earliest place: what comes behind it waits for it.
uint32_t firstWaiting(const Warp& w) {
  uint32_t first = kWarpSize;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (w.lanes[lane].state != Warp::State::AtWarpSync) continue;
    const Places p = first == kWarpSize ? Places{} : placesOf(w.lanes[lane], w.lanes[first]);
    if (first == kWarpSize || p.first < p.second) first = lane;
  }
  return first;
}

// Whether an instruction is one of the barrier's for lanes that are at one place; the others are for lanes at any.
bool isAligned(const Instruction& i) { return i.op == Op::Bar || i.has(Mod::Aligned); }

bool meetInOnePlaceOnly(const Step& a, const Step& b) { return &a != &b && (isAligned(*a.i) || isAligned(*b.i)); }

// Whether lanes do the same at two instructions when they come to a barrier.
bool arriveAlike(const Step& a, const Step& b) {
  return std::ranges::all_of(std::initializer_list<Mod>{Mod::Arrive, Mod::Red, Mod::Popc, Mod::And, Mod::Cluster},
                             [&](Mod mod) { return a.i->has(mod) == b.i->has(mod); });
}

struct BarrierGroup {
  uint32_t first = 0, mask = 0;
  bool whole = false;     // all that live
  bool disagree = false;  // about which barrier
};

// What a GPU lets lanes do while others of their warp wait elsewhere. Where somebody looks on, who is told of it, lanes
// go on, too.
bool mayComeInPart(const Warp& w, const Step& s) { return isAligned(*s.i) && (s.i->has(Mod::Red) || w.observer); }

// The lanes that wait where the first of those does that wait at barriers.
BarrierGroup barrierGroup(const Warp& w) {
  BarrierGroup group;
  uint32_t all = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (w.lanes[lane].state != Warp::State::AtBarrier) continue;
    if (!all) group.first = lane;
    all |= 1u << lane;
    const Warp::Lane &l = w.lanes[lane], &first = w.lanes[group.first];
    const Step &s = w.stepOf(lane), &firstStep = w.stepOf(group.first);
    const bool inOnePlaceOnly = !w.observer && meetInOnePlaceOnly(s, firstStep);
    if (l.barrierId == first.barrierId && l.barrierCount == first.barrierCount && arriveAlike(s, firstStep) &&
        !inOnePlaceOnly)
      group.mask |= 1u << lane;
    group.disagree |= l.barrierId != first.barrierId && !inOnePlaceOnly;
  }
  group.disagree &= all == w.liveMask();
  group.whole = group.mask == w.liveMask();
  return group;
}

void reduceAtBarrier(Warp& w, const Step& s, uint32_t mask) {
  uint32_t predicates = 0;
  eachLane(mask, [&](uint32_t lane) {
    predicates |= static_cast<uint32_t>(w.read(lane, w.stepOf(lane).sources[2]) & 1) << lane;
  });
  const BarrierReduction operation = s.i->has(Mod::Popc)  ? BarrierReduction::Popc
                                     : s.i->has(Mod::And) ? BarrierReduction::And
                                                          : BarrierReduction::Or;
  const Warp::Lane& first = w.lanes[std::countr_zero(mask)];
  const uint32_t value =
      w.calls().barrierReduce(w.block, w.index, first.barrierId, first.barrierCount, mask, operation, predicates);
  eachLane(mask, [&](uint32_t lane) { w.write(lane, w.stepOf(lane).targets[0], value); });
}

}  // namespace

// Lanes wait at the instruction itself; completion moves them behind it.
void Warp::arriveWarpSync(const Step& s, uint32_t mask, uint32_t step) {
  eachLane(mask, [&](uint32_t lane) {
    const uint32_t named = static_cast<uint32_t>(read(lane, s.sources[s.destination]));
    if (observer && !(named >> lane & 1)) observer->notNamed(index, lane, named, *s.i);
    lanes[lane].syncMask = named | 1u << lane;
    lanes[lane].state = State::AtWarpSync;
    lanes[lane].step = step;
  });
  while (completeWarpSync(false)) continue;  // groups that come together go on together
}

// Runs a warp operation whose lanes are all there; with `partial`, the first one anyway, as nothing else can happen.
bool Warp::completeWarpSync(bool partial) {
  const uint32_t live = liveMask();
  uint32_t lane = partial ? firstWaiting(*this) : 0, present = 0;
  for (; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::AtWarpSync) continue;
    present = presentWith(*this, lane);
    if (partial || present == (lanes[lane].syncMask & live)) break;
  }
  if (lane == kWarpSize) return false;
  const Step& s = stepOf(lane);
  if (s.execute) s.execute(*this, s, present);
  if (observer) tellMeeting(lane, present);
  eachLane(present, [&](uint32_t l) {
    lanes[l].state = State::Ready;
    ++lanes[l].step;
  });
  return true;
}

// Lanes wait at a barrier, also where they only arrive, until all of their warp that live have come to it.
void Warp::arriveBarrier(const Step& s, uint32_t mask, uint32_t step) {
  const bool ofCluster = s.i->has(Mod::Cluster);
  const auto source = [&](uint32_t lane, uint32_t k) {
    return k < s.sourceCount && !ofCluster ? static_cast<uint32_t>(read(lane, s.sources[k])) : 0;
  };
  eachLane(mask, [&](uint32_t lane) {
    lanes[lane].barrierId = ofCluster ? kClusterBarrier : source(lane, 0) & 15;
    lanes[lane].barrierCount = source(lane, 1);
    lanes[lane].state = State::AtBarrier;
    lanes[lane].step = step;
  });
}

// No lane of the warp can go on without the barrier: those that wait at it arrive together. As on a GPU, those that
// wait there for others of their warp that are at another one, or that wait for them, wait for ever.
bool Warp::completeBarrier() {
  const BarrierGroup group = barrierGroup(*this);
  if (!group.mask) return false;
  const Step& s = stepOf(group.first);
  const uint32_t id = lanes[group.first].barrierId, count = lanes[group.first].barrierCount, mask = group.mask;
  const bool waits = !s.i->has(Mod::Arrive);
  noteWhere(kNoLane, s.i);
  if (id != kClusterBarrier && group.disagree) trap(mask, TrapReason::IllegalInstruction, s);
  if (observer) tellArrival(s, id, count, mask, waits);
  if (id == kClusterBarrier)
    calls().clusterWait(block, index);
  else if (!group.whole && !mayComeInPart(*this, s))
    calls().barrier(block, index, kNeverOpens, kNeverOpensCount, liveMask());
  else if (!waits)
    calls().barrierArrive(block, index, id, count, mask);
  else if (s.i->has(Mod::Red))
    reduceAtBarrier(*this, s, mask);
  else
    calls().barrier(block, index, id, count, mask);
  if (observer && waits) id == kClusterBarrier ? observer->leavesCluster(index) : observer->leaves(index, id, mask);
  eachLane(mask, [&](uint32_t lane) {
    lanes[lane].state = State::Ready;
    ++lanes[lane].step;
  });
  return true;
}

// `s`: null where lanes have ended.
void Warp::arriveCluster(const Step* s, uint32_t mask) {
  const bool aligned = s && s->i->has(Mod::Aligned);
  if (observer) observer->arrivesCluster({index, mask, liveMask(), false, aligned, true, s ? s->i : nullptr});
  clusterArrived |= mask;
  if (const uint32_t live = liveMask(); (clusterArrived & live) != live || !live) return;
  clusterArrived = 0;
  calls().clusterArrive(block, index);
}

}  // namespace vg::ptx::interpreter
