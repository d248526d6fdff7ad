// Where lanes wait for each other: warp operations, barriers of the block and of the cluster.
#include <algorithm>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::interpreter {
namespace {

constexpr uint32_t kClusterBarrier = 16;  // beside the numbers of the block's barriers

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
  completeWarpSync(false);
}

// Lanes with one mask meet in different branches, too, in barriers and in operations of one kind.
bool Warp::meets(uint32_t a, uint32_t b) const {
  if (lanes[b].state != State::AtWarpSync || lanes[a].syncMask != lanes[b].syncMask) return false;
  const Step &x = stepOf(a), &y = stepOf(b);
  if (&x == &y) return true;
  return x.execute ? y.execute && meetAlike(*x.i, *y.i) : x.number == 1 && !y.execute && y.number == 1;
}

// Runs warp operations whose lanes are all there; with `partial`, the first one anyway, as nothing else can happen.
bool Warp::completeWarpSync(bool partial) {
  const uint32_t live = liveMask();
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::AtWarpSync) continue;
    uint32_t present = 0;
    for (uint32_t other = 0; other < kWarpSize; ++other)
      if (((lanes[lane].syncMask >> other) & 1) && lanes[other].state == State::AtWarpSync && meets(lane, other))
        present |= 1u << other;
    if (!partial && present != (lanes[lane].syncMask & live)) continue;
    const Step& s = stepOf(lane);
    if (s.execute) s.execute(*this, s, present);
    if (observer) tellMeeting(lane, present);
    eachLane(present, [&](uint32_t l) {
      lanes[l].state = State::Ready;
      ++lanes[l].step;
    });
    return true;
  }
  return false;
}

void Warp::arriveBarrier(const Step& s, uint32_t mask, uint32_t step) {
  const auto source = [&](uint32_t lane, uint32_t k) {
    return k < s.sourceCount ? static_cast<uint32_t>(read(lane, s.sources[k])) : 0;
  };
  if (s.i->has(Mod::Cluster)) {
    return eachLane(mask, [&](uint32_t lane) {
      lanes[lane].barrierId = kClusterBarrier;
      lanes[lane].barrierCount = 0;
      lanes[lane].state = State::AtBarrier;
      lanes[lane].step = step;
    });
  }
  if (s.i->has(Mod::Arrive)) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    if (observer) tellArrival(s, source(lane, 0) & 15, source(lane, 1), mask, false);
    return calls().barrierArrive(block, index, source(lane, 0) & 15, source(lane, 1), mask);
  }
  eachLane(mask, [&](uint32_t lane) {
    lanes[lane].barrierId = source(lane, 0) & 15;
    lanes[lane].barrierCount = source(lane, 1);
    lanes[lane].state = State::AtBarrier;
    lanes[lane].step = step;
  });
}

// No lane of the warp can go on without the barrier: those that wait at it arrive together.
bool Warp::completeBarrier() {
  uint32_t first = kWarpSize, mask = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::AtBarrier) continue;
    if (first == kWarpSize) first = lane;
    if (lanes[lane].barrierId == lanes[first].barrierId && lanes[lane].barrierCount == lanes[first].barrierCount)
      mask |= 1u << lane;
  }
  if (!mask) return false;
  const uint32_t id = lanes[first].barrierId, count = lanes[first].barrierCount;
  const Instruction& i = *stepOf(first).i;
  const bool ofBlock = id != kClusterBarrier;
  if (observer && ofBlock) tellArrival(stepOf(first), id, count, mask, true);
  noteWhere(kNoLane, &i);
  if (!ofBlock) {
    calls().clusterWait(block, index);
  } else if (i.has(Mod::Red)) {
    uint32_t predicates = 0;
    eachLane(mask, [&](uint32_t lane) {
      const Step& s = stepOf(lane);
      predicates |= static_cast<uint32_t>(read(lane, s.sources[2]) & 1) << lane;
    });
    const BarrierReduction operation = i.has(Mod::Popc)  ? BarrierReduction::Popc
                                       : i.has(Mod::And) ? BarrierReduction::And
                                                         : BarrierReduction::Or;
    const uint32_t value = calls().barrierReduce(block, index, id, count, mask, operation, predicates);
    eachLane(mask, [&](uint32_t lane) { write(lane, stepOf(lane).targets[0], value); });
  } else {
    calls().barrier(block, index, id, count, mask);
  }
  if (observer) ofBlock ? observer->leaves(index, id, mask) : observer->leavesCluster(index);
  eachLane(mask, [&](uint32_t lane) {
    lanes[lane].state = State::Ready;
    ++lanes[lane].step;
  });
  return true;
}

void Warp::arriveCluster(uint32_t mask) {
  if (observer) observer->arrivesCluster(index, mask);
  clusterArrived |= mask;
  if (const uint32_t live = liveMask(); (clusterArrived & live) != live || !live) return;
  clusterArrived = 0;
  calls().clusterArrive(block, index);
}

}  // namespace vg::ptx::interpreter
