#include "alloc/memory_source.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "alloc/host_memory.h"
#include "alloc/memory_move.h"

namespace vg::alloc {

CUresult MemorySource::share(std::byte*, size_t, SharedMemory&) { return unsupported("sharing this kind of memory"); }
CUresult MemorySource::unshare(std::byte*, size_t) { return unsupported("sharing this kind of memory"); }

Result<PhysicalRef> MemorySource::create(size_t bytes, Sharing sharing, const char* label) {
  return HostMemory::create(bytes, sharing, label);
}
Result<std::unique_ptr<SparseRange>> MemorySource::createSparse(std::byte*, size_t, Holes) {
  return unsupported("sparse memory of this kind");
}
Result<PhysicalRef> MemorySource::import(int descriptor) { return HostMemory::fromDescriptor(descriptor); }
std::string MemorySource::labelOf(int descriptor) { return HostMemory::labelOf(descriptor); }

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

CUresult ProcessMemory::share(std::byte* start, size_t bytes, SharedMemory& shared) {
  if (!shared.memory) {
    VG_TRY(shared.memory, HostMemory::create(bytes, Sharing::Shareable));
  }
  return moveTo(shared, start, bytes);
}

CUresult ProcessMemory::unshare(std::byte* start, size_t bytes) {
  constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(start, bytes, PROT_READ | PROT_WRITE, kFresh, -1, 0) == MAP_FAILED)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no fresh memory in place of %zu shared bytes: %s", bytes, strerror(errno));
  madvise(start, bytes, MADV_HUGEPAGE);
  return CUDA_SUCCESS;
}

}  // namespace vg::alloc
