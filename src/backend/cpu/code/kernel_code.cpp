#include "backend/cpu/code/kernel_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/memory/own_memory.h"
#include "base/sync/mutex.h"

namespace vg::backend::cpu {
namespace {

constexpr size_t kRange = size_t{1} << 30, kPage = 4096, kPages = kRange / kPage;

// The reserved range, and which of its pages are taken: a bit each, as giving back must not need memory. Never
// destroyed.
struct Range {
  std::byte* base = nullptr;
  Mutex mutex;
  std::bitset<kPages> taken VG_GUARDED_BY(mutex);

  Range() {
    base = own_memory::reserve(kRange);
    if (!base) throw std::bad_alloc();  // another time there may be room
  }

  // The first free pages that are as many beside each other.
  std::byte* take(size_t bytes) {
    const size_t wanted = bytes / kPage;
    const MutexLock lock(mutex);
    for (size_t page = 0, run = 0; page < kPages; ++page) {
      run = taken[page] ? 0 : run + 1;
      if (run < wanted) continue;
      const size_t first = page + 1 - wanted;
      mark(first, wanted, true);
      return base + first * kPage;
    }
    return nullptr;
  }

  void give(std::byte* start, size_t bytes) noexcept {
    // A fresh mapping drops the pages and the right to run them.
    static_cast<void>(mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
    const MutexLock lock(mutex);
    mark(static_cast<size_t>(start - base) / kPage, bytes / kPage, false);
  }

 private:
  void mark(size_t first, size_t count, bool how) VG_REQUIRES(mutex) {
    for (size_t page = first; page < first + count; ++page) taken[page] = how;
  }
};

constinit std::atomic<std::byte*> rangeBase{nullptr};

Range& range() {
  static Range* const instance = [] {
    auto* made = new Range;
    rangeBase.store(made->base, std::memory_order_release);
    return made;
  }();
  return *instance;
}

}  // namespace

CodePages::~CodePages() {
  if (base_) range().give(base_, bytes_);
}

bool CodePages::contains(const void* address) {
  const std::byte* const base = rangeBase.load(std::memory_order_acquire);
  return base && static_cast<size_t>(static_cast<const std::byte*>(address) - base) < kRange;
}

Result<CodePages> CodePages::load(const std::vector<uint8_t>& code) {
  CodePages pages;
  pages.bytes_ = (code.size() + kPage - 1) & ~(kPage - 1);
  std::byte* const base = range().take(pages.bytes_);
  if (!base) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no room for %zu bytes of kernel code", code.size());
  pages.base_ = base;
  if (mprotect(base, pages.bytes_, PROT_READ | PROT_WRITE))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "kernel code: %s", std::strerror(errno));
  std::memcpy(base, code.data(), code.size());
  if (mprotect(base, pages.bytes_, PROT_READ | PROT_EXEC))
    return fail(CUDA_ERROR_NOT_PERMITTED, "the system forbids executable memory: %s", std::strerror(errno));
  // Where the processor does not see by itself that what it fetches was written.
  __builtin___clear_cache(reinterpret_cast<char*>(base), reinterpret_cast<char*>(base) + code.size());
  return pages;
}

Result<std::unique_ptr<const LoadedKernel>> LoadedKernel::load(ptx::KernelBlob blob, Maturity maturity,
                                                               const void* program,
                                                               std::shared_ptr<CalledFunctions> apart) {
  if (blob.entryOffset >= blob.code.size())
    return fail(CUDA_ERROR_INVALID_IMAGE, "kernel blob of %zu bytes begins at %u", blob.code.size(), blob.entryOffset);
  VG_TRY(CodePages pages, CodePages::load(blob.code));
  auto kernel = std::make_unique<LoadedKernel>(std::move(pages));
  kernel->entry = reinterpret_cast<ptx::KernelEntry>(const_cast<std::byte*>(kernel->pages_.base()) + blob.entryOffset);
  kernel->traits = blob.traits;
  kernel->program = program;
  kernel->apart = std::move(apart);
  kernel->maturity_ = maturity;
  kernel->textSize_ = blob.textSize;
  kernel->lines_ = std::move(blob.lines);
  kernel->alignments_ = std::move(blob.alignments);
  return std::unique_ptr<const LoadedKernel>(std::move(kernel));
}

bool LoadedKernel::trusts(const std::byte* parameters) const {
  return std::all_of(alignments_.begin(), alignments_.end(),
                     [&](const ptx::AlignmentRule& rule) { return rule.holds(parameters); });
}

uint64_t LoadedKernel::expected(uint64_t warps) const {
  return traits.loops || traits.polls ? 0 : warps * times_.ofWarp(warps) / 1000;
}

uint32_t LoadedKernel::lineAt(const void* codeAddress) const {
  const size_t offset = static_cast<const std::byte*>(codeAddress) - pages_.base();
  if (!pages_.base() || offset >= textSize_) return apart ? apart->lineAt(codeAddress) : 0;
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset,
                                      [](size_t at, const ptx::LineEntry& entry) { return at < entry.codeOffset; });
  return after == lines_.begin() ? 0 : std::prev(after)->ptxLine & ~ptx::kNoted;
}

}  // namespace vg::backend::cpu
