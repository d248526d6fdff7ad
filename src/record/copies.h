// Copies to the host whose results have not been looked at: they may still be under way.
//
// A result is recorded when the program has waited for it: for the stream, the context, or an event behind the copy.
// All functions: under the recorder's lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/host_memory.h"
#include "record/recording.h"
#include "record/writer.h"

namespace vg::record {

class Copies {
 public:
  Copies(Writer& writer, HostMemory& memory, bool contents) : writer_(writer), memory_(memory), contents_(contents) {}

  // A copy of the call `number` is done now.
  void done(uint64_t number, const Region& region);
  // It will be done when `stream` gets there.
  void pending(uint64_t number, const Region& region, uint64_t stream) { pending_.push_back({number, region, stream}); }

  // Work was given to the stream.
  void busy(uint64_t stream, uint64_t number) { busy_[stream] = number; }
  // Whether work that may write to a range is under way.
  bool underWay(const MemoryRange& range) const;
  // An event was recorded there.
  void record(uint64_t event, uint64_t stream, uint64_t number) { events_[event] = {stream, number}; }

  // Somebody waited for it. Looks at what the host sees, too, where nothing is under way any more.
  void streamDone(uint64_t stream);
  void eventDone(uint64_t event);
  void allDone();

 private:
  struct Pending {
    uint64_t number;
    Region region;
    uint64_t stream;
  };
  struct Mark {
    uint64_t stream, number;
  };
  template <class Which>
  void finish(Which which);

  Writer& writer_;
  HostMemory& memory_;
  const bool contents_;
  std::vector<Pending> pending_;
  std::unordered_map<uint64_t, uint64_t> busy_;  // stream -> the last call that gave it work
  std::unordered_map<uint64_t, Mark> events_;
};

// The rows of a region one behind the other.
std::string gather(const Region& region, const char* start);
uint64_t hashOf(std::string_view bytes);

}  // namespace vg::record
