// Which functions the kernel nodes of an executable graph may be changed to: what a kernel calls of the device runtime
// is prepared for when the graph is instantiated. Requires graphs::Lock.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "backend/device.h"
#include "core/graphs/graph.h"

namespace vg::core {

// What the node's function may call; nothing where it is not there any more.
backend::Kernel::Calls callsOf(const KernelNode& node);

class GraphFunctions {
 public:
  // `image` as it is instantiated; `forKernels`: for device launch.
  GraphFunctions(const Graph& image, bool forKernels);
  bool permits(const GraphNode& node, const KernelNode& other) const;

 private:
  void note(const Graph& graph);

  const bool forKernels_;
  bool launchGraphs_ = false;                                         // some
  std::unordered_map<uint64_t, backend::Kernel::Calls> atBeginning_;  // by node; not of those that call nothing
};

}  // namespace vg::core
