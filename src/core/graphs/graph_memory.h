// Memory of graphs: an allocation node has its address from the moment it is added, for as long as its graph or an
// executable graph of it lives; launching makes the memory live, a free node or the application ends that again.
//
// Here the memory is there all the time: "live" decides only what may be launched, freed, and named by other calls. A
// later allocation of the same graph takes over the address of one that is freed before it. Memory that no graph has
// any more goes back when it is not live and the work that came before its last free is done.
//
// All functions require graphs::Lock, but releaseByUser, which takes it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "base/sync/timeline.h"
#include "core/graphs/graph.h"

namespace vg::core {

class Device;

class GraphMemory {
 public:
  GraphMemory(Device& device, CUdeviceptr address, uint64_t id, size_t bytes)
      : device_(device), address_(address), id_(id), bytes_(bytes) {}
  GraphMemory(const GraphMemory&) = delete;
  ~GraphMemory();

  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }
  Device& device() const { return device_; }
  bool live() const { return live_; }

 private:
  friend struct GraphMemoryLife;
  Device& device_;
  const CUdeviceptr address_;
  const uint64_t id_;  // of its record
  const size_t bytes_;
  bool live_ = false;
  Point inUse_;  // work before it may use the memory, which is not live any more
};

namespace graphs {

// Whether a graph can have such memory at all.
CUresult checkAlloc(const CUDA_MEM_ALLOC_NODE_PARAMS* params);
// cuGraphAddMemAllocNode: sets dptr. CUDA_ERROR_OUT_OF_MEMORY when there is no room for it at all,
// CUDA_ERROR_NOT_SUPPORTED for memory that is to be shared.
Result<NodeParams> describeAlloc(Graph& graph, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                                 const std::vector<Dependency>& dependencies);
// cuGraphAddMemFreeNode: memory of an allocation node of this graph or of another one. What the node comes after is not
// asked, as with the vendor's driver.
Result<NodeParams> describeFree(Graph& graph, CUdeviceptr address, const std::vector<Dependency>& dependencies);

// The memory of graphs that starts at the address, or null.
std::shared_ptr<GraphMemory> findMemory(CUdeviceptr address);
// `inUse`: when memory that ends is free of work.
void setLive(const std::shared_ptr<GraphMemory>& memory, bool live, Point inUse);
// For a launch that has just been made: what the device has set aside for graphs grows to what is live.
void accountLaunch(Device& device);

// cuMemFree and cuMemFreeAsync of such memory, which work may use until `inUse`. CUDA_ERROR_INVALID_VALUE when it is
// not live.
CUresult releaseByUser(CUdeviceptr address, Point inUse);

// cuDeviceGetGraphMemAttribute and its kin.
Result<uint64_t> memoryAttribute(Device& device, CUgraphMem_attribute which);
CUresult setMemoryAttribute(Device& device, CUgraphMem_attribute which, uint64_t value);
void trimMemory(Device& device);

}  // namespace graphs
}  // namespace vg::core
