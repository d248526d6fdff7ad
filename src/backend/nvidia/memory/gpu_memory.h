// The memory of a GPU behind a window of addresses: video memory that the GPU and, through BAR1, the CPU see at the
// same addresses. The CPU sees of it what it has asked for, as that takes longer than all the rest and most memory is
// the GPU's alone; other GPUs that reach it copy by the CPU too, so with them the CPU sees it from the beginning.
//
// One commit is one object of the driver and goes back to it when all of it is decommitted: until then the parts that
// were decommitted stay as they are, and a commit of them takes them up again. A part that other processes were given
// becomes ours alone again only with all of its commit. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "alloc/memory_source.h"
#include "backend/nvidia/memory/sparse_video.h"
#include "backend/nvidia/memory/video_memory.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class GpuMemory final : public alloc::MemorySource {
 public:
  GpuMemory(Gpu& gpu, KnownRanges& known);
  ~GpuMemory();

  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;
  CUresult share(std::byte* start, size_t bytes, alloc::SharedMemory& shared) override;
  CUresult unshare(std::byte* start, size_t bytes) override;
  Result<alloc::PhysicalRef> create(size_t bytes, alloc::Sharing sharing, const char* label) override;
  Result<std::unique_ptr<alloc::SparseRange>> createSparse(std::byte* start, size_t bytes,
                                                           alloc::Holes holes) override {
    return SparseVideo::create(gpu_, known_, start, bytes, holes);
  }
  void trim() override { (void)gpu_.spare().trim(); }
  size_t available() override;
  Result<alloc::PhysicalRef> import(int descriptor) override {
    return VideoMemory::import(gpu_, mappings_, descriptor);
  }
  std::string labelOf(int descriptor) override { return VideoMemory::labelOf(gpu_, descriptor); }

  // Lets the CPU see all that there is in the range, mappings too; where it cannot, it faults. Cheap when it sees
  // everything. Whether it sees more than before.
  bool showToHost(const std::byte* start, size_t bytes);
  // Whether there is anything in the range that the CPU does not see.
  bool hidden(const std::byte* start, size_t bytes);
  // Whether the CPU is the one to touch a few bytes in the window: it sees them, or it was asked for so often that it
  // has been shown them now.
  bool atHand(const std::byte* start, size_t bytes);

  // What lies elsewhere than in the window.
  VideoMappings& mappings() { return mappings_; }
  // The other GPU reaches all of it, also what is to come, but mappings by grant.
  CUresult showTo(const Peers::Peer& peer);
  // Ends one showTo().
  void hideFrom(const Peers::Peer& peer);
  // The other GPU reaches what is committed in this range, now and later. Requires: no other range of this peer
  // overlaps.
  CUresult showTo(const Peers::Peer& peer, std::byte* start, size_t bytes);
  void hideFrom(const Peers::Peer& peer, std::byte* start);

 private:
  struct Piece {
    std::unique_ptr<Block> block;
    std::vector<bool> live;  // by huge page
    size_t liveCount = 0;
    size_t touches = 0;  // that found it out of the CPU's sight
  };
  // Calls visit(piece, first page, end page, address behind) for what is there, and missing(start, bytes) for gaps.
  template <class Visit, class Missing>
  CUresult each(std::byte* start, size_t bytes, Visit visit, Missing missing) VG_REQUIRES(mutex_);
  CUresult make(std::byte* start, size_t bytes) VG_REQUIRES(mutex_);
  CUresult reveal(Block& block) VG_REQUIRES(mutex_);
  // The piece that holds the whole range; pieces_.end() when none does.
  using Pieces = std::map<std::byte*, Piece>;
  Pieces::iterator pieceWith(const std::byte* start, size_t bytes) VG_REQUIRES(mutex_);
  Pieces::iterator end(Pieces::iterator piece) VG_REQUIRES(mutex_);
  void markLive(Piece& piece, size_t first, size_t end);
  std::vector<Block*> blocks() VG_REQUIRES(mutex_);
  // Ranges of these addresses that a GPU reaches besides what it reaches as a peer.
  struct SeenRange {
    Peers::Peer peer;
    std::byte* start;
    size_t bytes;
    bool holds(const Block& block) const { return block.start() >= start && block.start() < start + bytes; }
  };
  bool seenInRange(const Peers::Peer& peer, const Block& block) const VG_REQUIRES(mutex_);
  CUresult showToRanges(Block& block) VG_REQUIRES(mutex_);
  void hideFromRanges(const Block& block) VG_REQUIRES(mutex_);

  Gpu& gpu_;
  KnownRanges& known_;
  VideoMappings mappings_;
  std::atomic<size_t> unseen_{0};  // pieces that the CPU does not see
  Mutex mutex_;
  Peers peers_ VG_GUARDED_BY(mutex_);
  Pieces pieces_ VG_GUARDED_BY(mutex_);  // by start
  std::vector<SeenRange> ranges_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::backend::nvidia
