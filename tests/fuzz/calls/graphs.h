// The graphs of a sequence and their nodes: "graph1.4" is the fifth node that lives in graph1.
#pragma once

#include <vector>

#include "modules.h"

namespace calls {

extern Slots<CUgraph, 4> graphs;
extern Slots<CUgraphExec, 3> executables;

struct Node {
  CUgraphNode object = nullptr;
  std::string name = "none";
  CUgraphNodeType type{};

  explicit operator bool() const { return object; }
};
CUgraphNode given(const char* name, const Node& node);  // with its type

class NodesOf {  // of one graph
 public:
  explicit NodesOf(const Named<CUgraph>& graph) : graph_(graph) {}
  Node any() const;
  Node likely(CUgraphNodeType type) const;  // most often one of this type, where there is one
  std::vector<CUgraphNode>& all() const;
  std::string nameOf(CUgraphNode node) const;
  std::string namesOf(const CUgraphNode* nodes, size_t count) const;

 private:
  const Named<CUgraph>& graph_;
};

// Some nodes that a new one comes after.
struct Dependencies {
  CUgraphNode nodes[3] = {};
  size_t count = 0;
};
Dependencies givenDependencies(const NodesOf& nodes);

void keepGraph(int slot, CUgraph graph, std::vector<CUgraphNode> nodes);
void forgetNode(const Named<CUgraph>& graph, CUgraphNode node);
CUdeviceptr& allocationOf(const Named<CUgraph>& graph);  // the last of its nodes

CUDA_MEMSET_NODE_PARAMS drawFill();  // describes what it draws
bool drawCopy(CUDA_MEMCPY3D& copy);  // false where there is nothing to copy
CUDA_KERNEL_NODE_PARAMS drawKernel(const Named<CUfunction>& function);

void CUDA_CB doNothing(void*);

}  // namespace calls
