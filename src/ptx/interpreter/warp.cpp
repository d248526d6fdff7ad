// Operations across the lanes of a warp. `mask` is the set of lanes that execute the instruction together. Those that
// have met in different branches do so with operands of their own (stepOf).
#include <algorithm>

#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// Of a lane that does `s` with others, which have waited for it or not.
const Step& stepOf(const Warp& w, uint32_t lane, const Step& s) {
  return w.lanes[lane].state == Warp::State::AtWarpSync ? w.stepOf(lane) : s;
}

enum class Shuffle : uint8_t { Up, Down, Butterfly, Index };

void shuffle(Warp& w, const Step& s, uint32_t mask) {
  uint64_t values[kWarpSize] = {};
  uint32_t readable = 0;
  const FunctionCode* code = w.frame(static_cast<uint32_t>(std::countr_zero(mask))).code;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {  // lanes elsewhere in the function give what their register holds
    if (w.lanes[lane].state == Warp::State::Done || w.frame(lane).code != code) continue;
    values[lane] = w.read(lane, s.sources[0]);
    readable |= 1u << lane;
  }
  readable |= mask;
  eachLane(mask, [&](uint32_t lane) { values[lane] = w.read(lane, stepOf(w, lane, s).sources[0]); });
  eachLane(mask, [&](uint32_t lane) {
    const Step& own = stepOf(w, lane, s);
    const uint32_t b = static_cast<uint32_t>(w.read(lane, own.sources[1])) & 31;
    const uint32_t c = static_cast<uint32_t>(w.read(lane, own.sources[2]));
    const uint32_t segment = c >> 8 & 31, clamp = c & 31;
    const int limit = static_cast<int>((lane & segment) | (clamp & ~segment & 31));
    int from = 0;
    bool inside = false;
    switch (static_cast<Shuffle>(s.number)) {
      case Shuffle::Up:
        from = static_cast<int>(lane) - static_cast<int>(b);
        inside = from >= limit;
        break;
      case Shuffle::Down:
        from = static_cast<int>(lane + b);
        inside = from <= limit;
        break;
      case Shuffle::Butterfly:
        from = static_cast<int>(lane ^ b);
        inside = from <= limit;
        break;
      case Shuffle::Index:
        from = static_cast<int>((lane & segment) | (b & ~segment & 31));
        inside = from <= limit;
        break;
    }
    if (!inside || !(readable >> from & 1)) from = static_cast<int>(lane);
    w.write(lane, own.targets[0], values[from]);
    w.write(lane, own.targets[1], inside);
  });
}

void vote(Warp& w, const Step& s, uint32_t mask) {
  uint32_t yes = 0;
  eachLane(mask, [&](uint32_t lane) {
    yes |= static_cast<uint32_t>(w.read(lane, stepOf(w, lane, s).sources[0]) & 1) << lane;
  });
  uint64_t result = yes;
  if (s.i->has(Mod::All))
    result = yes == mask;
  else if (s.i->has(Mod::Any))
    result = yes != 0;
  else if (s.i->has(Mod::Uni))
    result = yes == mask || yes == 0;
  eachLane(mask, [&](uint32_t lane) { w.write(lane, stepOf(w, lane, s).targets[0], result); });
}

void match(Warp& w, const Step& s, uint32_t mask) {
  uint64_t values[kWarpSize] = {};
  const uint64_t bits = maskOf(bitsOf(s.i->type()));
  eachLane(mask, [&](uint32_t lane) { values[lane] = w.read(lane, stepOf(w, lane, s).sources[0]) & bits; });
  const bool all = s.i->has(Mod::All);
  eachLane(mask, [&](uint32_t lane) {
    uint32_t equal = 0;
    eachLane(mask, [&](uint32_t other) { equal |= static_cast<uint32_t>(values[other] == values[lane]) << other; });
    const bool same = equal == mask;
    w.write(lane, stepOf(w, lane, s).targets[0], all ? (same ? mask : 0) : equal);
    w.write(lane, stepOf(w, lane, s).targets[1], same);
  });
}

void reduce(Warp& w, const Step& s, uint32_t mask) {
  const Instruction& i = *s.i;
  const bool isSignedType = isSigned(i.type());
  bool first = true;
  uint32_t result = 0;
  eachLane(mask, [&](uint32_t lane) {
    const uint32_t v = static_cast<uint32_t>(w.read(lane, stepOf(w, lane, s).sources[0]));
    const int32_t a = static_cast<int32_t>(result), b = static_cast<int32_t>(v);
    if (first)
      result = v;
    else if (i.has(Mod::Add))
      result += v;
    else if (i.has(Mod::Min))
      result = isSignedType ? static_cast<uint32_t>(std::min(a, b)) : std::min(result, v);
    else if (i.has(Mod::Max))
      result = isSignedType ? static_cast<uint32_t>(std::max(a, b)) : std::max(result, v);
    else if (i.has(Mod::And))
      result &= v;
    else if (i.has(Mod::Or))
      result |= v;
    else
      result ^= v;
    first = false;
  });
  eachLane(mask, [&](uint32_t lane) { w.write(lane, stepOf(w, lane, s).targets[0], result); });
}

// redux.f32: min and max of numbers; with .NaN any NaN wins, with .abs magnitudes count.
void reduceFloats(Warp& w, const Step& s, uint32_t mask) {
  const bool isMax = s.i->has(Mod::Max);
  uint64_t result = 0;
  bool first = true, unordered = false;
  eachLane(mask, [&](uint32_t lane) {
    uint64_t bits = w.read(lane, stepOf(w, lane, s).sources[0]) & 0xffffffff;
    if (s.i->has(Mod::Abs)) bits &= 0x7fffffff;
    const float value = asFloat(bits), best = asFloat(result);
    unordered |= value != value;
    const bool better = value == best ? (bits >> 31 != 0) != isMax : isMax ? value > best : value < best;
    if (first || best != best || better) result = bits;
    first = false;
  });
  if ((unordered && s.i->has(Mod::NaN)) || asFloat(result) != asFloat(result)) result = 0x7fffffff;
  eachLane(mask, [&](uint32_t lane) { w.write(lane, stepOf(w, lane, s).targets[0], result); });
}

void elect(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t leader = static_cast<uint32_t>(std::countr_zero(mask));
  eachLane(mask, [&](uint32_t lane) {
    w.write(lane, stepOf(w, lane, s).targets[0], leader);
    w.write(lane, stepOf(w, lane, s).targets[1], lane == leader);
  });
}

void activeMask(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { w.write(lane, s.targets[0], mask); });
}

}  // namespace

void selectWarp(const Instruction& i, Step& s) {
  const bool isSync = i.has(Mod::Sync);
  switch (i.op) {
    case Op::Shfl:
      s.number = static_cast<uint8_t>(i.has(Mod::Up)     ? Shuffle::Up
                                      : i.has(Mod::Down) ? Shuffle::Down
                                      : i.has(Mod::Bfly) ? Shuffle::Butterfly
                                                         : Shuffle::Index);
      s.execute = shuffle;
      s.destination = 3;
      break;
    case Op::Vote:
      s.execute = vote;
      s.destination = 1;
      break;
    case Op::Match:
      s.execute = match;
      s.destination = 1;
      break;
    case Op::Redux:
      if (isFloat(i.type()) && i.type() != Type::F32) return;
      s.execute = i.type() == Type::F32 ? reduceFloats : reduce;
      s.destination = 1;
      break;
    case Op::Elect:
      s.execute = elect;
      s.destination = 0;
      break;
    case Op::Activemask:
      s.execute = activeMask;
      return;
    default:
      return;
  }
  if (isSync && s.destination < s.sourceCount) s.flow = Flow::WarpSync;
}

}  // namespace vg::ptx::interpreter
