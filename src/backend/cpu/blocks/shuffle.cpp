#include "backend/cpu/blocks/shuffle.h"

#include <algorithm>
#include <bit>

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
constexpr uint64_t kLaunches = 1 << 16;  // numbers below it are of the order of pieces

// A bijection of the numbers below `count`: steps that can be undone among the numbers of so many bits, until one is
// below it.
uint64_t mixed(uint64_t index, uint64_t count, uint64_t key) {
  if (count < 2) return index;
  const int bits = std::bit_width(count - 1);
  const uint64_t mask = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
  uint64_t x = index;
  do {
    for (int round = 0; round < 3; ++round) {
      x = (x * (((key >> (8 * round)) * kOdd) | 1) + (key >> (16 + 8 * round))) & mask;
      x ^= x >> ((bits + 1) / 2);
    }
  } while (x >= count);
  return x;
}

}  // namespace

Shuffle::Shuffle(uint64_t launch, uint64_t tickets, uint64_t window)
    : tickets_(tickets),
      window_(window ? window : tickets),
      key_(interleaving::numberOf(kLaunches + launch)),
      way_(key_ % 4 == 0   ? Way::Upwards
           : key_ % 4 == 1 ? Way::Downwards
                           : Way::Random),
      dice_(key_) {}

uint64_t Shuffle::at(uint64_t ticket) const {
  const uint64_t begin = ticket - ticket % window_, count = std::min(window_, tickets_ - begin), index = ticket - begin;
  if (way_ == Way::Upwards) return ticket;
  return begin + (way_ == Way::Downwards ? count - 1 - index : mixed(index, count, key_ + begin));
}

uint32_t Shuffle::oneOf(uint32_t candidates) {
  for (auto skipped = dice_.below(static_cast<uint64_t>(std::popcount(candidates))); skipped; --skipped)
    candidates &= candidates - 1;
  return static_cast<uint32_t>(std::countr_zero(candidates));
}

}  // namespace vg::backend::cpu
