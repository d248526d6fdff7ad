#include "replay/values.h"

#include <cstring>

namespace vg::replay {

using record::Kind;

namespace {

// Streams of no creation: the default ones.
bool meansTheSame(Kind kind, uint64_t value) {
  constexpr uint64_t kLastDefaultStream = 2;
  return !value || (kind == Kind::CUstream && value <= kLastDefaultStream);
}

// Smaller numbers in parameters are taken for numbers.
constexpr uint64_t kLeastObject = 1 << 16, kLeastInData = uint64_t{1} << 32;
constexpr size_t kTensorMap = 128, kTensorMapAlignment = 64;

template <class Exchange>
void eachWord(std::string& bytes, Exchange exchange) {
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const uint64_t now = exchange(word);
    if (now != word) std::memcpy(bytes.data() + at, &now, sizeof now);
  }
}

}  // namespace

void Values::bind(Kind kind, uint64_t recorded, uint64_t now) { handles_[static_cast<size_t>(kind)][recorded] = now; }

std::optional<uint64_t> Values::handle(Kind kind, uint64_t recorded) const {
  if (meansTheSame(kind, recorded)) return recorded;
  const auto& known = handles_[static_cast<size_t>(kind)];
  const auto found = known.find(recorded);
  if (found == known.end()) return std::nullopt;
  return found->second;
}

void Values::bindRange(uint64_t recorded, uint64_t size, uint64_t now) {
  const auto [first, fresh] = ranges_.insert_or_assign(recorded, Moved{size, now});
  (void)fresh;
  // What lay there before is gone.
  for (auto next = std::next(first); next != ranges_.end() && next->first < recorded + size;)
    next = ranges_.erase(next);
}

uint64_t Values::address(uint64_t recorded) const {
  auto after = ranges_.upper_bound(recorded);
  if (after == ranges_.begin()) return recorded;
  const auto& [start, moved] = *--after;
  return recorded - start < moved.size ? moved.now + (recorded - start) : recorded;
}

void Values::bindOpaque(std::string_view recorded, std::string_view now) { opaque_[std::string(recorded)] = now; }

const std::string* Values::opaque(std::string_view recorded) const {
  const auto found = opaque_.find(std::string(recorded));
  return found == opaque_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> Values::object(uint64_t recorded, uint64_t least) const {
  if (recorded < least) return std::nullopt;
  for (const Kind kind : {Kind::CUtexObject, Kind::CUsurfObject, Kind::CUgraphConditionalHandle, Kind::CUgraphExec,
                          Kind::CUgraphDeviceNode})
    if (const auto now = handle(kind, recorded)) return now;
  return std::nullopt;
}

void Values::exchangeParameters(std::string& bytes) const {
  for (size_t at = 0; !opaque_.empty() && at + kTensorMap <= bytes.size(); at += kTensorMapAlignment)
    if (const std::string* const now = opaque({bytes.data() + at, kTensorMap})) bytes.replace(at, kTensorMap, *now);
  eachWord(bytes, [this](uint64_t word) {
    const auto now = object(word, kLeastObject);
    return now ? *now : address(word);
  });
}

void Values::exchangeData(std::string& bytes) const {
  eachWord(bytes, [this](uint64_t word) {
    if (word < kLeastInData) return word;
    return object(word, kLeastInData).value_or(address(word));
  });
}

}  // namespace vg::replay
