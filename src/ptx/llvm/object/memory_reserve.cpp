#include "ptx/llvm/object/memory_reserve.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace vg::ptx::gen {
namespace {

// The addresses of a large part are reserved at the first need, and become memory as they are used; the first part is
// memory of the library, which is there in any case.
constexpr size_t kLarge = size_t{256} << 20, kSmall = size_t{1} << 20, kStep = 16;

struct Part {
  std::atomic<std::byte*> start{nullptr};
  std::atomic<size_t> used{0};
  const size_t bytes;

  explicit constexpr Part(size_t size) : bytes(size) {}

  bool holds(const void* memory) const {
    const std::byte* const from = start.load(std::memory_order_acquire);
    return from && static_cast<size_t>(static_cast<const std::byte*>(memory) - from) < bytes;
  }
  // With its size in front of it.
  void* take(size_t size, size_t alignment) {
    std::byte* const from = start.load(std::memory_order_acquire);
    if (!from || size > bytes) return nullptr;
    const size_t whole = (size + std::max(alignment, kStep) + kStep + kStep - 1) / kStep * kStep;
    const size_t at = used.fetch_add(whole, std::memory_order_relaxed);
    if (at > bytes || whole > bytes - at) return nullptr;
    const auto first = reinterpret_cast<uintptr_t>(from + at) + kStep;
    const uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
    std::memcpy(reinterpret_cast<void*>(aligned - sizeof size), &size, sizeof size);
    return reinterpret_cast<void*>(aligned);
  }
};

alignas(64) std::byte own[kSmall];
constinit Part small(kSmall), large(kLarge);

void prepare() {
  if (!small.start.load(std::memory_order_relaxed)) small.start.store(own, std::memory_order_release);
  if (large.start.load(std::memory_order_acquire)) return;
  void* const range = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::byte* none = nullptr;
  if (range == MAP_FAILED) return;
  if (!large.start.compare_exchange_strong(none, static_cast<std::byte*>(range), std::memory_order_acq_rel))
    munmap(range, kLarge);
}

size_t sizeOf(const void* memory) {
  size_t size;
  std::memcpy(&size, static_cast<const std::byte*>(memory) - sizeof size, sizeof size);
  return size;
}

}  // namespace

void* takeReserve(size_t bytes, size_t alignment) noexcept {
  prepare();
  if (void* const memory = large.take(bytes, alignment)) return memory;
  if (void* const memory = small.take(bytes, alignment)) return memory;
  errno = ENOMEM;
  return nullptr;
}

bool isReserve(const void* memory) noexcept { return large.holds(memory) || small.holds(memory); }

namespace {

void* orReserve(void* found, size_t bytes, size_t alignment = kStep) {
  return found ? found : takeReserve(bytes, alignment);
}

}  // namespace
}  // namespace vg::ptx::gen

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names of the linker (--wrap)

void* __real_malloc(size_t);
void* __real_calloc(size_t, size_t);
void* __real_realloc(void*, size_t);
void* __real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void**, size_t, size_t);
void __real_free(void*);

void* __wrap_malloc(size_t bytes) { return vg::ptx::gen::orReserve(__real_malloc(bytes), bytes); }
// Fresh pages of the reserve are zero, and none is used twice.
void* __wrap_calloc(size_t count, size_t each) {
  void* const found = __real_calloc(count, each);
  size_t bytes;
  if (found || __builtin_mul_overflow(count, each, &bytes)) return found;
  return vg::ptx::gen::takeReserve(bytes, 16);
}
void* __wrap_realloc(void* memory, size_t bytes) {
  const bool ours = vg::ptx::gen::isReserve(memory);
  if (!ours)
    if (void* const grown = __real_realloc(memory, bytes); grown || !bytes) return grown;
  void* const made = __wrap_malloc(bytes);
  if (!made || !memory) return made;
  const size_t old = ours ? vg::ptx::gen::sizeOf(memory) : malloc_usable_size(memory);
  std::memcpy(made, memory, std::min(old, bytes));
  if (!ours) __real_free(memory);
  return made;
}
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return vg::ptx::gen::orReserve(__real_aligned_alloc(alignment, bytes), bytes, alignment);
}
int __wrap_posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (!__real_posix_memalign(out, alignment, bytes)) return 0;
  *out = vg::ptx::gen::takeReserve(bytes, alignment);
  return *out ? 0 : ENOMEM;
}
void __wrap_free(void* memory) {
  if (!vg::ptx::gen::isReserve(memory)) __real_free(memory);
}

// NOLINTEND(bugprone-reserved-identifier)
}

#endif
