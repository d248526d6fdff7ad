// Kernel nodes of graphs that kernels may change: arguments, grid, and whether they run at all.
//
// Core makes one for each node that is to be changed so and tells it what the node is whenever a graph with it is
// uploaded or launched; kernels name it by its address, as of cudaGraphDeviceNode_t, and may hand in any number. Its
// launches ask it when they begin what they are. Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/command.h"
#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::backend {

class UpdatableNode {
 public:
  static std::shared_ptr<UpdatableNode> make();
  UpdatableNode() = default;
  UpdatableNode(const UpdatableNode&) = delete;

  uint64_t handle() const { return reinterpret_cast<uint64_t>(this); }

  // What the host has made of the node. `version` counts the host's changes: one that is known already leaves alone
  // what kernels have changed since.
  void set(uint64_t version, const LaunchRecord& record, bool enabled);
  // No executable graph has the node any more.
  void end();

  // The launch that the node is now, with its own copy of the arguments, in `graph`; null: none, it is switched off.
  struct Free {
    void operator()(LaunchRecord* record) const;
  };
  using OwnRecord = std::unique_ptr<LaunchRecord, Free>;
  Result<OwnRecord> now(GraphRun* graph) const;

  // What kernels do. CUDA_ERROR_INVALID_VALUE for what is no living node, and for values that the node cannot have.
  // Whether it has arguments in so many bytes there.
  static CUresult hasParameters(uint64_t handle, size_t offset, size_t size);
  static CUresult setParameter(uint64_t handle, size_t offset, const void* bytes, size_t size);
  static CUresult setEnabled(uint64_t handle, bool on);
  static CUresult canHaveGrid(uint64_t handle, const uint32_t (&grid)[3], const uint32_t (&limits)[3]);
  static CUresult setGrid(uint64_t handle, const uint32_t (&grid)[3], const uint32_t (&limits)[3]);

 private:
  static Result<UpdatableNode&> find(uint64_t handle) VG_REQUIRES(mutex_);
  CUresult checkRange(size_t offset, size_t size) const VG_REQUIRES(mutex_);
  CUresult checkGrid(const uint32_t (&grid)[3], const uint32_t (&limits)[3]) const VG_REQUIRES(mutex_);

  static Mutex mutex_;  // of all nodes
  bool living_ VG_GUARDED_BY(mutex_) = false, enabled_ VG_GUARDED_BY(mutex_) = false;
  uint64_t version_ VG_GUARDED_BY(mutex_) = 0;
  LaunchRecord record_ VG_GUARDED_BY(mutex_);
  std::vector<std::byte> arguments_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::backend
