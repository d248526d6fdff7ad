// Launch attributes of kernel nodes. All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"

namespace vg::core::graphs {

// CU_LAUNCH_ATTRIBUTE_* of kernel nodes. CUDA_ERROR_INVALID_VALUE for those that kernel nodes do not have.
CUresult kernelAttribute(const KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& value);
CUresult setKernelAttribute(KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& value);

}  // namespace vg::core::graphs
