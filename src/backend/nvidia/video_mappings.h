// Where video memory is mapped besides a heap's window: by virtual memory management, and what other processes share.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "backend/nvidia/peers.h"

namespace vg::backend::nvidia {

class VideoMappings {
 public:
  explicit VideoMappings(KnownRanges& known) : peers_(known) {}

  // Requires: reserved addresses that show nothing; multiples of 4 KiB inside the object.
  CUresult map(std::byte* start, const std::shared_ptr<const MemoryObject>& memory, size_t offset, size_t bytes,
               bool readOnly);
  // Of all mappings in the range.
  CUresult setReadOnly(std::byte* start, size_t bytes, bool readOnly);
  // Ends all mappings in the range.
  void unmap(std::byte* start, size_t bytes);
  // The other GPU reaches all of them, also those to come.
  CUresult showTo(const Peers::Peer& peer);

 private:
  std::mutex mutex_;
  Peers peers_;                                          // guarded by mutex_
  std::map<std::byte*, std::unique_ptr<Block>> blocks_;  // by start; guarded by mutex_
};

}  // namespace vg::backend::nvidia
