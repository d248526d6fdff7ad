#include "backend/nvidia/driver/addresses.h"

#include <sys/mman.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::backend::nvidia {
namespace {

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

constexpr uintptr_t kEnd = uintptr_t{1} << 40;
constexpr size_t kGiB = size_t{1} << 30;

std::byte* reserve(uintptr_t from, size_t bytes) {
  for (uintptr_t wanted = from; wanted + bytes <= kEnd; wanted += bytes) {
    void* const hint = reinterpret_cast<void*>(wanted);
    void* const got = mmap(hint, bytes, PROT_NONE, kReserved | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == hint) return static_cast<std::byte*>(got);
    if (got != MAP_FAILED) munmap(got, bytes);  // a kernel that takes the address as a mere hint
  }
  return nullptr;
}

}  // namespace

bool makeInaccessible(void* start, size_t bytes) {
  if (mmap(start, bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0) != MAP_FAILED) return true;
  // Out of mappings: what is there must not be taken for what comes after it.
  return !mprotect(start, bytes, PROT_NONE);
}

Result<std::byte*> reserveAnywhere(size_t bytes, size_t alignment) {
  void* const raw = mmap(nullptr, bytes + alignment, PROT_NONE, kReserved, -1, 0);
  if (raw == MAP_FAILED) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu addresses are free", bytes + alignment);
  auto* const start = static_cast<std::byte*>(raw);
  const size_t skipped = -reinterpret_cast<uintptr_t>(raw) & (alignment - 1);
  if (skipped) munmap(start, skipped);
  if (skipped < alignment) munmap(start + skipped + bytes, alignment - skipped);
  return start + skipped;
}

Result<Addresses&> Addresses::shared() {
  using Made = std::unique_ptr<Addresses>;
  VG_TRY(Made & all, undyingIfMade<Made>([]() -> Result<Made> {
           // Programs sit at the bottom and at the top of the addresses; in between there is room, unless a tool has
           // taken it.
           constexpr size_t kMany = 64 * kGiB, kFew = kGiB;
           if (std::byte* const start = reserve(64 * kGiB, kMany)) return Made(new Addresses(start, kMany));
           if (std::byte* const start = reserve(kGiB / 4, kFew)) return Made(new Addresses(start, kFew));
           return fail(CUDA_ERROR_OUT_OF_MEMORY, "no addresses are free below 2^40");
         }));
  return *all;
}

Result<std::byte*> Addresses::take(size_t bytes, size_t alignment) {
  const MutexLock guard(mutex_);
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [start, size] = *piece;
    const size_t skipped = -reinterpret_cast<uintptr_t>(start) & (alignment - 1);
    if (skipped + bytes > size) continue;
    // What is left is remembered before anything is taken: there may be no memory for it.
    if (skipped + bytes < size) free_.emplace(start + skipped + bytes, size - skipped - bytes);
    if (skipped)
      piece->second = skipped;
    else
      free_.erase(piece);
    return start + skipped;
  }
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes are left of the addresses shared with GPUs", bytes);
}

// Destructors call it: addresses for which there is no memory to remember them are lost.
void Addresses::giveBack(std::byte* start, size_t bytes) {
  makeInaccessible(start, bytes);
  const MutexLock guard(mutex_);
  auto next = free_.lower_bound(start);
  decltype(free_)::node_type piece;
  if (next != free_.end() && start + bytes == next->first) {
    bytes += next->second;
    piece = free_.extract(next++);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      before->second += bytes;
      return;
    }
  }
  if (piece) {
    piece.key() = start;
    piece.mapped() = bytes;
    free_.insert(std::move(piece));
    return;
  }
  try {
    free_.emplace(start, bytes);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace vg::backend::nvidia
