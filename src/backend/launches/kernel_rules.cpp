#include "backend/launches/kernel_rules.h"

#include <algorithm>
#include <limits>

#include "backend/launches/occupancy.h"

namespace vg::backend {
namespace {

constexpr int64_t kDefaultShared = 48 * 1024;  // bytes a block may have without asking for more
constexpr uint32_t kPortableClusterBlocks = 8, kMostClusterBlocks = 16;

// Bytes of dynamic shared memory that a kernel may have without asking for more.
int64_t sharedWithoutAsking(const KernelFacts& facts) {
  return std::max<int64_t>(kDefaultShared - static_cast<int64_t>(facts.staticShared), 0);
}

uint64_t product(const uint32_t (&size)[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

}  // namespace

KernelRules::KernelRules(const Traits& traits, const std::array<uint32_t, 3>& cluster) : traits_(traits) {
  for (size_t i = 0; i < 3; ++i) requiredCluster_[i] = static_cast<int>(cluster[i]);
}

int64_t KernelRules::maxDynamicShared(const KernelFacts& facts) const {
  const int set = maxDynamicShared_.load(std::memory_order_relaxed);
  return set >= 0 ? set : sharedWithoutAsking(facts);
}

Result<int> KernelRules::attribute(const KernelFacts& facts, CUfunction_attribute attribute) const {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(facts.maxThreads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(facts.staticShared);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return static_cast<int>(facts.constantBytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(facts.localBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(facts.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return facts.ptxVersion;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return facts.binaryVersion;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(maxDynamicShared(facts));
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return carveout_.load();
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return 0;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return requiredCluster_[0].load();
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return requiredCluster_[1].load();
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return requiredCluster_[2].load();
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return nonPortableCluster_.load();
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return clusterPolicy_.load();
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d is not known", attribute);
  }
}

CUresult KernelRules::setAttribute(const KernelFacts& facts, CUfunction_attribute attribute, int value) {
  const auto outside = [&](int first, int last) {
    if (value >= first && value <= last) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d of kernel %s cannot be %d", attribute, facts.name,
                value);
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = traits_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
      VG_CHECK(outside(0, most - static_cast<int>(facts.staticShared)));
      maxDynamicShared_ = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      VG_CHECK(outside(-1, 100));
      carveout_ = value;
      preferredShared_ = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (facts.fixedCluster) return fail(CUDA_ERROR_NOT_PERMITTED, "kernel %s fixes its cluster size", facts.name);
      VG_CHECK(outside(0, std::numeric_limits<int>::max()));  // as recorded; launches refuse what cannot be
      requiredCluster_[static_cast<size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)] = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      nonPortableCluster_ = value != 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      VG_CHECK(outside(0, 2));
      clusterPolicy_ = value;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set", attribute);
  }
}

void KernelRules::setCacheConfig(CUfunc_cache config) {
  constexpr int kPercent[] = {-1, 100, 0, 50};  // no preference, shared memory, cache, both alike
  preferredShared_ = config == CU_FUNC_CACHE_PREFER_NONE ? carveout_.load() : kPercent[config];
}

// As recorded on an H200: the kernel's own bound of threads does not count, nor does one of dynamic shared memory that
// is below what every kernel may have.
uint32_t KernelRules::resident(const KernelFacts& facts, uint32_t threads, uint64_t dynamicShared) const {
  if (threads > static_cast<uint32_t>(traits_.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))) return 0;
  // Sizes of the upper half count as below zero.
  if (static_cast<int64_t>(dynamicShared) > std::max<int64_t>(maxDynamicShared(facts), sharedWithoutAsking(facts)))
    return 0;
  return occupancy::blocksPerMultiprocessor(
      traits_, {threads, facts.registers, facts.staticShared + dynamicShared, preferredShared()});
}

Result<int> KernelRules::occupancy(const KernelFacts& facts, int blockSize, size_t dynamicShared) const {
  if (blockSize <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "block of %d threads", blockSize);
  return static_cast<int>(resident(facts, static_cast<uint32_t>(blockSize), dynamicShared));
}

CUresult KernelRules::check(const KernelFacts& facts, const LaunchShape& shape, uint64_t mostCooperative) const {
  VG_CHECK(checkSizes(facts, shape));
  VG_CHECK(checkCooperative(facts, shape, mostCooperative));
  VG_CHECK(checkCluster(facts, shape));
  return checkResources(facts, shape);
}

CUresult KernelRules::checkSizes(const KernelFacts& facts, const LaunchShape& shape) const {
  for (int i = 0; i < 3; ++i) {
    const auto most = [&](int first) {
      return static_cast<uint32_t>(traits_.attribute(static_cast<CUdevice_attribute>(first + i)));
    };
    const uint32_t mostBlocks = most(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    const uint32_t mostThreads = most(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    if (!shape.grid[i] || shape.grid[i] > mostBlocks)
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: grid of %u x %u x %u blocks, from 1 to %u are allowed in %c",
                  facts.name, shape.grid[0], shape.grid[1], shape.grid[2], mostBlocks, "xyz"[i]);
    if (!shape.block[i] || shape.block[i] > mostThreads)
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: block of %u x %u x %u threads, from 1 to %u are allowed in %c",
                  facts.name, shape.block[0], shape.block[1], shape.block[2], mostThreads, "xyz"[i]);
  }
  const uint64_t threads = product(shape.block);
  if (threads > facts.maxThreads)
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: block of %llu threads, at most %u are allowed", facts.name,
                static_cast<unsigned long long>(threads), facts.maxThreads);
  const std::array<uint32_t, 3>& required = facts.requiredThreads;
  for (size_t i = 0; i < 3; ++i)
    if (required[0] && shape.block[i] != std::max(required[i], 1u))
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s wants blocks of %u x %u x %u threads", facts.name, required[0],
                  required[1], required[2]);
  return CUDA_SUCCESS;
}

CUresult KernelRules::checkResources(const KernelFacts& facts, const LaunchShape& shape) const {
  if (shape.dynamicShared > maxDynamicShared(facts))
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: %u bytes of dynamic shared memory, at most %lld are allowed",
                facts.name, shape.dynamicShared, static_cast<long long>(maxDynamicShared(facts)));
  const uint32_t wanted =
      occupancy::registersOfBlock({static_cast<uint32_t>(product(shape.block)), facts.registers, 0});
  if (wanted > static_cast<uint32_t>(traits_.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)))
    return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "kernel %s: %u registers for a block", facts.name, wanted);
  return CUDA_SUCCESS;
}

CUresult KernelRules::checkCluster(const KernelFacts& facts, const LaunchShape& shape) const {
  if (shape.clustered && !product(shape.cluster))
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: clusters of %u x %u x %u blocks", facts.name,
                shape.cluster[0], shape.cluster[1], shape.cluster[2]);
  uint32_t cluster[3];
  for (int i = 0; i < 3; ++i) {
    const auto required =
        static_cast<uint32_t>(requiredCluster_[static_cast<size_t>(i)].load(std::memory_order_relaxed));
    cluster[i] = clusterSize(shape, i);
    if (required && shape.cluster[i] > 1 && shape.cluster[i] != required)
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s wants clusters of %u blocks, not %u", facts.name,
                  required, shape.cluster[i]);
    if (shape.grid[i] % cluster[i])
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: a grid of %u blocks is not made of clusters of %u",
                  facts.name, shape.grid[i], cluster[i]);
  }
  const uint32_t most =
      nonPortableCluster_.load(std::memory_order_relaxed) ? kMostClusterBlocks : kPortableClusterBlocks;
  if (product(cluster) <= most) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: clusters of %u x %u x %u blocks, at most %u are allowed",
              facts.name, cluster[0], cluster[1], cluster[2], most);
}

uint32_t KernelRules::clusterSize(const LaunchShape& shape, int axis) const {
  const auto required =
      static_cast<uint32_t>(requiredCluster_[static_cast<size_t>(axis)].load(std::memory_order_relaxed));
  return std::max(required ? required : shape.cluster[axis], 1u);
}

CUresult KernelRules::checkCooperative(const KernelFacts& facts, const LaunchShape& shape, uint64_t most) const {
  if (!shape.cooperative) return CUDA_SUCCESS;
  const uint64_t blocks = product(shape.grid);
  const uint64_t fit = uint64_t{resident(facts, static_cast<uint32_t>(product(shape.block)), shape.dynamicShared)} *
                       static_cast<uint32_t>(traits_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  if (blocks <= std::min(fit, most)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "kernel %s: %llu blocks, at most %llu run at once", facts.name,
              static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(std::min(fit, most)));
}

}  // namespace vg::backend
