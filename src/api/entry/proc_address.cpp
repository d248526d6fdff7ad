#include "api/entry/proc_address.h"

#include <algorithm>

#include "api/entry/call.h"
#include "api/entry/entry_points.h"
#include "core/process/driver_version.h"

namespace vg::api {

ProcAddress findProcAddress(std::string_view name, int cudaVersion, bool perThread) {
  const EntryPoint* const end = kEntryPoints + kEntryPointCount;
  const auto before = [](const EntryPoint& e, std::string_view wanted) { return e.name().base < wanted; };
  const EntryPoint* const first = std::lower_bound(kEntryPoints, end, name, before);
  const EntryPoint* last = first;
  bool hasTwins = false;
  for (; last != end && last->name().base == name; ++last) hasTwins |= last->twin != nullptr;

  // Where some version has a twin, the per-thread names are the twins alone, and exist since those do.
  const bool useTwins = perThread && hasTwins;
  ProcAddress best{nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  for (const EntryPoint* entry = first; entry != last; ++entry) {  // oldest version first
    void* const function = useTwins ? entry->twin : entry->function;
    if (entry->since == 0 || entry->since > core::driverVersion() || !function) continue;
    if ((useTwins ? entry->twinSince() : entry->since) <= cudaVersion) {
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
