#include "check/races/clocks.h"

#include <algorithm>
#include <bit>

#include "check/races/known.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check {
namespace {

void join(uint32_t* into, const uint32_t* from, size_t count) {
  for (size_t k = 0; k < count; ++k) into[k] = std::max(into[k], from[k]);
}

}  // namespace

void Clocks::reset(uint32_t threads) {
  const size_t cells = size_t{threads} * threads;
  if (known_.size() < cells) known_.resize(cells);
  threads_ = threads;
  clocks_.resize(threads);
  joined_.resize(threads);
  meetAll();
  begin_ = floor_;
}

std::shared_ptr<const Known> Clocks::knownTo(uint32_t thread) const {
  auto known = std::make_shared<Known>();
  known->floor = floor();
  const uint32_t first = crossed_ ? 0 : thread / ptx::kWarpSize * ptx::kWarpSize;
  const uint32_t end = crossed_ ? threads_ : std::min(first + ptx::kWarpSize, threads_);
  const uint32_t* const row = known_.data() + size_t{thread} * threads_;
  for (uint32_t other = first; other < end; ++other) {
    const uint32_t clock = other == thread ? clocks_[thread] : row[other];
    if (clock >= floor_) known->threads.emplace_back(other, clock - begin_);
  }
  return known;
}

void Clocks::meetAll() {
  floor_ = ++last_;
  std::fill(clocks_.begin(), clocks_.end(), floor_);
  crossed_ = false;
  locations_.clear();
}

void Clocks::meet(const Threads& come, const Threads& wait) {
  std::fill(joined_.begin(), joined_.end(), 0);
  for (const uint32_t thread : come) {
    join(joined_.data(), row(thread), threads_);
    joined_[thread] = std::max(joined_[thread], clocks_[thread]);
  }
  for (const uint32_t thread : wait) join(row(thread), joined_.data(), threads_);
  for (const uint32_t thread : come) advance(thread);
  crossed_ = true;
}

void Clocks::meetWarp(uint32_t warp, uint32_t mask) {
  const uint32_t first = warp * ptx::kWarpSize;
  // Unless warps have met each other, there is nothing to hand on about threads of others.
  const uint32_t from = crossed_ ? 0 : first, end = crossed_ ? threads_ : std::min(first + ptx::kWarpSize, threads_);
  std::fill(joined_.begin() + from, joined_.begin() + end, 0);
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(left));
    if (thread >= threads_) break;
    join(joined_.data() + from, row(thread) + from, end - from);
    joined_[thread] = std::max(joined_[thread], clocks_[thread]);
  }
  ++last_;
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(left));
    if (thread >= threads_) break;
    join(row(thread) + from, joined_.data() + from, end - from);
    clocks_[thread] = last_;
  }
}

void Clocks::pass(uint32_t thread, uint64_t location) {
  std::vector<uint32_t>& at = locations_[location];
  at.resize(threads_);
  join(row(thread), at.data(), threads_);
  at.assign(row(thread), row(thread) + threads_);
  at[thread] = std::max(at[thread], clocks_[thread]);
  advance(thread);
  crossed_ = true;
}

}  // namespace vg::check
