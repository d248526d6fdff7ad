// A graph as a DOT file, in the words of the vendor's driver: tools read them.
#pragma once

#include <cuda.h>

#include <string>

#include "core/graphs/graph.h"

namespace vg::core::graphs {

// flags: CU_GRAPH_DEBUG_DOT_FLAGS_*. Requires: Lock.
std::string dot(const Graph& graph, unsigned flags);

}  // namespace vg::core::graphs
