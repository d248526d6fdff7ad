#include "check/races/async_copies.h"

#include <algorithm>

namespace vg::check {
namespace {
constexpr size_t kMostAsked = 1 << 14;  // questions to a barrier object; with more nobody can say who knows what
constexpr size_t kMostWaits = 64;       // of a thread; what older ones waited for counts as known to all
}  // namespace

void AsyncCopies::reset() {
  if (!bulk_.empty()) {
    bulk_.clear();
    asked_.clear();
  }
  if (threads_.empty()) return;
  threads_.clear();
  pending_ = 0;
}

uint32_t AsyncCopies::beginBulk(uint64_t barrier) {
  bulk_.push_back(barrier);
  asked_.try_emplace(barrier);
  return static_cast<uint32_t>(bulk_.size() - 1);
}

void AsyncCopies::waitAt(uint64_t barrier, uint32_t thread, uint32_t clock) {
  const auto found = asked_.find(barrier);
  if (found == asked_.end()) return;
  std::vector<Asked>& asked = found->second;
  const auto until = static_cast<uint32_t>(bulk_.size());
  if (asked.size() < kMostAsked) asked.push_back({until, thread, clock});
}

bool AsyncCopies::bulkOrdered(uint32_t number, uint32_t now, const Clocks& clocks) const {
  if (number >= bulk_.size()) return true;
  const auto found = asked_.find(bulk_[number]);
  if (found == asked_.end() || found->second.size() == kMostAsked) return true;
  return std::any_of(found->second.rbegin(), found->second.rend(), [&](const Asked& asked) {
    return asked.until > number && clocks.orderedSinceBegin(asked.thread, asked.clock, now);
  });
}

AsyncCopies::Thread& AsyncCopies::at(uint32_t thread) {
  if (threads_.size() <= thread) threads_.resize(thread + 1);
  return threads_[thread];
}

uint32_t AsyncCopies::begin(uint32_t number) {
  Thread& thread = at(number);
  if (thread.begun <= thread.over()) ++pending_;
  thread.begun = thread.committed + 1;
  return thread.committed;
}

bool AsyncCopies::beginTogether(uint32_t first, uint32_t count, uint32_t& group) {
  group = at(first).committed;
  for (uint32_t k = 1; k < count; ++k)
    if (at(first + k).committed != group) return false;
  for (uint32_t k = 0; k < count; ++k) begin(first + k);
  return true;
}

void AsyncCopies::wait(uint32_t number, uint32_t left, uint32_t clock) {
  Thread& thread = at(number);
  finish(thread, thread.committed > left ? thread.committed - left : 0, clock);
}

void AsyncCopies::waitForAll(uint32_t number, uint32_t clock) {
  Thread& thread = at(number);
  finish(thread, ++thread.committed, clock);
}

void AsyncCopies::finish(Thread& thread, uint32_t groups, uint32_t clock) {
  const uint32_t before = thread.over();
  if (groups <= before) return;
  if (thread.begun > before && thread.begun <= groups) --pending_;
  if (!thread.waits.empty() && thread.waits.back().clock == clock) {
    thread.waits.back().groups = groups;
    return;
  }
  if (thread.waits.size() == kMostWaits) {
    thread.forgotten = thread.waits[kMostWaits / 2 - 1].groups;
    thread.waits.erase(thread.waits.begin(), thread.waits.begin() + kMostWaits / 2);
  }
  thread.waits.push_back({groups, clock});
}

bool AsyncCopies::ordered(uint32_t number, uint32_t group, uint32_t now, const Clocks& clocks) const {
  if (number >= threads_.size()) return true;
  const Thread& thread = threads_[number];
  if (group < thread.forgotten) return true;
  const auto wait = std::upper_bound(thread.waits.begin(), thread.waits.end(), group,
                                     [](uint32_t wanted, const Wait& w) { return wanted < w.groups; });
  return wait != thread.waits.end() && clocks.orderedSinceBegin(number, wait->clock, now);
}

}  // namespace vg::check
