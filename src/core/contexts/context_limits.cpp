// cuCtxGetLimit and cuCtxSetLimit: which limits there are, and what values they take.
#include <algorithm>

#include "base/round.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"

namespace vg::core {
namespace {

constexpr size_t kMaximumStack = size_t{512} << 10;  // of a thread: what CUDA gives it as local memory at most
constexpr size_t kMinimumPrintf = size_t{512} << 10, kMinimumHeap = size_t{4} << 20;
constexpr size_t kMaximumGranularity = 128, kMinimumLaunches = 32;
constexpr size_t kCacheWays = 16;  // of the L2 cache: what persists takes whole ones

CUresult unsupportedLimit(CUlimit which) {
  const int behind = offers(13040) ? CU_LIMIT_MAX : CU_LIMIT_PER_BLOCK_MEMORY_SIZE;
  if (which < 0 || which >= behind)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no limit %d", static_cast<int>(which));
  return fail(CUDA_ERROR_UNSUPPORTED_LIMIT, "the device has no limit %d", static_cast<int>(which));
}

CUresult tooMuch(CUlimit which, size_t value, size_t maximum) {
  return fail(CUDA_ERROR_INVALID_VALUE, "limit %d cannot be %zu: at most %zu", static_cast<int>(which), value, maximum);
}

}  // namespace

Result<size_t> Context::limit(CUlimit which) const {
  switch (which) {
    case CU_LIMIT_STACK_SIZE:
      return kernelLimits_.stackBytes.load();
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return kernelLimits_.printfBytes.load();
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return kernelLimits_.heapBytes.load();
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return kernelLimits_.pendingLaunches.load();
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return kernelLimits_.fetchGranularity.load();
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return kernelLimits_.persistingCacheBytes.load();
    case CU_LIMIT_SHMEM_SIZE:
      return static_cast<size_t>(device().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    case CU_LIMIT_CIG_ENABLED:
      return size_t{0};
    default:
      return unsupportedLimit(which);
  }
}

CUresult Context::setLimit(CUlimit which, size_t value) {
  const auto persisting = static_cast<size_t>(device().attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE));
  const auto cache = static_cast<size_t>(device().attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  const auto memory = static_cast<size_t>(device().traits().totalMemory);
  switch (which) {
    case CU_LIMIT_STACK_SIZE:
      if (value > kMaximumStack) return tooMuch(which, value, kMaximumStack);
      kernelLimits_.stackBytes.store((value + 15) / 16 * 16);
      return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      if (value > memory) return tooMuch(which, value, memory);
      kernelLimits_.printfBytes.store(std::max(roundUp(value, 256), kMinimumPrintf));
      return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      if (value > memory) return tooMuch(which, value, memory);
      kernelLimits_.heapBytes.store(std::max(roundUp(value, size_t{64} << 10), kMinimumHeap));
      return CUDA_SUCCESS;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      kernelLimits_.pendingLaunches.store(std::max(value, kMinimumLaunches));
      return CUDA_SUCCESS;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      if (value > kMaximumGranularity) return tooMuch(which, value, kMaximumGranularity);
      kernelLimits_.fetchGranularity.store(value);
      return CUDA_SUCCESS;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      if (value > persisting) return tooMuch(which, value, persisting);
      kernelLimits_.persistingCacheBytes.store(
          std::min(roundUp(value, std::max(cache / kCacheWays, size_t{1})), persisting));
      return CUDA_SUCCESS;
    case CU_LIMIT_SHMEM_SIZE:
    case CU_LIMIT_CIG_ENABLED:
      return fail(CUDA_ERROR_NOT_PERMITTED, "limit %d can only be read", static_cast<int>(which));
    default:
      return unsupportedLimit(which);
  }
}

}  // namespace vg::core
