#include "ptx/llvm/object/compile_heap.h"

#include "base/sync/mutex.h"
#include "ptx/abi/engine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace vg::ptx::gen {
void lendMemory(std::byte*, size_t) {}
LentHeap::LentHeap() : heap_(nullptr) {}
LentHeap::~LentHeap() = default;
LentHeap::operator bool() const { return true; }
}  // namespace vg::ptx::gen

#else

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/sync/once.h"

namespace vg::ptx::gen {
namespace {

// It stays resident once it was used, so malloc serves larger compiles.
constexpr size_t kRange = kEngineHeap, kSlab = 32 << 10;
constexpr size_t kStep = 16, kSteps = 1024, kLargest = 16 << 10;  // sizes are multiples of the step, then powers of two
constexpr uint32_t kSizes = kSteps / kStep + std::bit_width(kLargest / kSteps) - 1;

struct Piece {
  Piece* next;
};

uint32_t sizeIndex(size_t bytes) {
  if (bytes <= kSteps) return static_cast<uint32_t>(bytes ? (bytes - 1) / kStep : 0);
  return static_cast<uint32_t>(kSteps / kStep + std::bit_width((bytes - 1) / kSteps) - 1);
}

size_t sizeOf(uint32_t index) {
  return index < kSteps / kStep ? (index + 1) * kStep : kSteps << (index - kSteps / kStep + 1);
}

constinit std::byte sizeOfSlab[kRange / kSlab] = {};  // index of the size of its pieces
// Far from every address until the range is there.
constinit std::atomic<uintptr_t> rangeBegin{uintptr_t{1} << 63};
constinit std::atomic<size_t> rangeUsed{kRange};

constinit std::byte* lent = nullptr;  // written before the first compile

std::byte* freshRange() {
  void* const found = mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return found == MAP_FAILED ? nullptr : static_cast<std::byte*>(found);
}

void reserveRange() {
  static constinit Once once;
  once.call([] {
    std::byte* const range = lent ? lent : freshRange();
    if (!range) return;
    madvise(range, kRange, MADV_NOHUGEPAGE);  // huge pages make a first compile several times slower
    rangeBegin.store(reinterpret_cast<uintptr_t>(range), std::memory_order_relaxed);
    rangeUsed.store(0, std::memory_order_release);
  });
}

size_t offsetInRange(const void* at) {
  return reinterpret_cast<uintptr_t>(at) - rangeBegin.load(std::memory_order_relaxed);
}

}  // namespace

struct CompileHeap {
  Piece* free[kSizes] = {};
  std::byte *fresh[kSizes] = {}, *end[kSizes] = {};  // of the newest slab of a size
  CompileHeap* nextIdle = nullptr;

  void* take(uint32_t index) {
    if (Piece* const piece = free[index]) [[likely]] {
      free[index] = piece->next;
      return piece;
    }
    const size_t bytes = sizeOf(index);
    if (static_cast<size_t>(end[index] - fresh[index]) < bytes && !takeSlab(index)) return nullptr;
    return std::exchange(fresh[index], fresh[index] + bytes);
  }

  bool takeSlab(uint32_t index) {
    size_t used = rangeUsed.load(std::memory_order_acquire);
    do {
      if (used == kRange) return false;
    } while (!rangeUsed.compare_exchange_weak(used, used + kSlab, std::memory_order_acq_rel));
    sizeOfSlab[used / kSlab] = static_cast<std::byte>(index);
    fresh[index] = reinterpret_cast<std::byte*>(rangeBegin.load(std::memory_order_relaxed) + used);
    end[index] = fresh[index] + kSlab;
    return true;
  }

  void give(uint32_t index, void* memory) { free[index] = new (memory) Piece{free[index]}; }
};

namespace {

// In the static part of a thread's variables: the C library makes the others by malloc, and ends the process without.
constinit thread_local CompileHeap* heapOfThread [[gnu::tls_model("initial-exec")]] = nullptr;

// Heaps that no thread has.
constinit Mutex idleMutex;
constinit CompileHeap* idleHeaps VG_GUARDED_BY(idleMutex) = nullptr;
constinit CompileHeap strays VG_GUARDED_BY(idleMutex);  // what threads without a heap deleted

void takeStrays(CompileHeap& heap) VG_REQUIRES(idleMutex) {
  for (uint32_t index = 0; index < kSizes; ++index)
    while (Piece* const piece = strays.free[index]) {
      strays.free[index] = piece->next;
      heap.give(index, piece);
    }
}

void* allocate(size_t bytes) {
  if (CompileHeap* const heap = heapOfThread; heap && bytes <= kLargest)
    if (void* const memory = heap->take(sizeIndex(bytes))) return memory;
  return std::malloc(bytes ? bytes : 1);
}

void release(void* memory) {
  const size_t offset = offsetInRange(memory);
  if (offset >= kRange) return std::free(memory);
  const auto index = static_cast<uint32_t>(sizeOfSlab[offset / kSlab]);
  if (CompileHeap* const heap = heapOfThread) return heap->give(index, memory);
  const MutexLock lock(idleMutex);
  strays.give(index, memory);
}

[[noreturn]] void lackMemory() {
  if (heapOfThread && noMemoryForCompile) noMemoryForCompile();
  throw std::bad_alloc();
}

void* allocateOrThrow(size_t bytes) {
  if (void* const memory = allocate(bytes)) return memory;
  lackMemory();
}

void* allocateAligned(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  if (align <= kStep) return allocateOrThrow(bytes);
  if (void* const memory = std::aligned_alloc(align, (bytes + align - 1) & ~(align - 1))) return memory;
  lackMemory();
}

}  // namespace

void lendMemory(std::byte* memory, size_t bytes) {
  if (bytes >= kRange) lent = memory;
}

LentHeap::LentHeap() {
  reserveRange();
  const MutexLock lock(idleMutex);
  heap_ = idleHeaps;
  if (heap_)
    idleHeaps = heap_->nextIdle;
  else if (void* const memory = std::calloc(1, sizeof(CompileHeap)))
    heap_ = new (memory) CompileHeap;
  if (heap_) takeStrays(*heap_);
  heapOfThread = heap_;
}

LentHeap::operator bool() const { return heap_; }

LentHeap::~LentHeap() {
  heapOfThread = nullptr;
  if (!heap_) return;
  const MutexLock lock(idleMutex);
  heap_->nextIdle = std::exchange(idleHeaps, heap_);
}

}  // namespace vg::ptx::gen

void* operator new(size_t bytes) { return vg::ptx::gen::allocateOrThrow(bytes); }
void* operator new[](size_t bytes) { return vg::ptx::gen::allocateOrThrow(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return vg::ptx::gen::allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return vg::ptx::gen::allocate(bytes); }
void* operator new(size_t bytes, std::align_val_t align) { return vg::ptx::gen::allocateAligned(bytes, align); }
void* operator new[](size_t bytes, std::align_val_t align) { return vg::ptx::gen::allocateAligned(bytes, align); }
void operator delete(void* memory) noexcept { vg::ptx::gen::release(memory); }
void operator delete[](void* memory) noexcept { vg::ptx::gen::release(memory); }
void operator delete(void* memory, size_t) noexcept { vg::ptx::gen::release(memory); }
void operator delete[](void* memory, size_t) noexcept { vg::ptx::gen::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { vg::ptx::gen::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { vg::ptx::gen::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { vg::ptx::gen::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { vg::ptx::gen::release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { vg::ptx::gen::release(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { vg::ptx::gen::release(memory); }

#endif
