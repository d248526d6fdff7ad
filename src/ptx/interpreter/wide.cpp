// 128-bit values: two register slots, low half first.
#include "ptx/abi/cancelled_cluster.h"
#include "ptx/facts/polls.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/interpreter/pair_access.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

struct Pair {
  uint64_t low = 0, high = 0;
  bool operator==(const Pair&) const = default;
};

Pair readPair(Warp& w, uint32_t lane, const Source& s) {
  if (s.kind != Source::Kind::Register || s.bits != 128) return {w.read(lane, s), 0};
  const uint64_t* const slots = w.frame(lane).registers + s.slot;
  return {slots[0], slots[1]};
}
void writePair(Warp& w, uint32_t lane, const Target& t, Pair value) {
  if (!t.wanted()) return;
  uint64_t* const slots = w.frame(lane).registers + t.slot;
  slots[0] = value.low;
  if (t.bits == 128) slots[1] = value.high;
}

void load(Warp& w, const Step& s, uint32_t mask) {
  const int order = s.i->has(Mod::Acquire) || s.i->has(Mod::Volatile) ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
  w.polled |= s.polls;
  eachLane(mask, [&](uint32_t lane) {
    Pair value;
    loadPair(w.address(lane, s, s.sources[0], 16, s.space), &value, order);
    writePair(w, lane, s.targets[0], value);
  });
}
void store(Warp& w, const Step& s, uint32_t mask) {
  const int order = s.i->has(Mod::Release) || s.i->has(Mod::Volatile) ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  eachLane(mask, [&](uint32_t lane) {
    const Pair value = readPair(w, lane, s.sources[1]);
    storePair(w.address(lane, s, s.sources[0], 16, s.space), &value, order);
  });
}

void move(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) {
    Pair value;
    if (s.vectorSources.size() == 2)
      value = {w.read(lane, s.vectorSources[0]), w.read(lane, s.vectorSources[1])};
    else
      value = readPair(w, lane, s.sources[0]);
    if (s.vectorTargets.size() == 2) {
      w.write(lane, s.vectorTargets[0], value.low);
      w.write(lane, s.vectorTargets[1], value.high);
    } else {
      writePair(w, lane, s.targets[0], value);
    }
  });
}

// Replaces *at by `desired` if it is `expected`; returns what was there.
Pair compareExchange(std::byte* at, Pair expected, Pair desired) {
#if defined(__x86_64__)
  __asm__ __volatile__("lock cmpxchg16b %0"
                       : "+m"(*reinterpret_cast<Pair*>(at)), "+a"(expected.low), "+d"(expected.high)
                       : "b"(desired.low), "c"(desired.high)
                       : "cc", "memory");
  return expected;
#else
  Pair old;
  uint32_t again;
  do {
    // What was read is whole only if it was written back.
    __asm__ __volatile__("ldaxp %0, %1, [%2]" : "=&r"(old.low), "=&r"(old.high) : "r"(at) : "memory");
    const Pair kept = old == expected ? desired : old;
    __asm__ __volatile__("stlxp %w0, %1, %2, [%3]" : "=&r"(again) : "r"(kept.low), "r"(kept.high), "r"(at) : "memory");
  } while (again);
  return old;
#endif
}

void atomic(Warp& w, const Step& s, uint32_t mask) {
  w.polled = true;
  eachLane(mask, [&](uint32_t lane) {
    std::byte* const at = w.address(lane, s, s.sources[0], 16, s.space);
    const Pair b = readPair(w, lane, s.sources[1]);
    Pair old;
    if (s.i->has(Mod::Cas)) {
      old = compareExchange(at, b, readPair(w, lane, s.sources[2]));
    } else {
      std::memcpy(&old, at, sizeof old);
      for (Pair seen; !((seen = compareExchange(at, old, b)) == old);) old = seen;
    }
    writePair(w, lane, s.targets[0], old);
  });
}

// clusterlaunchcontrol.query_cancel
void query(Warp& w, const Step& s, uint32_t mask) {
  const bool asksWhether = s.i->has(Mod::IsCanceled);
  const uint32_t first = asksWhether                     ? kWasCancelled
                         : s.i->has(Mod::GetFirstCtaidY) ? kFirstBlockY
                         : s.i->has(Mod::GetFirstCtaidZ) ? kFirstBlockZ
                                                         : kFirstBlockX;
  eachLane(mask, [&](uint32_t lane) {
    const Pair answer = readPair(w, lane, s.sources[0]);
    const auto word = [&](uint32_t bit) {
      return static_cast<uint32_t>((bit < 64 ? answer.low : answer.high) >> bit % 64);
    };
    w.write(lane, s.targets[0], asksWhether ? word(first) != 0 : word(first));
    for (uint32_t k = 0; k < s.vectorTargets.size(); ++k) w.write(lane, s.vectorTargets[k], word(32 * k));
  });
}

}  // namespace

void selectWide(const Instruction& i, Step& s) {
  s.space = i.space;
  if (i.op == Op::Clusterlaunchcontrol && i.has(Mod::QueryCancel) && s.vectorTargets.size() <= 4) s.execute = query;
  if (i.vectorWidth > 1) return;
  const bool vectors = !s.vectorTargets.empty() || !s.vectorSources.empty();
  switch (i.op) {
    case Op::Ld:
      if (!vectors) s.execute = load;
      s.polls = readsStrongly(i) || readsPastFirstCache(i);
      break;
    case Op::St:
      if (!vectors) s.execute = store;
      break;
    case Op::Mov: {
      const bool two = (s.vectorTargets.empty() || s.vectorTargets.size() == 2) &&
                       (s.vectorSources.empty() || s.vectorSources.size() == 2);
      if (two) s.execute = move;
      break;
    }
    case Op::Atom:
      if (!vectors && (i.has(Mod::Exch) || (i.has(Mod::Cas) && s.sourceCount > 2))) s.execute = atomic;
      s.polls = true;
      break;
    default:
      break;
  }
}

}  // namespace vg::ptx::interpreter
