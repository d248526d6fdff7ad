// NVTX's ranges that are started and ended by number, in the order in which a reader gets their records: that of each
// thread, but the start of a range may come behind its end, which another thread has told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "activity/record.h"

namespace vg::activity {

class OpenRanges {
 public:
  // Whether this is an end whose start is still to come. Then it is kept until ended() asks for it.
  bool keep(const Note& end) {
    if (names_.contains(end.id)) return false;
    if (names_.size() >= kMostNames || ends_.size() >= kMostEnds) return false;  // it may never come
    return ends_.emplace(end.id, end).second;
  }
  void start(const Note& note) {
    if (names_.size() < kMostNames) names_.emplace(note.id, note.name.view());
  }
  // The name of what ends; "" where it is not known.
  std::string end(uint64_t id) {
    const auto found = names_.extract(id);
    return found ? std::move(found.mapped()) : std::string();
  }
  // Calls write(end) if the end of the range that has started was kept.
  template <class Write>
  void ended(uint64_t id, Write write) {
    if (const auto kept = ends_.extract(id)) write(kept.mapped());
  }
  // The same with all that are kept. They are not any more.
  template <class Write>
  void endAll(Write write) {
    for (const auto& [id, end] : std::exchange(ends_, {})) write(end);
  }

 private:
  static constexpr size_t kMostNames = 1 << 16, kMostEnds = 1 << 12;

  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_map<uint64_t, Note> ends_;  // without texts
};

}  // namespace vg::activity
