#include "backend/cpu/cpu_kernel.h"

#include <algorithm>

#include "backend/cpu/kernel_occupancy.h"
#include "backend/cpu/kernel_thread.h"
#include "base/log.h"
#include "base/os.h"

namespace vg::backend::cpu {
namespace {

constexpr int64_t kDefaultShared = 48 * 1024;  // bytes a block may have without asking for more
// A grid that is not worth handing to another thread: as known from earlier launches, or by its size.
// The calling thread is one of the grid's workers then, and all cores would be busy with the grid anyway; handing it
// over costs two wake-ups of some 25 us.
constexpr uint64_t kInlineNanoseconds = 250'000;
constexpr uint64_t kInlineAlone = 1'000'000;
constexpr uint64_t kInlineWarps = 16, kInlineInterpretedWarps = 2;
constexpr uint32_t kMostRegisters = 255;
constexpr uint32_t kPortableClusterBlocks = 8;

uint64_t product(const uint32_t (&size)[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

bool given(const uint32_t (&size)[3]) { return size[0] != 0; }

}  // namespace

PtxKernel::PtxKernel(const Device& device, ProgramKernel& program, const std::vector<CUdeviceptr>& addresses,
                     KernelContext& context, uint32_t target)
    : device_(device), program_(program), addresses_(addresses), context_(context), target_(target) {
  for (int i = 0; i < 3; ++i) requiredCluster_[i] = static_cast<int>(program.function().clusterSize[i]);
}

uint32_t PtxKernel::maxThreads() const {
  const ptx::Function& function = program_.function();
  const uint32_t most = device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const auto limit = [&](const uint32_t(&size)[3]) {
    return std::min<uint64_t>(uint64_t{std::max(size[0], 1u)} * std::max(size[1], 1u) * std::max(size[2], 1u), most);
  };
  if (given(function.requiredThreads)) return limit(function.requiredThreads);
  return given(function.maxThreads) ? limit(function.maxThreads) : most;
}

// The estimate, held where the largest block that the kernel allows can be launched: a GPU's compiler would spill.
uint32_t PtxKernel::registers() const {
  const ptx::Function& function = program_.function();
  const uint32_t all = device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  uint32_t most = std::min(kMostRegisters, all / std::max(maxThreads(), 128u));
  if (function.maxRegisters) most = std::min(most, function.maxRegisters);
  return std::min((program_.facts().registers + 7) / 8 * 8, std::max(most, 16u));
}

int64_t PtxKernel::maxDynamicShared() const {
  const int set = maxDynamicShared_.load(std::memory_order_relaxed);
  return set >= 0 ? set : std::max<int64_t>(kDefaultShared - program_.facts().staticShared, 0);
}

Result<int> PtxKernel::attribute(CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(maxThreads());
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(program_.facts().staticShared);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return static_cast<int>(program_.facts().constantBytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(program_.facts().localBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(registers());
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return static_cast<int>(target_);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return device_.traits().computeCapability;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(maxDynamicShared());
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

CUresult PtxKernel::setAttribute(CUfunction_attribute attribute, int value) {
  const auto outside = [&](int first, int last) {
    if (value >= first && value <= last) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d of kernel %s cannot be %d", attribute, name().c_str(),
                value);
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
      VG_CHECK(outside(0, most - static_cast<int>(program_.facts().staticShared)));
      maxDynamicShared_ = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      VG_CHECK(outside(-1, 100));
      carveout_ = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (given(program_.function().clusterSize))
        return fail(CUDA_ERROR_NOT_PERMITTED, "kernel %s fixes its cluster size", name().c_str());
      VG_CHECK(outside(0, 16));
      requiredCluster_[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      VG_CHECK(outside(0, 1));
      nonPortableCluster_ = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      VG_CHECK(outside(0, 2));
      clusterPolicy_ = value;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set", attribute);
  }
}

uint32_t PtxKernel::resident(uint32_t threads, uint64_t dynamicShared) const {
  return occupancy::blocksPerMultiprocessor(device_.traits(),
                                            {threads, registers(), program_.facts().staticShared + dynamicShared});
}

Result<int> PtxKernel::occupancy(int blockSize, size_t dynamicShared) {
  if (blockSize <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "block of %d threads", blockSize);
  if (static_cast<uint32_t>(blockSize) > maxThreads()) return 0;
  const uint64_t most = device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (program_.facts().staticShared + dynamicShared > most) return 0;
  return static_cast<int>(resident(blockSize, dynamicShared));
}

CUresult PtxKernel::checkShape(const LaunchShape& shape) const {
  const Traits& traits = device_.traits();
  const char* const who = name().c_str();
  for (int i = 0; i < 3; ++i) {
    const uint32_t mostBlocks =
        traits.attribute(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
    const uint32_t mostThreads =
        traits.attribute(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    if (!shape.grid[i] || shape.grid[i] > mostBlocks)
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: grid of %u x %u x %u blocks", who, shape.grid[0], shape.grid[1],
                  shape.grid[2]);
    if (!shape.block[i] || shape.block[i] > mostThreads)
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: block of %u x %u x %u threads", who, shape.block[0],
                  shape.block[1], shape.block[2]);
  }
  const uint64_t threads = product(shape.block);
  if (threads > maxThreads())
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: block of %llu threads, at most %u are allowed", who,
                static_cast<unsigned long long>(threads), maxThreads());
  const uint32_t(&required)[3] = program_.function().requiredThreads;
  for (int i = 0; i < 3; ++i)
    if (given(required) && shape.block[i] != std::max(required[i], 1u))
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s wants blocks of %u x %u x %u threads", who, required[0],
                  required[1], required[2]);
  if (shape.dynamicShared > maxDynamicShared())
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: %u bytes of dynamic shared memory, at most %lld are allowed", who,
                shape.dynamicShared, static_cast<long long>(maxDynamicShared()));
  const uint32_t wanted = occupancy::registersOfBlock({static_cast<uint32_t>(threads), registers(), 0});
  if (wanted > static_cast<uint32_t>(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)))
    return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "kernel %s: %u registers for a block", who, wanted);
  return CUDA_SUCCESS;
}

CUresult PtxKernel::checkCluster(const LaunchShape& shape) const {
  uint32_t cluster[3];
  for (int i = 0; i < 3; ++i) {
    const uint32_t required = static_cast<uint32_t>(requiredCluster_[i].load(std::memory_order_relaxed));
    cluster[i] = clusterSize(shape, i);
    if (required && shape.cluster[i] > 1 && shape.cluster[i] != required)
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s wants clusters of %u blocks, not %u", name().c_str(),
                  required, shape.cluster[i]);
    if (shape.grid[i] % cluster[i])
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: a grid of %u blocks is not made of clusters of %u",
                  name().c_str(), shape.grid[i], cluster[i]);
  }
  const uint32_t most =
      nonPortableCluster_.load(std::memory_order_relaxed) ? ptx::kMaxClusterBlocks : kPortableClusterBlocks;
  if (product(cluster) <= most) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: clusters of %u x %u x %u blocks, at most %u are allowed",
              name().c_str(), cluster[0], cluster[1], cluster[2], most);
}

// What the kernel demands, or else the launch asks for.
uint32_t PtxKernel::clusterSize(const LaunchShape& shape, int axis) const {
  const uint32_t required = static_cast<uint32_t>(requiredCluster_[axis].load(std::memory_order_relaxed));
  return std::max(required ? required : shape.cluster[axis], 1u);
}

CUresult PtxKernel::checkCooperative(const LaunchShape& shape) const {
  if (!shape.cooperative) return CUDA_SUCCESS;
  const uint64_t blocks = product(shape.grid);
  const uint64_t most = uint64_t{resident(static_cast<uint32_t>(product(shape.block)), shape.dynamicShared)} *
                        static_cast<uint32_t>(device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  if (blocks <= std::min<uint64_t>(most, KernelThread::kMaxResident)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "kernel %s: %llu blocks, at most %llu run at once",
              name().c_str(), static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(most));
}

CUresult PtxKernel::prepare(const LaunchShape& shape) {
  VG_CHECK(checkShape(shape));
  VG_CHECK(checkCluster(shape));
  VG_CHECK(checkCooperative(shape));
  const bool fullWarps = product(shape.block) % ptx::kWarpSize == 0;
  VG_CHECK(program_.variant(ptx::blockShapeOf(shape.block[0], shape.block[1], shape.block[2]), fullWarps));
  return CUDA_SUCCESS;
}

Result<CpuKernel::Ready> PtxKernel::ready(const LaunchShape& shape) {
  const bool fullWarps = product(shape.block) % ptx::kWarpSize == 0;
  VG_TRY(const LoadedKernel* code,
         program_.variant(ptx::blockShapeOf(shape.block[0], shape.block[1], shape.block[2]), fullWarps));
  std::call_once(globalsOnce_, [this] {
    for (const uint32_t index : program_.facts().globals) globals_.push_back(addresses_[index]);
  });
  Ready ready{code,      globals_.data(),
              &context_, std::max(1u, resident(static_cast<uint32_t>(product(shape.block)), shape.dynamicShared)),
              {1, 1, 1}, program_.function().explicitCluster || given(program_.function().clusterSize)};
  for (int i = 0; i < 3; ++i) ready.cluster[i] = clusterSize(shape, i);
  ready.explicitCluster |= product(ready.cluster) > 1;
  return ready;
}

// Nanoseconds that a launch may keep the calling thread busy. On a sole core another thread would not get on faster.
static uint64_t inlineLimit() { return os::soleCore() ? kInlineAlone : kInlineNanoseconds; }

bool PtxKernel::inlineSafe(const LaunchShape& shape) const {
  const uint64_t threads = product(shape.block);
  const uint64_t warps = product(shape.grid) * ((threads + ptx::kWarpSize - 1) / ptx::kWarpSize);
  if (shape.cooperative || clusterSize(shape, 0) * clusterSize(shape, 1) * clusterSize(shape, 2) > 1) return false;
  const LoadedKernel* const code = program_.readyVariant(
      ptx::blockShapeOf(shape.block[0], shape.block[1], shape.block[2]), threads % ptx::kWarpSize == 0);
  if (!code || code->traits.polls || code->traits.loops) return false;
  if (const uint64_t expected = code->expected(warps)) return expected <= inlineLimit();
  return warps <= (code->interpreted ? kInlineInterpretedWarps : kInlineWarps);
}

NativeOnlyKernel::NativeOnlyKernel(const Device& device, const cubin::Kernel& description)
    : device_(device), description_(description), maxDynamicShared_(kDefaultShared) {
  for (const cubin::Parameter& parameter : description.parameters)
    parameters_.push_back({parameter.offset, parameter.size});
}

CUresult NativeOnlyKernel::refuse() const {
  return fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
              "kernel %s exists only as native code of a real GPU; what is compiled at run time gives PTX under "
              "`verdigris run`",
              name().c_str());
}

Result<int> NativeOnlyKernel::attribute(CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(description_.sharedBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(description_.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return device_.traits().computeCapability;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return maxDynamicShared_.load();
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d is not known", attribute);
      return 0;
  }
}

CUresult NativeOnlyKernel::setAttribute(CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) maxDynamicShared_ = value;
  return CUDA_SUCCESS;
}

CUresult NativeOnlyKernel::prepare(const LaunchShape&) { return refuse(); }
Result<CpuKernel::Ready> NativeOnlyKernel::ready(const LaunchShape&) { return refuse(); }

Result<int> NativeOnlyKernel::occupancy(int blockSize, size_t dynamicShared) {
  if (blockSize <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "block of %d threads", blockSize);
  const occupancy::KernelUse use{static_cast<uint32_t>(blockSize), std::max(description_.registers, 16u),
                                 description_.sharedBytes + dynamicShared};
  return static_cast<int>(occupancy::blocksPerMultiprocessor(device_.traits(), use));
}

}  // namespace vg::backend::cpu
