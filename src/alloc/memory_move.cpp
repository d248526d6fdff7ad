#include "alloc/memory_move.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "alloc/geometry.h"
#include "alloc/host_memory.h"
#include "base/sync/futex.h"
#include "base/sync/mutex.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace vg::alloc {
namespace {

constinit Mutex moveMutex;  // one move at a time

// What the handler reads. `sequence` is odd while [start, end) is read-only; the bounds change only while it is even,
// by release stores: who loads a new bound with acquire sees in its second look that the number has changed.
constinit std::atomic<uint32_t> sequence{0};
constinit std::atomic<uintptr_t> pieceStart{0}, pieceEnd{0};
// Everything that ever moved lies between these.
constinit std::atomic<uintptr_t> lowest{UINTPTR_MAX}, highest{0};

// The fault that this thread was last sent back to: one that comes again although nothing has moved since is real.
struct Retried {
  uintptr_t address;
  uint32_t sequence;
};
constinit thread_local Retried retried [[gnu::tls_model("initial-exec")]] = {0, 0};

// The piece is read-only while this lives.
class Frozen {
 public:
  Frozen(std::byte* start, size_t bytes) {
    const auto first = reinterpret_cast<uintptr_t>(start);
    pieceStart.store(first, std::memory_order_release);
    pieceEnd.store(first + bytes, std::memory_order_release);
    if (first < lowest.load(std::memory_order_relaxed)) lowest.store(first, std::memory_order_relaxed);
    if (first + bytes > highest.load(std::memory_order_relaxed)) highest.store(first + bytes);
    sequence.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Frozen() {
    sequence.fetch_add(1, std::memory_order_seq_cst);
    futex::wakeAll(sequence);
  }
  Frozen(const Frozen&) = delete;
};

CUresult refused(const char* what) { return fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: %s", what, strerror(errno)); }

// Whether the system has no page behind these addresses yet. (/proc/self/pagemap has 64 bits a page: bit 63 says that
// it is present, bit 62 that it is swapped out.) False when that cannot be told.
bool untouched(const std::byte* start, size_t bytes) {
  constexpr uint64_t kSomewhere = uint64_t{3} << 62;
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t wanted = bytes / page * sizeof(uint64_t);
  uint64_t entries[kGranule / 4096];
  if (wanted > sizeof entries) return false;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(start) / page * sizeof(uint64_t));
  const bool known = pread(file, entries, wanted, at) == static_cast<ssize_t>(wanted);
  close(file);
  return known && std::none_of(entries, entries + bytes / page, [](uint64_t entry) { return entry & kSomewhere; });
}

// Requires: at most a granule, inside one.
CUresult movePiece(const HostMemory& memory, size_t offset, std::byte* start, size_t bytes) {
  const Frozen frozen(start, bytes);
  if (mprotect(start, bytes, PROT_READ)) return refused("memory to share cannot be made read-only");
  CUresult result = CUDA_SUCCESS;
  if (!untouched(start, bytes)) result = memory.write(offset, start, bytes);
  if (result == CUDA_SUCCESS) result = memory.map(start, offset, bytes, Protection::ReadWrite);
  if (result != CUDA_SUCCESS) mprotect(start, bytes, PROT_READ | PROT_WRITE);
  return result;
}

}  // namespace

CUresult moveTo(SharedMemory& shared, std::byte* start, size_t bytes) {
  const MutexLock lock(moveMutex);
  while (shared.moved < bytes) {
    std::byte* const at = start + shared.moved;
    const size_t left = kGranule - reinterpret_cast<uintptr_t>(at) % kGranule;
    const size_t piece = std::min(bytes - shared.moved, left);
    VG_CHECK(movePiece(static_cast<const HostMemory&>(*shared.memory), shared.moved, at, piece));
    // Children of a fork must not keep it; and huge pages again, where the system makes them of shared memory.
    madvise(at, piece, MADV_DONTFORK);
    if (piece == kGranule) madvise(at, piece, MADV_COLLAPSE);
    shared.moved += piece;
  }
  return CUDA_SUCCESS;
}

bool awaitMove(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address < lowest.load(std::memory_order_relaxed) || address >= highest.load(std::memory_order_seq_cst))
    return false;
  for (;;) {
    const uint32_t seen = sequence.load(std::memory_order_seq_cst);
    const bool inPiece = address >= pieceStart.load(std::memory_order_acquire) &&
                         address < pieceEnd.load(std::memory_order_acquire) && seen % 2;
    if (inPiece) {
      futex::wait(sequence, seen);
      continue;
    }
    if (sequence.load(std::memory_order_seq_cst) != seen) continue;
    // It moved between the fault and now, or the fault is real and comes again.
    if (retried.address == address && retried.sequence == seen) return false;
    retried = {address, seen};
    return true;
  }
}

}  // namespace vg::alloc
