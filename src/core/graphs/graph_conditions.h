// The handles of conditional nodes: the values that they begin with, by graph. Graphs are named by their ids.
//
// All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/result.h"

namespace vg::core::graphs {

struct Condition {
  uint64_t graph;     // that it was made for
  unsigned initial;   // at launch, with `assigned`
  bool assigned;      // CU_GRAPH_COND_ASSIGN_DEFAULT
  bool used = false;  // a node has it
};

Result<CUgraphConditionalHandle> createCondition(uint64_t graph, unsigned initial, unsigned flags);
// Null for what is no handle.
const Condition* findCondition(CUgraphConditionalHandle handle);
// True when a handle of the graph has no node: such a graph cannot be instantiated.
bool hasUnusedCondition(uint64_t graph);
void dropConditions(uint64_t graph);
// A node has the handle from now on; the node that has it is destroyed.
void useCondition(CUgraphConditionalHandle handle);
void releaseCondition(CUgraphConditionalHandle handle);

}  // namespace vg::core::graphs
