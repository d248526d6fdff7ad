#include "ptx/operations/element_reduction.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/operations/half.h"

namespace vg::ptx {
namespace {

template <class T>
T reducedNumber(AsyncReduction operation, T old, T b) {
  switch (operation) {
    case AsyncReduction::Min:
      return std::min(old, b);
    case AsyncReduction::Max:
      return std::max(old, b);
    case AsyncReduction::Inc:
      return old >= b ? 0 : old + 1;
    case AsyncReduction::Dec:
      return old == 0 || old > b ? b : old - 1;
    case AsyncReduction::And:
      return old & b;
    case AsyncReduction::Or:
      return old | b;
    case AsyncReduction::Xor:
      return old ^ b;
    default:
      return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(b));
  }
}

double wide(Type type, uint16_t bits) { return type == Type::F16 ? doubleOfHalf(bits) : doubleOfBfloat(bits); }

uint16_t reducedHalf(AsyncReduction operation, Type type, uint16_t old, uint16_t b) {
  const double x = wide(type, old), y = wide(type, b);
  if (operation == AsyncReduction::Add) {
    const double sum = x + y, part = sum - x, lost = (x - (sum - part)) + (y - part);
    return static_cast<uint16_t>(roundTo(sum,
                                         lost > 0   ? 1
                                         : lost < 0 ? -1
                                                    : 0,
                                         type == Type::F16 ? kHalf : kBfloat, Rounding::NearestEven, false));
  }
  const bool isMax = operation == AsyncReduction::Max;
  if (x != x || y != y) return x == x ? old : y == y ? b : uint16_t{0x7fff};
  if (x == y) return ((old >> 15) != 0) == isMax ? b : old;
  return (x < y) == isMax ? b : old;
}

uint32_t withoutSubnormals(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

uint32_t flushedSum(uint32_t old, uint32_t b) {
  const float sum = std::bit_cast<float>(withoutSubnormals(old)) + std::bit_cast<float>(withoutSubnormals(b));
  return sum != sum ? 0x7fffffff : withoutSubnormals(std::bit_cast<uint32_t>(sum));
}

uint64_t reduced(AsyncReduction operation, Type type, uint64_t old, uint64_t b) {
  switch (type) {
    case Type::F16:
    case Type::BF16:
      return reducedHalf(operation, type, static_cast<uint16_t>(old), static_cast<uint16_t>(b));
    case Type::F32: {
      // Subnormals stay, other than in atomics on global memory.
      const float sum =
          std::bit_cast<float>(static_cast<uint32_t>(old)) + std::bit_cast<float>(static_cast<uint32_t>(b));
      return sum != sum ? 0x7fffffff : std::bit_cast<uint32_t>(sum);
    }
    case Type::F64:
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case Type::S32:
      return static_cast<uint32_t>(reducedNumber(operation, static_cast<int32_t>(old), static_cast<int32_t>(b)));
    case Type::S64:
      return static_cast<uint64_t>(reducedNumber(operation, static_cast<int64_t>(old), static_cast<int64_t>(b)));
    case Type::U32:
    case Type::B32:
      return reducedNumber(operation, static_cast<uint32_t>(old), static_cast<uint32_t>(b));
    default:
      return reducedNumber(operation, old, b);
  }
}

template <class T>
void reduceAll(AsyncReduction operation, Type type, std::byte* to, const std::byte* from, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) {
    T* const at = reinterpret_cast<T*>(to) + k;
    T b, old = __atomic_load_n(at, __ATOMIC_RELAXED);
    std::memcpy(&b, from + k * sizeof(T), sizeof b);
    while (!__atomic_compare_exchange_n(at, &old, static_cast<T>(reduced(operation, type, old, b)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
  }
}

}  // namespace

void addFlushing(std::byte* to, const std::byte* from, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) {
    uint32_t* const at = reinterpret_cast<uint32_t*>(to) + k;
    uint32_t b, old = __atomic_load_n(at, __ATOMIC_RELAXED);
    std::memcpy(&b, from + k * sizeof b, sizeof b);
    while (!__atomic_compare_exchange_n(at, &old, flushedSum(old, b), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
  }
}

bool canReduce(AsyncReduction operation, Type type) {
  const bool bits =
      operation == AsyncReduction::And || operation == AsyncReduction::Or || operation == AsyncReduction::Xor;
  const bool counts = operation == AsyncReduction::Inc || operation == AsyncReduction::Dec;
  switch (type) {
    case Type::F32:
    case Type::F64:
      return operation == AsyncReduction::Add;
    case Type::F16:
    case Type::BF16:
      return !bits && !counts;
    case Type::B32:
    case Type::B64:
      return bits;
    case Type::U32:
      return true;
    case Type::S32:
    case Type::S64:
    case Type::U64:
      return !counts;
    default:
      return false;
  }
}

void reduceElements(AsyncReduction operation, Type type, std::byte* to, const std::byte* from, uint64_t count) {
  switch (bitsOf(type)) {
    case 16:
      return reduceAll<uint16_t>(operation, type, to, from, count);
    case 32:
      return reduceAll<uint32_t>(operation, type, to, from, count);
    default:
      return reduceAll<uint64_t>(operation, type, to, from, count);
  }
}

}  // namespace vg::ptx
