// How a warp runs: which lanes go next, branches, calls, barriers, the meeting of lanes at warp operations.
#include <algorithm>
#include <cstdlib>

#include "ptx/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

constexpr uint32_t kTurn = 2048;  // steps that a group runs while other lanes could
constexpr size_t kChunkBytes = 16 * 1024;
constexpr size_t kStackLimit = 4 * 1024 * 1024;  // bytes of a lane's registers and local memory
constexpr size_t kAlignment = 64;
constexpr uint32_t kClusterBarrier = 16;  // beside the numbers of the block's barriers

template <class Visit>
void eachLane(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

}  // namespace

struct Program::Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Warp>> all;
  std::vector<Warp*> idle;
};

Program::Program() : pool_(std::make_unique<Pool>()) {}
Program::~Program() = default;

Warp* Program::takeWarp() const {
  const std::lock_guard lock(pool_->mutex);
  if (pool_->idle.empty()) {
    pool_->all.push_back(std::make_unique<Warp>());
    return pool_->all.back().get();
  }
  Warp* warp = pool_->idle.back();
  pool_->idle.pop_back();
  return warp;
}

void Program::keepWarp(Warp* warp) const {
  const std::lock_guard lock(pool_->mutex);
  pool_->idle.push_back(warp);
}

// Memory of lanes ---------------------------------------------------------------------------------------------------

std::byte* Warp::reserve(uint32_t lane, size_t bytes) {
  Lane& l = lanes[lane];
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > kStackLimit || l.total + bytes > kStackLimit) return nullptr;
  size_t chunk = l.used >> 32, at = l.used & 0xffffffff;
  for (;; ++chunk, at = 0) {
    if (chunk == l.chunks.size()) {
      const size_t size = std::max(kChunkBytes, bytes + kAlignment);
      l.chunks.push_back(std::make_unique<std::byte[]>(size));
      l.chunkSizes.push_back(size);
    }
    const uint64_t base = reinterpret_cast<uint64_t>(l.chunks[chunk].get());
    at = (base + at + kAlignment - 1) / kAlignment * kAlignment - base;
    if (at + bytes <= l.chunkSizes[chunk]) break;
  }
  l.used = chunk << 32 | (at + bytes);
  l.total += bytes;
  std::byte* memory = l.chunks[chunk].get() + at;
  std::memset(memory, 0, bytes);
  return memory;
}

uint64_t Warp::stackDepth(uint32_t lane) const {
  const Lane& l = lanes[lane];
  uint64_t depth = l.used & 0xffffffff;
  for (size_t chunk = 0; chunk < l.used >> 32; ++chunk) depth += l.chunkSizes[chunk];
  return depth;
}

// A depth beyond the present one was never saved here and changes nothing.
void Warp::returnTo(uint32_t lane, uint64_t depth) {
  Lane& l = lanes[lane];
  const uint64_t present = stackDepth(lane);
  if (depth > present) return;
  l.total -= std::min<size_t>(l.total, present - depth);
  size_t chunk = 0;
  for (; depth > l.chunkSizes[chunk]; ++chunk) depth -= l.chunkSizes[chunk];
  l.used = chunk << 32 | depth;
}

void Warp::enter(uint32_t lane, const FunctionCode* target, const CallSite* site, uint32_t resume, const Step& s) {
  Frame frame;
  frame.code = target;
  frame.site = site;
  frame.resume = resume;
  frame.mark = lanes[lane].used;
  frame.total = lanes[lane].total;
  std::byte* memory = reserve(lane, size_t{target->slots} * 8 + kAlignment + target->frameBytes);
  if (!memory) trap(1u << lane, TrapReason::StackOverflow, s);
  frame.registers = reinterpret_cast<uint64_t*>(memory);
  frame.memory = memory + (size_t{target->slots} * 8 + kAlignment - 1) / kAlignment * kAlignment;
  if (site) {
    for (size_t k = 0; k < site->arguments.size() && k < target->parameters.size(); ++k) {
      const CallSite::Argument& a = site->arguments[k];
      const Formal& formal = target->parameters[k];
      uint64_t value = 0;
      if (a.isFrame && !formal.isRegister) {
        std::memcpy(frame.memory + formal.offset, this->frame(lane).memory + a.offset, std::min(a.size, formal.size));
        continue;
      }
      if (a.isFrame)
        std::memcpy(&value, this->frame(lane).memory + a.offset, std::min(a.size, 8u));
      else
        value = read(lane, a.source);
      if (formal.isRegister)
        frame.registers[formal.target.slot] = value & maskOf(formal.target.bits);
      else
        std::memcpy(frame.memory + formal.offset, &value, std::min(formal.size, 8u));
    }
  }
  lanes[lane].frames.push_back(frame);
  lanes[lane].step = 0;
}

void Warp::leave(uint32_t lane) {
  Lane& l = lanes[lane];
  if (l.frames.size() == 1) return finish(lane);
  const Frame done = l.frames.back();
  l.frames.pop_back();
  for (size_t k = 0; k < done.site->results.size() && k < done.code->returns.size(); ++k) {
    const CallSite::Argument& a = done.site->results[k];
    const Formal& formal = done.code->returns[k];
    uint64_t value = 0;
    if (a.isFrame && !formal.isRegister) {
      std::memcpy(frame(lane).memory + a.offset, done.memory + formal.offset, std::min(a.size, formal.size));
      continue;
    }
    if (formal.isRegister)
      value = done.registers[formal.target.slot];
    else
      std::memcpy(&value, done.memory + formal.offset, std::min(formal.size, 8u));
    if (a.isFrame)
      std::memcpy(frame(lane).memory + a.offset, &value, std::min(a.size, 8u));
    else
      write(lane, a.target, value);
  }
  l.used = done.mark;
  l.total = done.total;
  l.step = done.resume;
}

void Warp::finish(uint32_t lane) {
  lanes[lane].state = State::Done;
  lanes[lane].frames.clear();
  lanes[lane].used = lanes[lane].total = 0;
  if (clusterArrived) arriveCluster(0);
}

void Warp::arriveCluster(uint32_t mask) {
  clusterArrived |= mask;
  if (const uint32_t live = liveMask(); (clusterArrived & live) != live || !live) return;
  clusterArrived = 0;
  calls().clusterArrive(block, index);
}

// Values ------------------------------------------------------------------------------------------------------------

uint64_t Warp::read(uint32_t lane, const Source& s) const {
  switch (s.kind) {
    case Source::Kind::Constant:
      return s.value;
    case Source::Kind::Register: {
      const uint64_t value = frame(lane).registers[s.slot];
      return s.negated ? value ^ 1 : value;
    }
    case Source::Kind::Special:
      return special(lane, s.special);
    case Source::Kind::Global:
      return block->launch->globals[s.slot] + s.value;
    case Source::Kind::FrameAddress:
      return reinterpret_cast<uint64_t>(frame(lane).memory) + s.value;
    case Source::Kind::SharedAddress:
      return block->sharedOffset + s.value;
    case Source::Kind::EntryParameter:
      return reinterpret_cast<uint64_t>(block->launch->parameters) + s.value;
  }
  return 0;
}

std::byte* Warp::range(uint32_t lane, const Step& s, const Source& base, uint64_t bytes, uint64_t alignment,
                       Space space) {
  uint64_t at = read(lane, base);
  if (base.kind == Source::Kind::Register) at += base.value;
  // Parameters and named variables of the frame are where they are.
  const bool named = base.kind == Source::Kind::FrameAddress || base.kind == Source::Kind::EntryParameter;
  if (watched && !named) [[unlikely]]
    return observed(lane, s, base, at, bytes, alignment, space);
  return checked(lane, s, at, bytes, alignment, space);
}

// For the runner, which tells of faults and of waits.
void Warp::noteWhere(uint32_t lane, const Instruction* i) const {
  block->warp = index;
  block->lane = lane;
  block->line = i ? i->line : 0;
}

std::byte* Warp::checked(uint32_t lane, const Step& s, uint64_t at, uint64_t bytes, uint64_t alignment, Space space) {
  noteWhere(lane, s.i);
  if (at & (alignment - 1)) trap(1u << lane, TrapReason::MisalignedAddress, s);
  if (space != Space::Shared && space != Space::SharedCluster) return reinterpret_cast<std::byte*>(at);
  at &= 0xffffffff;
  uint64_t within = at - block->sharedOffset;
  if (space == Space::SharedCluster) {
    const uint32_t* const size = block->launch->clusterSize;
    if (at >> kSharedStrideBits >= size[0] * size[1] * size[2]) trap(1u << lane, TrapReason::SharedOutOfRange, s);
    within = at % kSharedStride;
  }
  if (within > block->sharedLimit || within + bytes > block->sharedLimit)
    trap(1u << lane, TrapReason::SharedOutOfRange, s);
  return block->shared + at;
}

uint64_t Warp::special(uint32_t lane, Special s) const {
  const KernelLaunch& launch = *block->launch;
  const uint32_t thread = index * kWarpSize + lane, x = launch.blockSize[0], y = launch.blockSize[1];
  if (s >= Special::Envreg0 && s <= Special::EnvregLast) {
    const uint32_t n = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::Envreg0);
    return n == 1 ? launch.cooperativeWorkspace >> 32 : n == 2 ? launch.cooperativeWorkspace & 0xffffffff : 0;
  }
  switch (s) {
    case Special::TidX:
      return thread % x;
    case Special::TidY:
      return thread / x % y;
    case Special::TidZ:
      return thread / x / y;
    case Special::NtidX:
      return launch.blockSize[0];
    case Special::NtidY:
      return launch.blockSize[1];
    case Special::NtidZ:
      return launch.blockSize[2];
    case Special::CtaidX:
      return block->blockIndex[0];
    case Special::CtaidY:
      return block->blockIndex[1];
    case Special::CtaidZ:
      return block->blockIndex[2];
    case Special::NctaidX:
      return launch.gridSize[0];
    case Special::NctaidY:
      return launch.gridSize[1];
    case Special::NctaidZ:
      return launch.gridSize[2];
    case Special::ClusteridX:
      return block->blockIndex[0] / std::max(launch.clusterSize[0], 1u);
    case Special::ClusteridY:
      return block->blockIndex[1] / std::max(launch.clusterSize[1], 1u);
    case Special::ClusteridZ:
      return block->blockIndex[2] / std::max(launch.clusterSize[2], 1u);
    case Special::NclusteridX:
      return launch.gridSize[0] / std::max(launch.clusterSize[0], 1u);
    case Special::NclusteridY:
      return launch.gridSize[1] / std::max(launch.clusterSize[1], 1u);
    case Special::NclusteridZ:
      return launch.gridSize[2] / std::max(launch.clusterSize[2], 1u);
    case Special::ClusterCtaidX:
      return block->blockIndex[0] % std::max(launch.clusterSize[0], 1u);
    case Special::ClusterCtaidY:
      return block->blockIndex[1] % std::max(launch.clusterSize[1], 1u);
    case Special::ClusterCtaidZ:
      return block->blockIndex[2] % std::max(launch.clusterSize[2], 1u);
    case Special::ClusterNctaidX:
      return std::max(launch.clusterSize[0], 1u);
    case Special::ClusterNctaidY:
      return std::max(launch.clusterSize[1], 1u);
    case Special::ClusterNctaidZ:
      return std::max(launch.clusterSize[2], 1u);
    case Special::ClusterCtarank:
      return block->clusterRank;
    case Special::IsExplicitCluster:
      return launch.flags & kExplicitCluster;
    case Special::ClusterNctarank:
      return std::max(launch.clusterSize[0], 1u) * std::max(launch.clusterSize[1], 1u) *
             std::max(launch.clusterSize[2], 1u);
    case Special::LaneId:
      return lane;
    case Special::WarpId:
      return index;
    case Special::NWarpId:
      return launch.warpsPerBlock;
    case Special::SmId:
      return block->worker;
    case Special::NSmId:
      return launch.workers;
    case Special::GridId:
      return launch.gridId;
    case Special::LanemaskEq:
      return 1u << lane;
    case Special::LanemaskLt:
      return (1u << lane) - 1;
    case Special::LanemaskLe:
      return (2u << lane) - 1;
    case Special::LanemaskGt:
      return ~((2u << lane) - 1) & 0xffffffff;
    case Special::LanemaskGe:
      return ~((1u << lane) - 1) & 0xffffffff;
    case Special::Clock:
      return calls().clock(block) & 0xffffffff;
    case Special::ClockHi:
      return calls().clock(block) >> 32;
    case Special::Clock64:
      return calls().clock(block);
    case Special::GlobalTimer:
      return calls().globalTimer(block);
    case Special::GlobalTimerLo:
      return calls().globalTimer(block) & 0xffffffff;
    case Special::GlobalTimerHi:
      return calls().globalTimer(block) >> 32;
    case Special::DynamicSmemSize:
      return launch.dynamicShared;
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return launch.dynamicSharedOffset + launch.dynamicShared;
    default:
      return 0;
  }
}

void Warp::trap(uint32_t mask, TrapReason reason, const Step& s) const {
  calls().trap(block, index, mask, reason, s.i ? s.i->line : 0);
  std::abort();
}

// Scheduling --------------------------------------------------------------------------------------------------------

void Warp::start(BlockState* state, const Program* code, uint32_t warp) {
  block = state;
  program = code;
  index = warp;
  polled = false;
  clusterArrived = 0;
  clock_ = 0;
  unfair_ = false;
  const uint32_t first = warp * kWarpSize, threads = std::min(state->launch->threadsPerBlock - first, kWarpSize);
  static const Step kNoStep{};
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    finish(lane);
    if (lane >= threads) continue;
    lanes[lane].state = State::Ready;
    lanes[lane].carry = 0;
    lanes[lane].lastRun = 0;
    enter(lane, code->entry, nullptr, 0, kNoStep);
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
    const bool better = unfair_                              ? l.lastRun < b.lastRun
                        : l.frames.size() != b.frames.size() ? l.frames.size() > b.frames.size()
                                                             : l.step < b.step;
    if (better) best = static_cast<int>(lane);
  }
  if (best < 0) return 0;
  turn_ = unfair_;
  unfair_ = false;
  uint32_t mask = 0;
  ++clock_;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (lanes[lane].state != State::Ready || !together(lane, static_cast<uint32_t>(best))) continue;
    mask |= 1u << lane;
    lanes[lane].lastRun = clock_;
  }
  return mask;
}

void Warp::run() {
  for (;;) {
    if (unfair_) completeWarpSync(false);  // lanes that spin may wait for those
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

// Runs lanes that are at the same step until they part, meet others, wait, or have had their turn.
void Warp::runGroup(uint32_t mask) {
  const uint32_t first = static_cast<uint32_t>(std::countr_zero(mask));
  const FunctionCode& code = *frame(first).code;
  uint32_t step = lanes[first].step, meet = meetingPoint(mask, step);
  for (uint32_t count = 0;; ++count) {
    if (step >= code.steps.size()) return eachLane(mask, [&](uint32_t lane) { leave(lane); });
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
        yieldIfPolling();
        if (count > kTurn) {
          unfair_ = true;
          return;
        }
      }
      meet = meetingPoint(mask, step);
      if (othersAt(mask, step) || (!turn_ && othersBehind(mask, step))) return moveTo(mask, step);
      continue;
    }
    moveTo(mask, step + 1);
    if (active) transfer(s, active, step);
    return;
  }
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
      if (s.destination <= step) yieldIfPolling();
      break;
    case Flow::BranchTable:
      eachLane(mask, [&](uint32_t lane) {
        const std::vector<uint32_t>& table = frame(lane).code->tables[s.destination];
        const uint64_t which = read(lane, s.sources[0]) & 0xffffffff;
        if (which >= table.size()) trap(1u << lane, TrapReason::IllegalInstruction, s);
        lanes[lane].step = table[which];
      });
      yieldIfPolling();
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
      unfair_ = true;
      noteWhere(kNoLane, s.i);
      calls().nanosleep(block, index, static_cast<uint32_t>(longest));
      break;
    }
  }
}

void Warp::yieldIfPolling() {
  // Now and then in any loop: a launch that has ended must be able to stop it.
  constexpr uint32_t kTurnsBetween = 1 << 16;
  const bool due = ++turns % kTurnsBetween == 0;
  if (!polled && !due) return;
  polled = false;
  if (program->traits().polls || due) calls().yield(block, index);
}

// Calls -------------------------------------------------------------------------------------------------------------

void Warp::call(const Step& s, uint32_t mask, uint32_t resume) {
  const CallSite& site = *s.call;
  if (site.systemCall != SystemCall::None) return systemCall(s, site.systemCall, mask);
  eachLane(mask, [&](uint32_t lane) {
    const FunctionCode* target = site.target;
    if (!target) {
      const uint64_t address = read(lane, s.sources[0]), number = (address - kFunctionAddressTag) / 16;
      if (address < kFunctionAddressTag || number >= program->functions.size() || !program->functions[number] ||
          program->functions[number]->function->isDeclaration)
        trap(1u << lane, TrapReason::IllegalInstruction, s);
      target = program->functions[number].get();
    }
    enter(lane, target, &site, resume, s);
  });
}

uint64_t Warp::argument(uint32_t lane, const CallSite& site, size_t number) const {
  if (number >= site.arguments.size()) return 0;
  const CallSite::Argument& a = site.arguments[number];
  if (!a.isFrame) return read(lane, a.source);
  uint64_t value = 0;
  std::memcpy(&value, frame(lane).memory + a.offset, std::min(a.size, 8u));
  return value;
}

void Warp::result(uint32_t lane, const CallSite& site, uint64_t value) {
  if (site.results.empty()) return;
  const CallSite::Argument& a = site.results[0];
  if (a.isFrame)
    std::memcpy(frame(lane).memory + a.offset, &value, std::min(a.size, 8u));
  else
    write(lane, a.target, value);
}

void Warp::systemCall(const Step& s, SystemCall which, uint32_t mask) {
  const CallSite& site = *s.call;
  uint64_t words[4][kWarpSize] = {};
  uint32_t lines[kWarpSize] = {};
  noteWhere(kNoLane, s.i);
  eachLane(mask, [&](uint32_t lane) {
    for (size_t k = 0; k < 4; ++k) words[k][lane] = argument(lane, site, k);
    lines[lane] = static_cast<uint32_t>(words[2][lane]);
  });
  switch (which) {
    case SystemCall::Print: {
      int32_t counts[kWarpSize] = {};
      calls().print(block, index, mask, words[0], words[1], counts);
      eachLane(mask, [&](uint32_t lane) { result(lane, site, static_cast<uint32_t>(counts[lane])); });
      break;
    }
    case SystemCall::AssertFail:
      calls().assertFail(block, index, mask, words[0], words[1], lines, words[3]);
      break;
    case SystemCall::Malloc: {
      uint64_t results[kWarpSize] = {};
      calls().allocate(block, index, mask, words[0], results);
      eachLane(mask, [&](uint32_t lane) { result(lane, site, results[lane]); });
      break;
    }
    case SystemCall::Free:
      calls().release(block, index, mask, words[0]);
      break;
    case SystemCall::SetConditional: {
      uint32_t values[kWarpSize] = {};
      eachLane(mask, [&](uint32_t lane) { values[lane] = static_cast<uint32_t>(words[1][lane]); });
      calls().setConditional(block, index, mask, words[0], values);
      break;
    }
    case SystemCall::None:
      break;
  }
}

// Meetings ----------------------------------------------------------------------------------------------------------

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

bool Warp::meets(uint32_t a, uint32_t b) const {
  if (lanes[b].state != State::AtWarpSync || lanes[a].syncMask != lanes[b].syncMask) return false;
  const Step &x = frame(a).code->steps[lanes[a].step], &y = frame(b).code->steps[lanes[b].step];
  return &x == &y || (x.number == 1 && !x.execute && y.number == 1 && !y.execute);
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
    const Step& s = frame(lane).code->steps[lanes[lane].step];
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
  const Instruction& i = *frame(first).code->steps[lanes[first].step].i;
  const bool ofBlock = id != kClusterBarrier;
  if (observer && ofBlock) tellArrival(frame(first).code->steps[lanes[first].step], id, count, mask, true);
  noteWhere(kNoLane, &i);
  if (!ofBlock) {
    calls().clusterWait(block, index);
  } else if (i.has(Mod::Red)) {
    uint32_t predicates = 0;
    eachLane(mask, [&](uint32_t lane) {
      const Step& s = frame(lane).code->steps[lanes[lane].step];
      predicates |= static_cast<uint32_t>(read(lane, s.sources[2]) & 1) << lane;
    });
    const BarrierReduction operation = i.has(Mod::Popc)  ? BarrierReduction::Popc
                                       : i.has(Mod::And) ? BarrierReduction::And
                                                         : BarrierReduction::Or;
    const uint32_t value = calls().barrierReduce(block, index, id, count, mask, operation, predicates);
    eachLane(mask, [&](uint32_t lane) { write(lane, frame(lane).code->steps[lanes[lane].step].targets[0], value); });
  } else {
    calls().barrier(block, index, id, count, mask);
  }
  if (observer) ofBlock ? observer->leaves(index, id, mask) : observer->leavesCluster();
  eachLane(mask, [&](uint32_t lane) {
    lanes[lane].state = State::Ready;
    ++lanes[lane].step;
  });
  return true;
}

}  // namespace vg::ptx::interpreter

namespace vg::ptx {

void interpretWarps(BlockState* block, uint32_t firstWarp, uint32_t endWarp) {
  const auto* program =
      static_cast<const interpreter::Program*>(static_cast<const InterpreterProgram*>(block->launch->code));
  interpreter::Warp* const warp = program->takeWarp();  // a trap does not come back to return it
  for (uint32_t w = firstWarp; w < endWarp; ++w) {
    warp->observer = program->observer ? program->observer->enter(*block, *program->module, *program->entry->function,
                                                                  program->carriesOrder)
                                       : nullptr;
    warp->watched = warp->observer && warp->observer->watchesAccesses();
    warp->start(block, program, w);
    warp->run();
  }
  program->keepWarp(warp);
}

}  // namespace vg::ptx
