#include "core/pools/pool_source.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc/address_space.h"
#include "alloc/host_memory.h"
#include "base/round.h"
#include "base/system/file_size_guard.h"
#include "core/memory/device_visible_host.h"
#include "core/memory/memory_heaps.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

// A range of addresses of the wanted length, or of half of it as often as that is not to be had.
Result<size_t> reserveUpTo(size_t bytes, uintptr_t* start) {
  constexpr size_t kLeast = size_t{64} << 20;
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  for (;; bytes = roundUp(bytes / 2, alloc::kGranule)) {
    if (Result<uintptr_t> range = space.reserve(bytes)) {
      *start = *range;
      return bytes;
    }
    if (bytes <= kLeast) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes of addresses for a pool", bytes);
  }
}

CUresult writeFacts(const alloc::PhysicalMemory& file, PoolFacts facts, size_t capacity) {
  facts.magic = PoolFacts::kMagic;
  facts.capacity = capacity;
  VG_TRY(const int descriptor, file.duplicate());
  const FileSizeGuard guard;
  const bool written = pwrite(descriptor, &facts, sizeof facts, static_cast<off_t>(capacity)) == sizeof facts;
  const int error = errno;
  close(descriptor);
  if (!written) return fail(CUDA_ERROR_OUT_OF_MEMORY, "the facts of a pool: %s", strerror(error));
  return CUDA_SUCCESS;
}

}  // namespace

Result<std::unique_ptr<PoolRange>> PoolRange::create(size_t capacity) {
  uintptr_t start = 0;
  VG_TRY(const size_t bytes, reserveUpTo(roundUp(capacity, alloc::kGranule), &start));
  return std::unique_ptr<PoolRange>(new PoolRange(start, bytes));
}

PoolRange::~PoolRange() {
  if (Result<alloc::AddressSpace&> space = addressSpace()) space->free(start_, bytes_);
}

Result<std::unique_ptr<PoolSource>> PoolSource::make(size_t capacity, int node, const PoolFacts& facts) {
  VG_TRY(std::unique_ptr<PoolRange> range, PoolRange::create(capacity));
  const size_t bytes = range->bytes();
  VG_TRY(alloc::PhysicalRef file, alloc::HostMemory::create(bytes + sizeof(PoolFacts), alloc::Sharing::Shareable));
  VG_CHECK(writeFacts(*file, facts, bytes));
  return std::unique_ptr<PoolSource>(new PoolSource(std::move(file), std::move(range), node));
}

PoolSource::~PoolSource() {
  hideFromDevices(reinterpret_cast<std::byte*>(start()), capacity());
  file_->unmap(reinterpret_cast<std::byte*>(start()), capacity());
}

CUresult PoolSource::commit(std::byte* start, size_t bytes) {
  const size_t offset = reinterpret_cast<uintptr_t>(start) - range_->start();
  VG_CHECK(file_->map(start, offset, bytes, alloc::Protection::ReadWrite));
  if (node_ >= 0) host_register::placeOnNode(start, bytes, node_);
  showToDevices(start, bytes, false);
  return CUDA_SUCCESS;
}

void PoolSource::decommit(std::byte* start, size_t bytes) {
  hideFromDevices(start, bytes);
  madvise(start, bytes, MADV_REMOVE);  // the file gives the pages back, for importers too
  file_->unmap(start, bytes);
}

Result<alloc::PhysicalRef> makePoolFacts(const PoolFacts& facts) {
  VG_TRY(alloc::PhysicalRef file, alloc::HostMemory::create(sizeof(PoolFacts), alloc::Sharing::Shareable));
  VG_CHECK(writeFacts(*file, facts, 0));
  return file;
}

Result<PoolFacts> readPoolFacts(const alloc::PhysicalMemory& file) {
  // The facts lie in the last page that the file has.
  const size_t size = file.bytes();
  PoolFacts facts{};
  VG_TRY(const int descriptor, file.duplicate());
  const size_t at = size / alloc::kGranule * alloc::kGranule;
  const bool read = pread(descriptor, &facts, sizeof facts, static_cast<off_t>(at)) == sizeof facts;
  close(descriptor);
  if (!read || facts.magic != PoolFacts::kMagic || facts.capacity != at)
    return fail(CUDA_ERROR_INVALID_VALUE, "the descriptor is no memory pool");
  return facts;
}

}  // namespace vg::core::memory
