// Where video memory is mapped besides a heap's window: by virtual memory management, which says of each GPU what it
// may do, and what other processes share, which its own GPU and all peers reach. The host sees of it what it has asked
// for, as that costs as much as the GPU's mapping and few programs need it. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "alloc/physical_memory.h"
#include "backend/nvidia/memory/peers.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class VideoMappings {
 public:
  explicit VideoMappings(KnownRanges& known) : peers_(known) {}

  // For the own GPU and the peers, or for those that grant() names. Requires: reserved addresses that show nothing;
  // multiples of 4 KiB inside the object.
  CUresult map(std::byte* start, const std::shared_ptr<const MemoryObject>& memory, size_t offset, size_t bytes,
               bool byGrant);
  // What a GPU, the own one or another, may do with all mappings in the range from now on. Requires: they are by grant;
  // no work of the GPU needs what is taken away. CUDA_ERROR_OUT_OF_MEMORY changes nothing; taking away never fails.
  CUresult grant(const Peers::Peer& to, std::byte* start, size_t bytes, alloc::Protection protection);
  // Ends all mappings in the range.
  void unmap(std::byte* start, size_t bytes);
  // Lets the host see all mappings in the range; where it cannot, it faults. Cheap when it sees all there are.
  // Whether it sees more than before.
  bool showToHost(const std::byte* start, size_t bytes);
  // Whether it does not in this range.
  bool hidden(const std::byte* start, size_t bytes);
  // The other GPU reaches all that are not by grant, also those to come; then the host sees all of them, too.
  CUresult showTo(const Peers::Peer& peer);
  // Ends one showTo().
  void hideFrom(const Peers::Peer& peer);

 private:
  struct Shown {
    std::unique_ptr<Block> block;
    bool byGrant = false;
    std::vector<Peers::Peer> granted;
  };
  using Blocks = std::map<const std::byte*, Shown>;
  Blocks::iterator firstIn(const std::byte* start) VG_REQUIRES(mutex_);
  CUresult grant(const Peers::Peer& to, Shown& shown, alloc::Protection protection) VG_REQUIRES(mutex_);
  std::vector<Block*> forPeers() VG_REQUIRES(mutex_);
  CUresult show(Block& block) VG_REQUIRES(mutex_);

  std::atomic<size_t> unseen_{0};  // blocks that the host does not see
  Mutex mutex_;
  Peers peers_ VG_GUARDED_BY(mutex_);
  Blocks blocks_ VG_GUARDED_BY(mutex_);        // by start
  size_t hasPeers_ VG_GUARDED_BY(mutex_) = 0;  // how often
};

}  // namespace vg::backend::nvidia
