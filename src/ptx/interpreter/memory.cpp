// Loads, stores, atomics, address conversions, cp.async. Global and generic addresses are host addresses; wild ones
// fault, and the runner's signal handler answers.
#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/facts/polls.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/interpreter/pair_access.h"
#include "ptx/interpreter/windows.h"
#include "ptx/operations/store_order.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::interpreter {
namespace {

// Aligned scalars as one access each, so that racing threads see whole values.
uint64_t loadBits(const std::byte* at, uint32_t bytes, int order) {
  switch (bytes) {
    case 1:
      return __atomic_load_n(reinterpret_cast<const uint8_t*>(at), order);
    case 2:
      return __atomic_load_n(reinterpret_cast<const uint16_t*>(at), order);
    case 4:
      return __atomic_load_n(reinterpret_cast<const uint32_t*>(at), order);
    default:
      return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), order);
  }
}
void storeBits(std::byte* at, uint32_t bytes, uint64_t value, int order) {
  switch (bytes) {
    case 1:
      return __atomic_store_n(reinterpret_cast<uint8_t*>(at), static_cast<uint8_t>(value), order);
    case 2:
      return __atomic_store_n(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(value), order);
    case 4:
      return __atomic_store_n(reinterpret_cast<uint32_t*>(at), static_cast<uint32_t>(value), order);
    default:
      return __atomic_store_n(reinterpret_cast<uint64_t*>(at), value, order);
  }
}
// Vectors: programs rely on it that up to 16 aligned bytes are seen as a whole. `bytes`: 2 to 32, a power of two.
void loadVector(const std::byte* at, uint32_t bytes, std::byte* to, int order) {
  if (bytes <= 8) {
    const uint64_t value = loadBits(at, bytes, order);
    std::memcpy(to, &value, bytes);
  }
  for (uint32_t done = 0; bytes - done >= 16; done += 16) loadPair(at + done, to + done, order);
}
void storeVector(std::byte* at, uint32_t bytes, const std::byte* from, int order) {
  if (bytes <= 8) {
    uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    storeBits(at, bytes, value, order);
  }
  for (uint32_t done = 0; bytes - done >= 16; done += 16) storePair(at + done, from + done, order);
}

constexpr uint32_t kMostVectorBytes = 32;

template <class T>
bool exchangeIf(std::byte* at, uint64_t& expected, uint64_t desired) {
  T old = static_cast<T>(expected);
  const bool done = __atomic_compare_exchange_n(reinterpret_cast<T*>(at), &old, static_cast<T>(desired), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  expected = old;
  return done;
}

// A destination wider than the type receives a sign- or zero-extended value.
uint64_t extended(Type type, uint64_t value) {
  return isSigned(type) ? static_cast<uint64_t>(signExtend(value, bitsOf(type))) : value;
}

// Lanes from the last to the first where others may be storing (operations/store_order.h).
template <class Visit>
void eachLaneLoading(uint32_t mask, bool shared, Visit visit) {
  if (!shared) return eachLane(mask, visit);
  for (uint32_t lane = kWarpSize; lane-- != 0;)
    if (mask >> lane & 1) visit(lane);
}

// Whether places go upwards by lane, so that no two lanes store to one.
bool goUpwards(std::byte* const (&places)[kWarpSize], uint32_t mask, uint32_t bytes) {
  const std::byte* end = nullptr;
  bool upwards = true;
  eachLane(mask, [&](uint32_t lane) {
    upwards &= places[lane] >= end;
    end = places[lane] + bytes;
  });
  return upwards;
}

void load(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t bytes = s.number, width = s.i->vectorWidth;
  const int order = s.i->has(Mod::Acquire) || s.i->has(Mod::Volatile) ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
  w.polled |= s.polls;
  eachLaneLoading(mask, order == __ATOMIC_ACQUIRE && !w.watched, [&](uint32_t lane) {
    const std::byte* at = w.address(lane, s, s.sources[0], uint64_t{bytes} * width, s.space);
    if (width == 1) return w.write(lane, s.targets[0], extended(s.i->type(), loadBits(at, bytes, order)));
    std::byte vector[kMostVectorBytes];
    loadVector(at, bytes * width, vector, order);
    for (uint32_t k = 0; k < width; ++k) {
      uint64_t value = 0;
      std::memcpy(&value, vector + k * bytes, bytes);
      w.write(lane, s.vectorTargets[k], extended(s.i->type(), value));
    }
  });
}

// An observer sees lane after lane, what the one before stored too; the value that stays comes last then.
void store(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t bytes = s.number, width = s.i->vectorWidth;
  const int order = s.i->has(Mod::Release) || s.i->has(Mod::Volatile) ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  std::byte* places[kWarpSize];
  const auto storeLane = [&](uint32_t lane) {
    if (width == 1) return storeBits(places[lane], bytes, w.read(lane, s.sources[1]), order);
    std::byte vector[kMostVectorBytes];
    for (uint32_t k = 0; k < width; ++k) {
      const uint64_t value = w.read(lane, s.vectorSources[k]);
      std::memcpy(vector + k * bytes, &value, bytes);
    }
    storeVector(places[lane], bytes * width, vector, order);
  };
  eachLane(mask, [&](uint32_t lane) {
    places[lane] = w.address(lane, s, s.sources[0], uint64_t{bytes} * width, s.space);
    if (w.watched) storeLane(lane);
  });
  if (goUpwards(places, mask, bytes * width)) return eachLane(mask, storeLane);
  inStoreOrder(bytes * width, 1, [&](uint32_t lane) {
    if (mask >> lane & 1) storeLane(lane);
  });
}

enum class Atomic : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };

uint64_t addFloats(Type type, uint64_t old, uint64_t b, bool flushed) {
  switch (type) {
    case Type::F32:
      if (!flushed) return bitsOfFloat(asFloat(old) + asFloat(b));
      return flush(bitsOfFloat(asFloat(flush(old)) + asFloat(flush(b))));
    case Type::F64:
      return bitsOfDouble(asDouble(old) + asDouble(b));
    case Type::F16:
      return halfOf(doubleOfHalf(static_cast<uint16_t>(old)) + doubleOfHalf(static_cast<uint16_t>(b)));
    default: {  // bf16: a sum of two is not always exact in a double
      const double x = doubleOfBfloat(static_cast<uint16_t>(old)), y = doubleOfBfloat(static_cast<uint16_t>(b));
      const double sum = x + y, bb = sum - x, lost = (x - (sum - bb)) + (y - bb);
      return roundTo(sum, lost > 0 ? 1 : lost < 0 ? -1 : 0, kBfloat, Rounding::NearestEven, false);
    }
  }
}

uint64_t extremeHalf(Type type, uint64_t a, uint64_t b, bool isMax) {
  const auto wide = [&](uint64_t v) {
    return type == Type::F16 ? doubleOfHalf(static_cast<uint16_t>(v)) : doubleOfBfloat(static_cast<uint16_t>(v));
  };
  const double x = wide(a), y = wide(b);
  if (x != x || y != y) return x == x ? a : y == y ? b : 0x7fff;
  if (x == y) return ((a >> 15) != 0) == isMax ? b : a;
  return (x < y) == isMax ? b : a;
}

// The new value of one element.
uint64_t updated(const Step& s, Type type, uint64_t old, uint64_t b) {
  const uint32_t bits = bitsOf(type);
  const int64_t so = signExtend(old, bits), sb = signExtend(b, bits);
  switch (static_cast<Atomic>(s.number2)) {
    case Atomic::Add:
      return isFloat(type) ? addFloats(type, old, b, s.ftz) : old + b;
    case Atomic::Min:
      if (isFloat(type)) return extremeHalf(type, old, b, false);
      return isSigned(type) ? (sb < so ? b : old) : std::min(old, b);
    case Atomic::Max:
      if (isFloat(type)) return extremeHalf(type, old, b, true);
      return isSigned(type) ? (sb > so ? b : old) : std::max(old, b);
    case Atomic::Inc:
      return old >= b ? 0 : old + 1;
    case Atomic::Dec:
      return old == 0 || old > b ? b : old - 1;
    case Atomic::And:
      return old & b;
    case Atomic::Or:
      return old | b;
    case Atomic::Xor:
      return old ^ b;
    default:
      return b;
  }
}

// Packed halves: each element by itself.
uint64_t updatedWord(const Step& s, uint64_t old, uint64_t b) {
  const Type type = s.i->type();
  if (type != Type::F16x2 && type != Type::BF16x2) return updated(s, type, old, b & maskOf(bitsOf(type)));
  const Type element = type == Type::F16x2 ? Type::F16 : Type::BF16;
  return (updated(s, element, old & 0xffff, b & 0xffff) & 0xffff) |
         (updated(s, element, old >> 16 & 0xffff, b >> 16 & 0xffff) & 0xffff) << 16;
}

uint64_t atomicOn(const Step& s, std::byte* at, uint64_t b, uint64_t c) {
  const uint32_t bytes = s.number;
  const bool cas = static_cast<Atomic>(s.number2) == Atomic::Cas;
  uint64_t old = loadBits(at, bytes, __ATOMIC_RELAXED);
  for (;;) {
    uint64_t next = cas ? (old == (b & maskOf(8 * bytes)) ? c : old) : updatedWord(s, old, b);
    next &= maskOf(8 * bytes);
    const bool done = bytes == 2   ? exchangeIf<uint16_t>(at, old, next)
                      : bytes == 4 ? exchangeIf<uint32_t>(at, old, next)
                                   : exchangeIf<uint64_t>(at, old, next);
    if (done) return old;
  }
}

void atomic(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t bytes = s.number, width = s.i->vectorWidth;
  w.polled |= s.polls;
  eachLane(mask, [&](uint32_t lane) {
    std::byte* at = w.address(lane, s, s.sources[0], uint64_t{bytes} * width, s.space);
    if (width == 1) {
      const uint64_t c = s.sourceCount > 2 ? w.read(lane, s.sources[2]) : 0;
      return w.write(lane, s.targets[0], atomicOn(s, at, w.read(lane, s.sources[1]), c));
    }
    for (uint32_t k = 0; k < width; ++k) {
      const uint64_t old = atomicOn(s, at + k * bytes, w.read(lane, s.vectorSources[k]), 0);
      if (k < s.vectorTargets.size()) w.write(lane, s.vectorTargets[k], old);
    }
  });
}

void toGeneric(Warp& w, const Step& s, uint32_t mask) {
  const uint64_t base =
      s.space == Space::Shared || s.space == Space::SharedCluster ? reinterpret_cast<uint64_t>(w.block->shared) : 0;
  const bool to = s.i->has(Mod::To);
  eachLane(mask, [&](uint32_t lane) {
    uint64_t value = w.read(lane, s.sources[0]);
    if (!to) value = wholeAddress(w, lane, s.space, value);
    w.write(lane, s.targets[0], to ? value - base : value + base);
  });
}

bool isIn(Warp& w, uint32_t lane, Space space, uint64_t address) {
  const auto within = [&](const void* base, uint64_t size) {
    return address - reinterpret_cast<uint64_t>(base) < size;
  };
  const uint32_t* const cluster = w.block->launch->clusterSize;
  const bool shared = within(w.block->shared + w.block->sharedOffset, w.block->sharedLimit);
  const bool parameter =
      !w.program->parameters.empty() &&
      within(w.block->launch->parameters, w.program->parameters.back().offset + w.program->parameters.back().size);
  bool local = false, constant = false;
  for (size_t k = 0; k < w.lanes[lane].chunks.size(); ++k)
    local |= within(w.lanes[lane].chunks[k].get(), w.lanes[lane].chunkSizes[k]);
  for (size_t k = 0; k < w.program->uses.globals.size(); ++k) {
    const Variable& v = w.program->module->variables[w.program->uses.globals[k]];
    constant |= v.space == Space::Const && within(reinterpret_cast<void*>(w.block->launch->globals[k]), v.size);
  }
  switch (space) {
    case Space::Shared:
      return shared;
    case Space::SharedCluster:
      return within(w.block->clusterShared, uint64_t{cluster[0]} * cluster[1] * cluster[2] * kSharedStride);
    case Space::Local:
      return local;
    case Space::Const:
      return constant;
    case Space::Param:
      return parameter;
    default:
      return !shared && !local && !constant && !parameter;
  }
}

void isSpace(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask,
           [&](uint32_t lane) { w.write(lane, s.targets[0], isIn(w, lane, s.space, w.read(lane, s.sources[0]))); });
}

// cp.async [shared], [global], size{, source size or predicate}: done at once; what the source lacks is zero.
void copyAsync(Warp& w, const Step& s, uint32_t mask) {
  w.polled |= s.polls;
  const bool limited = s.sourceCount - s.i->has(Mod::L2CacheHint) > 3;
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t bytes = w.read(lane, s.sources[2]);
    uint64_t have = bytes;
    if (limited) {
      const uint64_t last = w.read(lane, s.sources[3]);
      have = s.sources[3].bits == 1 ? (last ? 0 : bytes) : std::min<uint64_t>(last & 0xffffffff, bytes);
    }
    std::byte* to = w.address(lane, s, s.sources[0], bytes, Space::Shared);
    if (have) std::memcpy(to, w.range(lane, s, s.sources[1], have, limited ? 1 : bytes, Space::Global), have);
    std::memset(to + have, 0, bytes - have);
  });
}

void nothing(Warp&, const Step&, uint32_t) {}
void fence(Warp& w, const Step& s, uint32_t) {
  w.polled |= s.polls;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void pack(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t bits = bitsOf(s.i->type()) / static_cast<uint32_t>(s.vectorSources.size());
  eachLane(mask, [&](uint32_t lane) {
    uint64_t value = 0;
    for (size_t k = 0; k < s.vectorSources.size(); ++k)
      value |= (w.read(lane, s.vectorSources[k]) & maskOf(bits)) << (bits * k);
    w.write(lane, s.targets[0], value);
  });
}
void unpack(Warp& w, const Step& s, uint32_t mask) {
  const uint32_t bits = bitsOf(s.i->type()) / static_cast<uint32_t>(s.vectorTargets.size());
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t value = w.read(lane, s.sources[0]);
    for (size_t k = 0; k < s.vectorTargets.size(); ++k) w.write(lane, s.vectorTargets[k], value >> (bits * k));
  });
}
void moveVector(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) {
    uint64_t values[8];
    const size_t count = std::min<size_t>(std::min(s.vectorSources.size(), s.vectorTargets.size()), 8);
    for (size_t k = 0; k < count; ++k) values[k] = w.read(lane, s.vectorSources[k]);
    for (size_t k = 0; k < count; ++k) w.write(lane, s.vectorTargets[k], values[k]);
  });
}

void allocate(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t bytes = w.read(lane, s.sources[0]) & 0xffffffff;
    const uint64_t alignment = s.sourceCount > 1 ? w.read(lane, s.sources[1]) : 1;
    std::byte* memory = w.reserve(lane, bytes, std::has_single_bit(alignment) ? alignment : 1);
    if (!memory) w.trap(1u << lane, TrapReason::StackOverflow, s);
    w.write(lane, s.targets[0], reinterpret_cast<uint64_t>(memory));
  });
}
void saveStack(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { w.write(lane, s.targets[0], w.stackDepth(lane)); });
}
void restoreStack(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { w.returnTo(lane, w.read(lane, s.sources[0])); });
}
void zeroResult(Warp& w, const Step& s, uint32_t mask) {
  eachLane(mask, [&](uint32_t lane) { w.write(lane, s.targets[0], 0); });
}

void selectAtomic(const Instruction& i, Step& s) {
  struct Row {
    Mod mod;
    Atomic operation;
  };
  static constexpr Row kRows[] = {{Mod::Add, Atomic::Add}, {Mod::Min, Atomic::Min}, {Mod::Max, Atomic::Max},
                                  {Mod::Inc, Atomic::Inc}, {Mod::Dec, Atomic::Dec}, {Mod::And, Atomic::And},
                                  {Mod::Or, Atomic::Or},   {Mod::Xor, Atomic::Xor}, {Mod::Exch, Atomic::Exch},
                                  {Mod::Cas, Atomic::Cas}};
  const uint32_t bytes = bitsOf(i.type()) / 8;
  if (bytes != 2 && bytes != 4 && bytes != 8) return;
  if (i.has(Mod::Async)) return;
  if (i.vectorWidth > 1 && s.vectorSources.size() != i.vectorWidth) return;
  for (const Row& row : kRows)
    if (i.has(row.mod)) {
      s.number2 = static_cast<uint8_t>(row.operation);
      s.number = static_cast<uint8_t>(bytes);
      s.polls = i.op == Op::Atom;
      // Adding f32 in global memory flushes subnormals; in shared memory it does not.
      s.ftz = i.type() == Type::F32 && row.operation == Atomic::Add && i.space != Space::Shared && !i.has(Mod::Noftz);
      s.execute = atomic;
      return;
    }
}

void selectVectorMove(Step& s) {
  if (!s.vectorTargets.empty() && !s.vectorSources.empty())
    s.execute = moveVector;
  else if (!s.vectorTargets.empty())
    s.execute = unpack;
  else if (!s.vectorSources.empty())
    s.execute = pack;
}

}  // namespace

void selectMemory(const Instruction& i, Step& s) {
  s.space = i.space;
  const uint32_t bits = bitsOf(i.type());
  switch (i.op) {
    case Op::Ld:
    case Op::Ldu:
      if (bits < 8 || bits > 64) return;
      s.number = static_cast<uint8_t>(bits / 8);
      s.polls = readsStrongly(i) || readsPastFirstCache(i);
      s.execute = load;
      return;
    case Op::St:
      if (bits < 8 || bits > 64 || i.has(Mod::Async) || i.has(Mod::Bulk)) return;
      s.number = static_cast<uint8_t>(bits / 8);
      s.execute = store;
      return;
    case Op::Atom:
    case Op::Red:
      selectAtomic(i, s);
      return;
    case Op::Cvta:
      s.execute = toGeneric;
      return;
    case Op::Isspacep:
      s.execute = isSpace;
      return;
    case Op::Cp:
      s.polls = copiesBeside(i);
      if (i.has(Mod::CommitGroup) || i.has(Mod::WaitGroup) || i.has(Mod::WaitAll))
        s.execute = tellCopies;
      else
        s.execute = copyAsync;
      return;
    case Op::Membar:
    case Op::Fence:
      s.polls = fencesThreads(i);  // what loads in its loop see may be what it waits for
      s.execute = fence;
      return;
    case Op::Createpolicy:
      s.execute = zeroResult;
      return;
    case Op::Alloca:
      s.execute = allocate;
      return;
    case Op::Stacksave:
      s.execute = saveStack;
      return;
    case Op::Stackrestore:
      s.execute = restoreStack;
      return;
    case Op::Mov:
      if (bits <= 64) selectVectorMove(s);
      return;
    default:
      if (rowOf(i.op).has(Trait::Hint)) s.execute = nothing;
      return;
  }
}

}  // namespace vg::ptx::interpreter
