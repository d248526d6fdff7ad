#include "api/proc_address.h"

#include <algorithm>

#include "api/call.h"
#include "api/entry_points.h"

namespace vg::api {

ProcAddress findProcAddress(std::string_view name, int cudaVersion, bool perThread) {
  const EntryPoint* const end = kEntryPoints + kEntryPointCount;
  const EntryPoint* entry = std::lower_bound(
      kEntryPoints, end, name, [](const EntryPoint& e, std::string_view wanted) { return e.name().base < wanted; });

  ProcAddress best{nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  // Versions of one name follow each other, oldest first.
  for (; entry != end && entry->name().base == name; ++entry) {
    if (entry->since == 0) continue;
    if (entry->since > cudaVersion) {
      if (!best.function) best.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      continue;
    }
    const bool useTwin = perThread && entry->twin && entry->twinSince() <= cudaVersion;
    best = {useTwin ? entry->twin : entry->function, CU_GET_PROC_ADDRESS_SUCCESS};
  }
  return best;
}

namespace {

CUresult answer(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                CUdriverProcAddressQueryResult* symbolStatus) {
  if (!symbol || !pfn) return fail(CUDA_ERROR_INVALID_VALUE, "symbol %p, pfn %p", symbol, static_cast<void*>(pfn));
  constexpr cuuint64_t kStreams = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~kStreams) || (flags & kStreams) == kStreams)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(flags));
  const ProcAddress found =
      findProcAddress(symbol, cudaVersion, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *pfn = found.function;
  if (symbolStatus) *symbolStatus = found.status;
  return found.function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
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
