// Where video memory is mapped besides a heap's window: by virtual memory management, and what other processes share.
// The host sees of it what it has asked for, as that costs as much as the GPU's mapping and few programs need it.
// Thread-safe.
#pragma once

#include <atomic>
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
  // Lets the host see all mappings in the range; where it cannot, it faults. Cheap when it sees all there are.
  void showToHost(const std::byte* start, size_t bytes);
  // The other GPU reaches all of them, also those to come; then the host sees all of them, too.
  CUresult showTo(const Peers::Peer& peer);

 private:
  using Blocks = std::map<const std::byte*, std::unique_ptr<Block>>;
  Blocks::iterator firstIn(const std::byte* start);
  CUresult show(Block& block);

  std::atomic<size_t> unseen_{0};  // blocks that the host does not see
  std::mutex mutex_;
  Peers peers_;            // guarded by mutex_
  Blocks blocks_;          // by start; guarded by mutex_
  bool hasPeers_ = false;  // guarded by mutex_
};

}  // namespace vg::backend::nvidia
