#include "alloc/memory_source.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

namespace vg::alloc {

CUresult ProcessMemory::commit(std::byte* start, size_t bytes) {
  if (mprotect(start, bytes, PROT_READ | PROT_WRITE))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the system refuses %zu bytes of memory: %s", bytes, strerror(errno));
  madvise(start, bytes, MADV_HUGEPAGE);  // only advice: small pages work too
  return CUDA_SUCCESS;
}

void ProcessMemory::decommit(std::byte* start, size_t bytes) {
  // Mapping anew drops the pages and makes them inaccessible in one call.
  void* mapped = mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) madvise(start, bytes, MADV_DONTNEED);
}

}  // namespace vg::alloc
