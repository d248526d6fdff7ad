// How a warp runs: which lanes go next, branches, turns.
#include <algorithm>
#include <map>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

constexpr uint32_t kSlice = 4;    // steps of a warp before those of the others
constexpr uint32_t kTurn = 2048;  // steps that a group runs while other lanes could

}  // namespace

struct Program::Pool {
  Mutex mutex;
  std::vector<std::unique_ptr<Warp>> all VG_GUARDED_BY(mutex);
  std::vector<Warp*> idle VG_GUARDED_BY(mutex);
  std::map<std::pair<const BlockState*, uint32_t>, Warp*> busy VG_GUARDED_BY(mutex);
};

Program::Program() : pool_(std::make_unique<Pool>()) {}
Program::~Program() = default;

Warp* Program::takeWarp(const BlockState* block, uint32_t first) const {
  const MutexLock lock(pool_->mutex);
  Warp*& taken = pool_->busy[{block, first}];
  if (pool_->idle.empty()) {
    pool_->all.push_back(std::make_unique<Warp>());
    return taken = pool_->all.back().get();
  }
  taken = pool_->idle.back();
  pool_->idle.pop_back();
  return taken;
}

void Program::keepWarp(Warp* warp, const BlockState* block, uint32_t first) const {
  const MutexLock lock(pool_->mutex);
  pool_->busy.erase({block, first});
  pool_->idle.push_back(warp);
}

const Warp* Program::findWarp(const BlockState* block, uint32_t warp) const {
  const MutexLock lock(pool_->mutex);
  for (const uint32_t first : {warp, 0u})
    if (const auto found = pool_->busy.find({block, first}); found != pool_->busy.end()) return found->second;
  return nullptr;
}

void Warp::view(LaneView (&views)[kWarpSize]) const {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const Lane& l = lanes[lane];
    if (l.state == State::Done || l.frames.empty()) continue;
    const FunctionCode& code = *l.frames.back().code;
    LaneView& view = views[lane];
    view.function = code.function;
    view.runs = l.state == State::Ready && l.lastRun == choice_.clock;
    if (l.step < code.steps.size() && code.steps[l.step].i) view.line = code.steps[l.step].i->line;
    view.registers = l.frames.back().registers;
    view.slots = code.registerSlots.data();
  }
}

void Warp::start(BlockState* state, const Program* code, uint32_t warp) {
  block = state;
  program = code;
  index = warp;
  polled = false;
  clusterArrived = 0;
  choice_.clock = 0;
  choice_.spent = 0;
  choice_.unfair = false;
  const KernelTraits& traits = code->traits();
  choice_.abreast = traits.waits && state->launch->warpsPerBlock > 1;
  choice_.slice = 0;
  const uint32_t first = warp * kWarpSize, threads = std::min(state->launch->threadsPerBlock - first, kWarpSize);
  const Step& noStep = undyingFrom<Step>([] { return Step{}; });
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    finish(lane);
    if (lane >= threads) continue;
    lanes[lane].state = State::Ready;
    lanes[lane].carry = 0;
    lanes[lane].lastRun = 0;
    enter(lane, code->entry, nullptr, 0, noStep);
  }
}

uint32_t Warp::liveMask() const {
  uint32_t mask = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    mask |= static_cast<uint32_t>(lanes[lane].state != State::Done) << lane;
  return mask;
}

bool Warp::together(uint32_t a, uint32_t b) const {
  const Lane &x = lanes[a], &y = lanes[b];
  return x.step == y.step && x.frames.size() == y.frames.size() && x.frames.back().code == y.frames.back().code;
}

// The next lanes to run: the innermost calls first, then the lowest step; after a group used up its turn, the lanes
// that have waited longest.
uint32_t Warp::pick() {
  int best = -1;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::Ready) continue;
    if (best < 0) {
      best = static_cast<int>(lane);
      continue;
    }
    const Lane &l = lanes[lane], &b = lanes[best];
    const bool better = choice_.unfair                       ? l.lastRun < b.lastRun
                        : l.frames.size() != b.frames.size() ? l.frames.size() > b.frames.size()
                                                             : l.step < b.step;
    if (better) best = static_cast<int>(lane);
  }
  if (best < 0) return 0;
  choice_.wasUnfair = choice_.unfair;
  if (choice_.wasUnfair) choice_.spent = 0;
  choice_.unfair = false;
  uint32_t mask = 0;
  ++choice_.clock;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::Ready || !together(lane, static_cast<uint32_t>(best))) continue;
    mask |= 1u << lane;
    lanes[lane].lastRun = choice_.clock;
  }
  return mask;
}

void Warp::run() {
  for (;;) {
    if (choice_.unfair) completeWarpSync(false);  // lanes that spin may wait for those
    if (const uint32_t mask = pick()) {
      runGroup(mask);
    } else if (!completeWarpSync(false) && !completeBarrier() && !completeWarpSync(true)) {
      return;
    }
  }
}

uint32_t Warp::guarded(const Step& s, uint32_t mask) const {
  if (s.guard < 0) return mask;
  uint32_t yes = 0;
  eachLane(mask, [&](uint32_t lane) {
    yes |= static_cast<uint32_t>((frame(lane).registers[s.guard] & 1) != s.guardNegated) << lane;
  });
  return yes;
}

void Warp::execute(const Step& s, uint32_t mask) {
  if (s.execute) return s.execute(*this, s, mask);
  eachLane(mask, [&](uint32_t lane) {
    uint64_t a[6] = {}, r[2] = {};
    for (uint32_t k = 0; k < s.sourceCount; ++k) a[k] = read(lane, s.sources[k]);
    if (s.readsCarry) a[3] = lanes[lane].carry;
    s.compute(s, a, r);
    write(lane, s.targets[0], r[0]);
    write(lane, s.targets[1], r[1]);
    if (s.writesCarry) lanes[lane].carry = static_cast<uint32_t>(r[1]);
  });
}

// The first step at which lanes that are not in the group wait in the same function, so that the group joins them.
uint32_t Warp::meetingPoint(uint32_t mask, uint32_t step) const {
  const Lane& first = lanes[std::countr_zero(mask)];
  uint32_t meet = UINT32_MAX;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const Lane& l = lanes[lane];
    if ((mask >> lane & 1) || l.state != State::Ready || l.frames.size() != first.frames.size() ||
        l.frames.back().code != first.frames.back().code || l.step <= step)
      continue;
    meet = std::min(meet, l.step);
  }
  return meet;
}

void Warp::moveTo(uint32_t mask, uint32_t step) {
  eachLane(mask, [&](uint32_t lane) { lanes[lane].step = step; });
}

// Warps of a block go on together, a few steps each, as on a GPU: programs read memory behind a barrier or a loop and
// count on the others' having done so a while later.
void Warp::keepAbreast(uint32_t mask, uint32_t step) {
  if (!choice_.abreast || ++choice_.slice < kSlice) return;
  choice_.slice = 0;
  moveTo(mask, step);
  calls().pause(block, index);
}

// Runs lanes that are at the same step until they part, meet others, wait, or have had their turn.
void Warp::runGroup(uint32_t mask) {
  const uint32_t first = static_cast<uint32_t>(std::countr_zero(mask));
  const FunctionCode& code = *frame(first).code;
  uint32_t step = lanes[first].step, meet = meetingPoint(mask, step);
  for (uint32_t count = 0;; ++count) {
    if (step >= code.steps.size()) return eachLane(mask, [&](uint32_t lane) { leave(lane); });
    keepAbreast(mask, step);
    const Step& s = code.steps[step];
    const uint32_t active = guarded(s, mask);
    if (s.flow == Flow::None) {
      if (active) execute(s, active);
      if (++step != meet) continue;
      return moveTo(mask, step);
    }
    if (s.flow == Flow::Branch && active == mask) {  // all go: the loop stays here
      const bool back = s.destination <= step;
      step = s.destination;
      if (back) {
        moveTo(mask, step);
        yieldIfPolling(mask);
        if (count > kTurn) {
          choice_.unfair = true;
          return;
        }
      }
      meet = meetingPoint(mask, step);
      if (othersAt(mask, step) || (!choice_.wasUnfair && othersBehind(mask, step))) return moveTo(mask, step);
      continue;
    }
    moveTo(mask, step + 1);
    if (active) transfer(s, active, step);
    return choice_.spend(count + 1, program->traits().polls);
  }
}

// Groups that part, call or return in every round of a loop in which they wait have their turn, too, but in pieces.
void Warp::Choice::spend(uint32_t steps, bool polls) {
  spent += steps;
  unfair |= spent > kTurn && polls;
}

template <class Relation>
bool Warp::others(uint32_t mask, Relation relation) const {
  const Lane& first = lanes[std::countr_zero(mask)];
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const Lane& l = lanes[lane];
    if (!(mask >> lane & 1) && l.state == State::Ready && l.frames.size() == first.frames.size() &&
        l.frames.back().code == first.frames.back().code && relation(l.step))
      return true;
  }
  return false;
}
bool Warp::othersAt(uint32_t mask, uint32_t step) const {
  return others(mask, [&](uint32_t other) { return other == step; });
}
bool Warp::othersBehind(uint32_t mask, uint32_t step) const {
  return others(mask, [&](uint32_t other) { return other < step; });
}

// Everything that is not straight-line: the lanes' steps are already behind the instruction at `step`.
void Warp::transfer(const Step& s, uint32_t mask, uint32_t step) {
  switch (s.flow) {
    case Flow::None:
      break;
    case Flow::Branch:
      moveTo(mask, s.destination);
      if (s.destination <= step) yieldIfPolling(mask);
      break;
    case Flow::BranchTable:
      eachLane(mask, [&](uint32_t lane) {
        const std::vector<uint32_t>& table = frame(lane).code->tables[s.destination];
        const uint64_t which = read(lane, s.sources[0]) & 0xffffffff;
        if (which >= table.size()) trap(1u << lane, TrapReason::IllegalInstruction, s);
        lanes[lane].step = table[which];
      });
      yieldIfPolling(mask);
      break;
    case Flow::Call:
      call(s, mask, step + 1);
      break;
    case Flow::Return:
      eachLane(mask, [&](uint32_t lane) { leave(lane); });
      break;
    case Flow::Exit:
      eachLane(mask, [&](uint32_t lane) { finish(lane); });
      break;
    case Flow::Barrier:
      arriveBarrier(s, mask, step);
      break;
    case Flow::WarpSync:
      arriveWarpSync(s, mask, step);
      break;
    case Flow::Trap:
      trap(mask, TrapReason::Trap, s);
    case Flow::Illegal:
      trap(mask, TrapReason::IllegalInstruction, s);
    case Flow::Yield: {
      uint64_t longest = 0;
      eachLane(mask, [&](uint32_t lane) { longest = std::max(longest, read(lane, s.sources[0]) & 0xffffffff); });
      choice_.unfair = true;
      noteWhere(kNoLane, s.i);
      calls().nanosleep(block, index, static_cast<uint32_t>(longest));
      break;
    }
  }
}

// The lanes are at the step that they go on with.
void Warp::yieldIfPolling(uint32_t mask) {
  // Now and then in any loop: a launch that has ended must be able to stop it.
  constexpr uint32_t kTurnsBetween = 1 << 16;
  const bool due = ++turns % kTurnsBetween == 0;
  if (!polled && !due) return;
  polled = false;
  if (!program->traits().polls && !due) return;
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  const std::vector<Step>& steps = frame(lane).code->steps;
  if (lanes[lane].step < steps.size()) noteWhere(kNoLane, steps[lanes[lane].step].i);
  calls().yield(block, index);
}

}  // namespace vg::ptx::interpreter

namespace vg::ptx {

void interpretWarps(BlockState* block, uint32_t firstWarp, uint32_t endWarp) {
  const auto* program =
      static_cast<const interpreter::Program*>(static_cast<const InterpreterProgram*>(block->launch->code));
  interpreter::Warp* const warp = program->takeWarp(block, firstWarp);  // a trap does not come back to return it
  for (uint32_t w = firstWarp; w < endWarp; ++w) {
    warp->observer = program->observer ? program->observer->enter(*block, *program->module, *program->entry->function,
                                                                  program->carries, program->shared.reserved)
                                       : nullptr;
    warp->watched = warp->observer && warp->observer->watchesAccesses();
    warp->start(block, program, w);
    warp->run();
  }
  program->keepWarp(warp, block, firstWarp);
}

bool viewLanes(const BlockState& block, uint32_t warp, LaneView (&lanes)[kWarpSize]) {
  const auto* program =
      static_cast<const interpreter::Program*>(static_cast<const InterpreterProgram*>(block.launch->code));
  const interpreter::Warp* const found = program->findWarp(&block, warp);
  if (!found || found->index != warp) return false;
  found->view(lanes);
  return true;
}

}  // namespace vg::ptx
