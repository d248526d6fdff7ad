// mbarrier objects and the bulk copies that report to them. A block runs on one OS thread, so plain accesses do; copies
// are complete when they are issued.
//
// The 64-bit object, of our own layout: bits 0-19 arrivals still expected in this phase, 20-39 arrivals of a whole
// phase, 40 the phase, 41-62 bytes still to come (two's complement). The state that arrive returns is the word before
// it.
#include "ptx/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

constexpr uint64_t kCountMask = 0xfffff;
constexpr uint32_t kExpectedShift = 20, kPhaseShift = 40, kBytesShift = 41, kBytesBits = 22;

struct Object {
  uint64_t pending = 0, expected = 0, phase = 0;
  int64_t bytes = 0;

  static Object of(uint64_t word) {
    return {word & kCountMask, word >> kExpectedShift & kCountMask, word >> kPhaseShift & 1,
            signExtend(word >> kBytesShift & maskOf(kBytesBits), kBytesBits)};
  }
  uint64_t word() const {
    return (pending & kCountMask) | (expected & kCountMask) << kExpectedShift | (phase & 1) << kPhaseShift |
           (static_cast<uint64_t>(bytes) & maskOf(kBytesBits)) << kBytesShift;
  }
  // The phase ends when nobody and nothing is awaited.
  void advance() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

template <class Visit>
void eachLane(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

// Changes the object at the address of a source; returns the word before.
template <class Change>
uint64_t change(Warp& w, uint32_t lane, const Step& s, const Source& at, Space space, Change change) {
  std::byte* const memory = w.address(lane, s, at, 8, space);
  uint64_t before = 0;
  std::memcpy(&before, memory, sizeof before);
  Object object = Object::of(before);
  change(object);
  const uint64_t after = object.word();
  std::memcpy(memory, &after, sizeof after);
  return before;
}

uint64_t operandOr(Warp& w, uint32_t lane, const Step& s, uint32_t k, uint64_t otherwise) {
  return k < s.sourceCount ? w.read(lane, s.sources[k]) & 0xffffffff : otherwise;
}

void initialise(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t count = w.read(lane, s.sources[1]) & kCountMask;
    change(w, lane, s, s.sources[0], s.space, [&](Object& o) { o = {count, count, 0, 0}; });
  });
}

void invalidate(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { change(w, lane, s, s.sources[0], s.space, [](Object& o) { o = {}; }); });
}

void arrive(Warp& w, const Step& s, uint32_t mask) {
  const bool expects = s.i->has(Mod::ExpectTx), drops = s.i->has(Mod::ArriveDrop);
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t number = operandOr(w, lane, s, 1, expects ? 0 : 1), count = expects ? 1 : number;
    const uint64_t state = change(w, lane, s, s.sources[0], s.space, [&](Object& o) {
      if (expects) o.bytes += static_cast<int64_t>(number);
      o.pending -= count;
      if (drops) o.expected -= count;
      o.advance();
    });
    w.write(lane, s.targets[0], state);
  });
}

void expectBytes(Warp& w, const Step& s, uint32_t mask) {
  const int64_t sign = s.i->has(Mod::CompleteTx) ? -1 : 1;
  eachLane(mask, [&](uint32_t lane) {
    const int64_t bytes = sign * static_cast<int64_t>(operandOr(w, lane, s, 1, 0));
    change(w, lane, s, s.sources[0], s.space, [&](Object& o) {
      o.bytes += bytes;
      if (sign < 0) o.advance();
    });
  });
}

void testWait(Warp& w, const Step& s, uint32_t mask) {
  w.polled = true;
  const bool parity = s.i->has(Mod::Parity);
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t operand = w.read(lane, s.sources[1]);
    const uint64_t phase = parity ? operand & 1 : Object::of(operand).phase;
    const Object now = Object::of(change(w, lane, s, s.sources[0], s.space, [](Object&) {}));
    w.write(lane, s.targets[0], now.phase != phase);
  });
}

void pendingCount(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { w.write(lane, s.targets[0], Object::of(w.read(lane, s.sources[0])).pending); });
}

// cp.async.mbarrier.arrive: with .noinc an arrival, without it one more arrival and its expectation.
void arriveAfterCopies(Warp& w, const Step& s, uint32_t mask) {
  if (!s.i->has(Mod::Noinc)) return;
  eachLane(mask, [&](uint32_t lane) {
    change(w, lane, s, s.sources[0], s.space, [](Object& o) {
      --o.pending;
      o.advance();
    });
  });
}

// cp.async.bulk.<to>.<from> [to], [from], bytes{, [barrier]}
void copyBulk(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t bytes = w.read(lane, s.sources[2]) & 0xffffffff;
    if (bytes == 0) return;
    std::byte* const to = w.range(lane, s, s.sources[0], bytes, 16, s.i->space);
    const std::byte* const from = w.range(lane, s, s.sources[1], bytes, 16, s.i->space2);
    std::memmove(to, from, bytes);
    if (s.sourceCount > 3 && s.i->has(Mod::MbarrierCompleteTxBytes))
      change(w, lane, s, s.sources[3], Space::Shared, [&](Object& o) {
        o.bytes -= static_cast<int64_t>(bytes);
        o.advance();
      });
  });
}

void nothing(Warp&, const Step&, uint32_t) {}

void selectCopy(const Instruction& i, Step& s) {
  if (i.has(Mod::Tensor) || i.has(Mod::Reduce)) return;
  if (i.has(Mod::Mbarrier) && i.has(Mod::Arrive)) {
    s.execute = s.sourceCount >= 1 ? arriveAfterCopies : nullptr;
  } else if (i.has(Mod::Bulk)) {
    const bool group = i.has(Mod::CommitGroup) || i.has(Mod::WaitGroup) || i.has(Mod::Prefetch);
    s.execute = group ? nothing : s.sourceCount >= 3 && i.space2 != Space::None ? copyBulk : nullptr;
  }
}

}  // namespace

void selectBarrierObject(const Instruction& i, Step& s) {
  s.space = i.space;
  if (i.op == Op::Cp) return selectCopy(i, s);
  if (i.op != Op::Mbarrier) return;
  const auto with = [&](uint32_t sources, Execute execute) {
    if (s.sourceCount >= sources) s.execute = execute;
  };
  if (i.has(Mod::Init))
    with(2, initialise);
  else if (i.has(Mod::Inval))
    with(1, invalidate);
  else if (i.has(Mod::Arrive) || i.has(Mod::ArriveDrop))
    with(1, arrive);
  else if (i.has(Mod::TestWait) || i.has(Mod::TryWait))
    with(2, testWait);
  else if (i.has(Mod::PendingCount))
    with(1, pendingCount);
  else if (i.has(Mod::ExpectTx) || i.has(Mod::CompleteTx))
    with(2, expectBytes);
  s.polls = i.has(Mod::TestWait) || i.has(Mod::TryWait);
}

}  // namespace vg::ptx::interpreter
