#include "ptx/operations/tensor_elements.h"

#include <cstring>

namespace vg::ptx {
namespace {

// f32 to tf32, whose fraction has 10 bits; ties away from zero, one NaN for all.
uint32_t roundedToTensorFloat(uint32_t bits) {
  constexpr uint32_t kDropped = 0x1fff, kHalf = 0x1000, kInfinity = 0x7f800000, kSign = 0x80000000;
  if ((bits & ~kSign) > kInfinity) return 0x7fffe000;
  return (bits & ~kSign) == kInfinity ? bits : (bits + kHalf) & ~kDropped;
}

void round(std::byte* to, const std::byte* from, uint64_t bytes) {
  for (uint64_t k = 0; k < bytes; k += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, from + k, sizeof word);
    word = roundedToTensorFloat(word);
    std::memcpy(to + k, &word, sizeof word);
  }
}

// Sixteen elements of six bits, each of them in the low bits of a byte of its own, without what is above.
void joinSixes(std::byte* to, const std::byte* from) {
  uint32_t bits = 0, held = 0;
  for (uint32_t k = 0; k < 16; ++k) {
    bits |= (std::to_integer<uint32_t>(from[k]) & 63) << held;
    for (held += 6; held >= 8; held -= 8, bits >>= 8) *to++ = static_cast<std::byte>(bits);
  }
}

}  // namespace

void unpack(const TensorMap& map, std::byte* shared, const std::byte* row, uint64_t offset, uint64_t bytes) {
  const TensorUnit unit = map.unit();
  if (map.tensorFloat()) return round(shared, row + offset, bytes);
  if (unit.memory == unit.shared) {
    std::memcpy(shared, row + offset, bytes);
    return;
  }
  for (uint64_t k = 0; k < bytes; k += unit.shared) {
    std::memcpy(shared + k, row + (offset + k) / unit.shared * unit.memory, unit.memory);
    std::memset(shared + k + unit.memory, 0, unit.shared - unit.memory);
  }
}

void pack(const TensorMap& map, std::byte* row, const std::byte* shared, uint64_t offset, uint64_t bytes) {
  const TensorUnit unit = map.unit();
  if (unit.memory == unit.shared) {
    std::memcpy(row + offset, shared, bytes);
    return;
  }
  for (uint64_t k = 0; k < bytes; k += unit.shared)
    joinSixes(row + (offset + k) / unit.shared * unit.memory, shared + k);
}

}  // namespace vg::ptx
