// What a launch asks for beyond its function, its shape and its arguments, whichever way it comes: a stream, a capture,
// a node of a graph. Every attribute is checked in one place and kept, so that a node tells what its launch was given.
//
// Plain data. Where the vendor's driver takes a value in one way and refuses it in another, Way says which.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "backend/command.h"
#include "base/result.h"

namespace vg::core {

class Device;

class LaunchAttributes {
 public:
  enum class Way : uint8_t {
    Launch,  // cuLaunchKernelEx, captured or not
    Node,    // cuGraphKernelNodeSetAttribute
  };

  // Checks a value and keeps it. What depends on the grid is looked at when the launch is prepared
  // (backend::Kernel::prepare), and whether nodes can be changed by kernels is the node's (KernelNode::updatable).
  CUresult set(const CUlaunchAttribute& attribute, const Device& device, Way way);
  // Takes an attribute over where the launch says nothing itself.
  CUresult inherit(const CUlaunchAttribute& attribute, const Device& device);
  // A launch that names no policy for its clusters has the one that spreads them.
  void spreadClusters();
  // What cuGraphKernelNodeGetAttribute answers. CUDA_ERROR_INVALID_VALUE for what nodes do not tell.
  Result<CUlaunchAttributeValue> told(CUlaunchAttributeID id) const;

  // The shape with what the attributes say of it.
  backend::LaunchShape shaped(backend::LaunchShape shape) const;
  bool cooperative() const { return cooperative_ != 0; }
  // CUDA_ERROR_INVALID_CLUSTER_SIZE when clusters are asked for that the device does not have: larger ones than the
  // shape's where they fit.
  CUresult checkClusters(const Device& device) const;
  int priority() const { return priority_; }
  // The grid may begin when the one before it in its stream says so.
  bool programmatic() const { return programmatic_; }
  // Recorded when the grid has begun, or says so; null: none.
  CUevent event() const { return event_; }
  int eventFlags() const { return eventFlags_; }

  bool operator==(const LaunchAttributes& other) const;
  // Whether a node of an executable graph may become one with those attributes.
  bool mayBecome(const LaunchAttributes& other) const {
    return cooperative_ == other.cooperative_ && nvlinkScheduling_ == other.nvlinkScheduling_;
  }

 private:
  bool given(CUlaunchAttributeID id) const { return given_ >> id & 1; }
  CUresult keep(const CUlaunchAttribute& attribute, const Device& device, Way way);

  uint32_t given_ = 0;  // a bit for each id
  CUaccessPolicyWindow accessPolicy_{};
  int cooperative_ = 0;
  uint32_t cluster_[3] = {}, preferredCluster_[3] = {};  // zeros: none
  int clusterScheduling_ = 0;
  int priority_ = 0;
  CUlaunchMemSyncDomainMap domainMap_{0, 1};
  int domain_ = 0;
  unsigned sharedCarveout_ = 0;
  unsigned nvlinkScheduling_ = 0;
  int clusterSizeMode_ = 0, sharedMemoryMode_ = 0;
  bool programmatic_ = false;
  CUevent event_ = nullptr;
  int eventFlags_ = 0;
};

// The rules that streams have too.
CUresult checkAccessPolicy(const CUaccessPolicyWindow& window, const Device& device);
CUresult checkDomainMap(const CUlaunchMemSyncDomainMap& map, const Device& device);
CUresult checkDomain(int domain);

}  // namespace vg::core
