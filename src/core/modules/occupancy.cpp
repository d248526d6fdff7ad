#include "core/modules/occupancy.h"

#include <algorithm>
#include <bit>

#include "backend/launches/occupancy.h"
#include "core/contexts/context.h"
#include "core/contexts/green_context.h"
#include "core/modules/kernel.h"
#include "core/modules/module.h"
#include "core/process/device.h"
#include "core/work/launch.h"
#include "core/work/launch_attributes.h"

namespace vg::core::occupancy {
namespace {

constexpr int kWarp = 32;
constexpr int kPortableClusterBlocks = 8, kMostClusterBlocks = 16;
constexpr int kClusterBlocksOfMultiprocessor = 8;  // at most, however small they are (H100)
constexpr int kSharedUnit = 128;                   // bytes; of allocation

const Device& deviceOf(Function& function) { return function.context().device(); }
const backend::Traits& traitsOf(Function& function) { return deviceOf(function).backend().traits(); }

CUresult checkFlags(unsigned flags) {
  if (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
    return fail(CUDA_ERROR_INVALID_VALUE, "occupancy flags %#x", flags);
  return CUDA_SUCCESS;
}

}  // namespace

Result<int> activeBlocks(Function& function, int blockSize, size_t dynamicShared, unsigned flags) {
  VG_CHECK(checkFlags(flags));
  return function.kernel().occupancy(blockSize, dynamicShared);
}

Result<Suggestion> bestBlockSize(Function& function, CUoccupancyB2DSize sizeFor, size_t dynamicShared, int limit,
                                 unsigned flags) {
  VG_CHECK(checkFlags(flags));
  if (limit < 0) return fail(CUDA_ERROR_INVALID_VALUE, "block size limit %d", limit);
  VG_TRY(int most, function.kernel().attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  if (limit) most = std::min(most, limit);
  const backend::Traits& traits = traitsOf(function);
  const int full = traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  int bestThreads = 0, bestBlock = 0, bestCount = 0;
  // From the largest down; of equally good ones the largest.
  for (int aligned = (most + kWarp - 1) / kWarp * kWarp; aligned > 0 && bestThreads < full; aligned -= kWarp) {
    const int block = std::min(aligned, most);
    const size_t shared = sizeFor ? sizeFor(block) : dynamicShared;
    VG_TRY(const int count, function.kernel().occupancy(block, shared));
    if (count * block <= bestThreads) continue;
    bestThreads = count * block;
    bestBlock = block;
    bestCount = count;
  }
  return Suggestion{bestCount * static_cast<int>(currentMultiprocessors(deviceOf(function))), bestBlock};
}

Result<size_t> availableShared(Function& function, int blocks, int blockSize) {
  if (blocks <= 0 || blockSize <= 0)
    return fail(CUDA_ERROR_INVALID_VALUE, "%d blocks of %d threads", blocks, blockSize);
  const backend::Traits& traits = traitsOf(function);
  VG_TRY(const int fit, function.kernel().occupancy(blockSize, 0));
  if (blocks > fit) return fail(CUDA_ERROR_INVALID_VALUE, "%d blocks of %d threads do not fit", blocks, blockSize);
  VG_TRY(const int fixed, function.kernel().attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  VG_TRY(const int most, function.kernel().attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  const int preferred = blocks > 1 ? function.kernel().preferredShared() : -1;  // one block gets what it wants
  const int all = static_cast<int>(backend::occupancy::sharedOfMultiprocessor(traits, preferred, 0));
  const int each = all / blocks / kSharedUnit * kSharedUnit;
  return static_cast<size_t>(std::clamp(each - fixed, 0, most));
}

static uint32_t most(Function& function, CUdevice_attribute first, int axis) {
  return static_cast<uint32_t>(traitsOf(function).attribute(static_cast<CUdevice_attribute>(first + axis)));
}

// Blocks that the whole device holds at once: none of those that are too large.
static Result<int> residentBlocks(Function& function, const backend::LaunchShape& shape) {
  const uint32_t(&block)[3] = shape.block;
  if (!block[0] || !block[1] || !block[2])
    return fail(CUDA_ERROR_INVALID_VALUE, "a block of %u x %u x %u threads", block[0], block[1], block[2]);
  const uint32_t threads = block[0] * block[1] * block[2];
  if (threads >> 31) return fail(CUDA_ERROR_INVALID_VALUE, "blocks of %u threads", threads);
  for (int axis = 0; axis < 3; ++axis)
    if (block[axis] > most(function, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, axis)) return 0;
  if (threads > most(function, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)) return 0;
  VG_TRY(const int blocks, function.kernel().occupancy(static_cast<int>(threads), shape.dynamicShared));
  return blocks * traitsOf(function).attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

static Result<int> largestCluster(Function& function) {
  VG_TRY(const int allowed, function.kernel().attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
  return allowed ? kMostClusterBlocks : kPortableClusterBlocks;
}

// Blocks of the clusters that the configuration or the kernel asks for, of which the grid must be made; 0: none.
static Result<int> clusterBlocks(Function& function, const backend::LaunchShape& shape) {
  int size = 1;
  bool asked = shape.clustered;
  for (int axis = 0; axis < 3; ++axis) {
    VG_TRY(const int required, function.kernel().attribute(
                                   static_cast<CUfunction_attribute>(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + axis)));
    const unsigned width = required ? static_cast<unsigned>(required) : shape.cluster[axis];
    asked |= required != 0;
    if (!width || shape.grid[axis] % width)
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a grid of %u blocks is not made of clusters of %u",
                  shape.grid[axis], width);
    size *= static_cast<int>(std::min(width, 64u));
  }
  return asked ? size : 0;
}

// The shape that the configuration means. The vendor's driver looks at attributes, then at the grid, then at clusters,
// and at blocks behind them.
static Result<backend::LaunchShape> shapeOf(Function& function, const CUlaunchConfig& config) {
  const Device& device = deviceOf(function);
  LaunchAttributes attributes;
  VG_TRY(const work::LaunchCall call, work::callOf(config, device, attributes));
  for (int axis = 0; axis < 3; ++axis)
    if (call.shape.grid[axis] - 1 >= most(function, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, axis))
      return fail(CUDA_ERROR_INVALID_VALUE, "a grid of %u blocks along axis %d", call.shape.grid[axis], axis);
  VG_CHECK(attributes.checkClusters(device));
  return call.shape;
}

Result<int> activeClusters(Function& function, const CUlaunchConfig& config) {
  VG_TRY(const backend::LaunchShape shape, shapeOf(function, config));
  VG_TRY(const int size, clusterBlocks(function, shape));
  VG_TRY(const int blocks, residentBlocks(function, shape));
  if (!size) return 0;
  VG_TRY(const int most, largestCluster(function));
  // A kernel that may have clusters of any size learns how many of any size there are, and be it none.
  if (size > most && most == kPortableClusterBlocks)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters of %d blocks, at most %d are allowed", size, most);
  const backend::Traits& traits = traitsOf(function);
  const int multiprocessors = traits.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const int each = std::min(blocks / multiprocessors, kClusterBlocksOfMultiprocessor);
  if (traits.clusterGroups.empty()) return size > most ? 0 : multiprocessors * each / size;
  int clusters = 0;
  for (const uint32_t group : traits.clusterGroups)
    if (const int together = static_cast<int>(group); together >= size) clusters += together * each / size;
  return clusters;
}

Result<int> potentialClusterSize(Function& function, const CUlaunchConfig& config) {
  VG_TRY(const backend::LaunchShape shape, shapeOf(function, config));
  VG_CHECK(clusterBlocks(function, shape));
  VG_TRY(const int blocks, residentBlocks(function, shape));
  VG_TRY(const int most, largestCluster(function));
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(blocks, most))));
}

}  // namespace vg::core::occupancy
