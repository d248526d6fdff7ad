// Grids that lie ready in video memory, to be run as often as one likes, one run at a time. Of a chain each schedules
// the next one; the last of a chain counts itself. A section of chains begins when all chains of the one before it have
// counted themselves. So a run is sent with a few words for each chain, however long chains are.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/nvidia/channel/channel.h"
#include "backend/nvidia/compute/written_grid.h"

namespace vg::backend::nvidia {

class PreparedGrids {
 public:
  // As ChainedLaunch has it.
  struct Item {
    GridContents contents;
    uint32_t section = 0;
    bool follows = false;
    bool early = false;  // may begin when the one that it follows says so
  };

  // CUDA_ERROR_NOT_SUPPORTED: they cannot be prepared, or a run would take more submissions than go together.
  // Requires: at least one item.
  static Result<std::unique_ptr<PreparedGrids>> create(Gpu& gpu, Addresses& addresses, const ComputeFacts& facts,
                                                       std::span<const Item> items);
  PreparedGrids(const PreparedGrids&) = delete;

  // Submissions that a run takes.
  uint64_t parts() const { return parts_; }
  // Writes a run to `push`, behind what is there, and submits all parts of it but the last one, which is then in
  // `push`.
  CUresult send(Channel& channel, Push& push);
  // Whether the next run is the first: then caches may hold what was at the grids' addresses before.
  bool isNew() const { return !counted_; }
  // The descriptor that a run begins with.
  uint64_t first() const { return heads_.front(); }
  // Where the grids look for what is known of textures.
  uint64_t descriptions() const { return descriptions_; }

 private:
  PreparedGrids() = default;
  void write(const ComputeFacts& facts, std::span<const Item> items, uint32_t latch);

  std::unique_ptr<Block> memory_;
  std::vector<uint64_t> heads_;   // descriptors of the first grid of each chain
  std::vector<uint32_t> chains_;  // of each section
  uint64_t parts_ = 0, descriptions_ = 0;
  uint32_t counted_ = 0;  // chains of all runs, modulo 2^32
};

}  // namespace vg::backend::nvidia
