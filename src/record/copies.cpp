#include "record/copies.h"

#include <algorithm>

#include "record/bytes.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vg::record {

std::string gather(const Region& region, const char* start) {
  std::string bytes;
  bytes.reserve(region.width * region.height * region.depth);
  for (uint64_t plane = 0; plane < region.depth; ++plane)
    for (uint64_t row = 0; row < region.height; ++row)
      bytes.append(start + plane * region.slice + row * region.pitch, region.width);
  return bytes;
}

uint64_t hashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void Copies::done(uint64_t number, const Region& region) {
  const std::string bytes = gather(region, reinterpret_cast<const char*>(region.start));
  memory_.forget(region.start, region.span());
  Encoder record;
  record.put(Tag::CopyDone).put(number).put(hashOf(bytes)).put<uint64_t>(contents_ ? bytes.size() : 0);
  if (contents_ && !writer_.data(record, bytes.data(), bytes.size())) return;
  writer_.append(record.bytes());
}

template <class Which>
void Copies::finish(Which which) {
  const auto rest =
      std::stable_partition(pending_.begin(), pending_.end(), [&](const Pending& copy) { return !which(copy); });
  for (auto copy = rest; copy != pending_.end(); ++copy) done(copy->number, copy->region);
  pending_.erase(rest, pending_.end());
  if (busy_.empty()) memory_.tellResults();
}

bool Copies::underWay(const MemoryRange& range) const {
  for (const uint64_t stream : range.writers)
    if (stream == kAnyStream ? !busy_.empty() : busy_.count(stream) > 0) return true;
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& copy) {
    return copy.region.start < range.address + range.size && range.address < copy.region.start + copy.region.span();
  });
}

void Copies::streamDone(uint64_t stream) {
  busy_.erase(stream);
  finish([stream](const Pending& copy) { return copy.stream == stream; });
}

void Copies::eventDone(uint64_t event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  const Mark mark = found->second;
  const auto last = busy_.find(mark.stream);
  if (last == busy_.end() || last->second < mark.number) return streamDone(mark.stream);
  finish([mark](const Pending& copy) { return copy.stream == mark.stream && copy.number < mark.number; });
}

void Copies::allDone() {
  busy_.clear();
  finish([](const Pending&) { return true; });
}

}  // namespace vg::record
