// What the groups about graphs share.
#pragma once

#include "probe.h"

#include <setjmp.h>

// A call that the driver may answer with a crash: then the answer is "crash" and the group goes on.
extern sigjmp_buf afterCrash;
void catchCrashes(void);
#define RISKY(name, call)                 \
  do {                                    \
    if (sigsetjmp(afterCrash, 1))         \
      fact(name, "crash");                \
    else                                  \
      fact(name, "%s", resultName(call)); \
  } while (0)

CUgraph newGraph(void);
// An empty node after one other or none.
CUgraphNode emptyAfter(CUgraph graph, CUgraphNode before);
// The letters of the nodes as they stand in `names`, '?' for others, '-' for NULL.
const char* letters(const CUgraphNode* nodes, size_t count, const CUgraphNode* names, size_t known);
CUDA_MEMCPY3D linearCopy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUDA_MEMSET_NODE_PARAMS byteFill(CUdeviceptr to, unsigned value, size_t bytes);
CUDA_KERNEL_NODE_PARAMS kernelNode(CUfunction function, void** arguments);
// An executable graph or NULL.
CUgraphExec instantiated(CUgraph graph);
