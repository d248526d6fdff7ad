// The occupancy calculator.
#include "core/modules/occupancy.h"

#include "api/entry/call.h"
#include "core/modules/kernel.h"

namespace vg::handlers {
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(const Call&, int* numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags) {
  if (!numBlocks) return missing("numBlocks");
  VG_TRY(core::Function & function, core::findFunction(func));
  VG_TRY(*numBlocks, core::occupancy::activeBlocks(function, blockSize, dynamicSMemSize, flags));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(const Call& call, int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(call, numBlocks, func, blockSize, dynamicSMemSize,
                                                              CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(const Call&, int* minGridSize, int* blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags) {
  if (!minGridSize) return missing("minGridSize");
  if (!blockSize) return missing("blockSize");
  VG_TRY(core::Function & function, core::findFunction(func));
  VG_TRY(const core::occupancy::Suggestion best,
         core::occupancy::bestBlockSize(function, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, flags));
  *minGridSize = best.gridSize;
  *blockSize = best.blockSize;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(const Call& call, int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                          int blockSizeLimit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(call, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                   dynamicSMemSize, blockSizeLimit, CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(const Call&, size_t* dynamicSmemSize, CUfunction func, int numBlocks,
                                                 int blockSize) {
  if (!dynamicSmemSize) return missing("dynamicSmemSize");
  VG_TRY(core::Function & function, core::findFunction(func));
  VG_TRY(*dynamicSmemSize, core::occupancy::availableShared(function, numBlocks, blockSize));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(const Call&, int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  if (!numClusters) return missing("numClusters");
  if (!config) return missing("config");
  VG_TRY(core::Function & function, core::findFunction(func));
  VG_TRY(*numClusters, core::occupancy::activeClusters(function, *config));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(const Call&, int* clusterSize, CUfunction func,
                                            const CUlaunchConfig* config) {
  if (!clusterSize) return missing("clusterSize");
  if (!config) return missing("config");
  VG_TRY(core::Function & function, core::findFunction(func));
  VG_TRY(*clusterSize, core::occupancy::potentialClusterSize(function, *config));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
