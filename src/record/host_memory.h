// Memory that a program has, as far as a recording has to know it, and what the host writes where devices may read it.
//
// Of host memory that devices see a copy is kept: what the recording has of it. Before work that may read the memory
// the two are compared, line by line, and what differs is recorded. After work that may have written it, too: then the
// record says that it is a result. While work that may write it is under way, what the host wrote and what a device did
// cannot be told apart: a replay then takes what is recorded only where nothing else has come meanwhile.
//
// All functions: under the recorder's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "record/recording.h"
#include "record/writer.h"

namespace vg::record {

struct MemoryRange {
  uint64_t address = 0, size = 0;
  RangeKind kind = RangeKind::Device;
  char* known = nullptr;  // as the recording has it; null: the host does not see it, or there is no memory for this
  std::set<uint64_t> writers;  // streams of kernels that were given its address; kAnyStream: of graphs

  bool contains(uint64_t at) const { return at - address < size; }
};

inline constexpr uint64_t kAnyStream = 0;

// What a record of host memory is to a replay.
enum class Change : uint8_t { ByHost, ByDevice, ByEither };

class HostMemory {
 public:
  // `underWay`: whether work that may write to a range is.
  HostMemory(Writer& writer, std::function<bool(const MemoryRange&)> underWay)
      : writer_(writer), underWay_(std::move(underWay)) {}

  void add(uint32_t thread, uint64_t address, uint64_t size, RangeKind kind, int device);
  void remove(uint64_t address);
  // Null: nobody told of memory there.
  MemoryRange* find(uint64_t address);

  // Records what the host wrote to a part of a range.
  void tell(MemoryRange& range, uint64_t address, uint64_t size) {
    compare(range, address, size, underWay_(range) ? Change::ByEither : Change::ByHost);
  }
  // To all ranges, unless that was done since the last result.
  void tellRest();
  // Somebody has written to them.
  void restChanged() { restTold_ = false; }
  // What is there now is a result of the device.
  void tellResults();
  // A copy to the host was compared by itself.
  void forget(uint64_t address, uint64_t size);

 private:
  void compare(MemoryRange& range, uint64_t address, uint64_t size, Change change);
  void compareLines(MemoryRange& range, uint64_t address, const char* now, size_t size, Change change);
  void write(uint64_t address, const char* now, char* known, size_t size, Change change);

  Writer& writer_;
  const std::function<bool(const MemoryRange&)> underWay_;
  std::map<uint64_t, MemoryRange> ranges_;
  bool restTold_ = false;
};

}  // namespace vg::record
