#include "alloc/pieces.h"

#include <algorithm>
#include <bit>

#include "base/memory/own_memory.h"

namespace vg::alloc {
namespace {

constexpr uint32_t kTries = 16;  // pieces of one bin that are looked at, as not all of it need be large enough

}  // namespace

Pieces::~Pieces() {
  if (entries_) own_memory::give(entries_, size_t{count_} * sizeof(Entry));
}

bool Pieces::begin(uint32_t granules) {
  if (!granules) return false;
  auto* const entries = reinterpret_cast<Entry*>(own_memory::take(size_t{granules} * sizeof(Entry)));
  if (!entries) return false;
  entries_ = entries;
  count_ = granules;
  std::fill_n(bins_, kBins, kNone);
  addFree(0, granules);
  return true;
}

// Up to kSteps - 1 each size has a bin of its own.
uint32_t Pieces::binOf(uint32_t granules) {
  constexpr uint32_t kBits = std::bit_width(kSteps) - 1;
  if (granules < kSteps) return granules;
  const auto above = static_cast<uint32_t>(std::bit_width(granules)) - 1 - kBits;
  return (above + 1) * kSteps + (granules >> above) - kSteps;
}

uint32_t Pieces::firstBinFrom(uint32_t bin) const {
  for (uint32_t word = bin / 64; word < kWords; ++word) {
    const uint64_t left = word == bin / 64 ? filled_[word] & ~uint64_t{0} << bin % 64 : filled_[word];
    if (left) return word * 64 + static_cast<uint32_t>(std::countr_zero(left));
  }
  return kBins;
}

// Among those of nearly this size first; all pieces of a higher bin are large enough.
uint32_t Pieces::find(uint32_t granules) const {
  uint32_t at = bins_[binOf(granules)];
  for (uint32_t n = 0; at != kNone && n < kTries; ++n, at = entries_[at].next)
    if (entries_[at].granules >= granules) return at;
  const uint32_t bin = firstBinFrom(binOf(granules) + 1);
  if (bin < kBins) return bins_[bin];
  for (; at != kNone; at = entries_[at].next)
    if (entries_[at].granules >= granules) return at;
  return kNone;
}

void Pieces::addFree(uint32_t first, uint32_t granules) {
  const uint32_t bin = binOf(granules), next = bins_[bin];
  entries_[first + granules - 1] = {granules, State::FreeEnd, kNone, kNone};
  entries_[first] = {granules, State::Free, next, kNone};
  if (next != kNone) entries_[next].previous = first;
  bins_[bin] = first;
  filled_[bin / 64] |= uint64_t{1} << bin % 64;
}

void Pieces::removeFree(uint32_t first) {
  const Entry entry = entries_[first];
  const uint32_t bin = binOf(entry.granules);
  if (entry.next != kNone) entries_[entry.next].previous = entry.previous;
  (entry.previous == kNone ? bins_[bin] : entries_[entry.previous].next) = entry.next;
  if (bins_[bin] == kNone) filled_[bin / 64] &= ~(uint64_t{1} << bin % 64);
  entries_[first + entry.granules - 1].state = State::Inside;
  entries_[first].state = State::Inside;
}

uint32_t Pieces::take(uint32_t granules) {
  if (granules > count_) return kNone;
  const uint32_t first = find(granules);
  if (first == kNone) return kNone;
  const uint32_t all = entries_[first].granules;
  removeFree(first);
  if (all > granules) addFree(first + granules, all - granules);
  entries_[first] = {granules, State::Taken, kNone, kNone};
  return first;
}

bool Pieces::give(uint32_t first) {
  if (first >= count_ || entries_[first].state != State::Taken) return false;
  uint32_t begin = first, end = first + entries_[first].granules;
  entries_[first].state = State::Inside;
  if (end < count_ && entries_[end].state == State::Free) {
    const uint32_t behind = entries_[end].granules;
    removeFree(end);
    end += behind;
  }
  // The end of the free piece before; one of a single granule is its beginning as well.
  if (begin && (entries_[begin - 1].state == State::FreeEnd || entries_[begin - 1].state == State::Free)) {
    const uint32_t before = begin - entries_[begin - 1].granules;
    removeFree(before);
    begin = before;
  }
  addFree(begin, end - begin);
  return true;
}

}  // namespace vg::alloc
