#include "api/entry/proc_address.h"

#include "api/entry/call.h"
#include "api/entry/entry_points.h"
#include "core/process/driver_version.h"

namespace vg::api {

namespace {
// The first row whose base name is not before this one.
size_t firstRowOf(std::string_view name) {
  size_t first = 0;
  for (size_t left = kEntryPointCount; left;) {
    const size_t half = left / 2;
    if (baseNameOf(first + half) < name) {
      first += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return first;
}
}  // namespace

ProcAddress findProcAddress(std::string_view name, int cudaVersion, bool perThread) {
  const size_t first = firstRowOf(name);
  size_t end = first;
  bool hasTwins = false;
  for (; end < kEntryPointCount && baseNameOf(end) == name; ++end) hasTwins |= entryPoint(end).twin != nullptr;

  // Where some version has a twin, the per-thread names are the twins alone, and exist since those do.
  const bool useTwins = perThread && hasTwins;
  ProcAddress best{nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  for (size_t row = first; row < end; ++row) {  // oldest version first
    const EntryPoint entry = entryPoint(row);
    void* const function = useTwins ? entry.twin : entry.function;
    if (entry.since == 0 || entry.since > core::driverVersion() || !function) continue;
    if ((useTwins ? entry.twinSince() : entry.since) <= cudaVersion) {
      best = {function, CU_GET_PROC_ADDRESS_SUCCESS};
    } else if (!best.function) {
      best.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
  }
  return best;
}

namespace {

// A name that is not found is no failure: the answer is a null pointer, and the status says why.
CUresult answer(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                CUdriverProcAddressQueryResult* symbolStatus) {
  if (!symbol || !pfn) return fail(CUDA_ERROR_INVALID_VALUE, "symbol %p, pfn %p", symbol, static_cast<void*>(pfn));
  constexpr int kNewest = -1;
  const int own = core::driverVersion();
  if (cudaVersion == kNewest) cudaVersion = own;
  if (cudaVersion > own)
    return fail(CUDA_ERROR_INVALID_VALUE, "%s of version %d: this is version %d", symbol, cudaVersion, own);
  constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (flags & ~(CU_GET_PROC_ADDRESS_LEGACY_STREAM | kPerThread))
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(flags));
  const ProcAddress found = findProcAddress(symbol, cudaVersion, (flags & kPerThread) != 0);
  *pfn = found.function;
  if (symbolStatus) *symbolStatus = found.status;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vg::api

namespace vg::handlers {

CUresult cuGetProcAddress(const Call&, const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  return api::answer(symbol, pfn, cudaVersion, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const Call&, const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  return api::answer(symbol, pfn, cudaVersion, flags, symbolStatus);
}

}  // namespace vg::handlers
