#include "backend/nvidia/memory/host_pages.h"

#include <sys/mman.h>

#include <algorithm>

#include "backend/nvidia/driver/memory_object.h"
#include "base/log.h"
#include "base/memory/out_of_memory.h"

namespace vg::backend::nvidia {
namespace {

std::byte* pageOf(void* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) & ~(kSmallPage - 1));
}

// The pages that a range touches: first and last one where it covers only a part of them, and those between.
struct Pages {
  std::byte *head = nullptr, *tail = nullptr;
  std::byte *whole = nullptr, *wholeEnd = nullptr;
};

Pages pagesOf(void* start, size_t bytes) {
  std::byte* const from = static_cast<std::byte*>(start);
  std::byte* const to = from + bytes;
  Pages pages;
  pages.whole = pageOf(from), pages.wholeEnd = pageOf(to);
  if (pages.whole != from) pages.head = pages.whole, pages.whole += kSmallPage;
  if (pages.wholeEnd != to && pages.wholeEnd != pages.head) pages.tail = pages.wholeEnd;
  return pages;
}

}  // namespace

// A range of UVM over pages of the host, and the memory object by which each GPU sees them: a GPU's page tables take
// objects of its own.
class HostPages::Shown {
 public:
  static Result<std::unique_ptr<Shown>> create(Uvm& uvm, std::byte* start, size_t bytes, bool readOnly) {
    std::unique_ptr<Shown> made(new Shown(uvm, start, bytes, readOnly));
    VG_CHECK(uvm.createRange(made->address(), bytes));
    made->ranged_ = true;
    return made;
  }
  ~Shown() {
    for (const View& view : views_) view.member.known->remove(start_);
    if (ranged_) uvm_.freeRange(address(), bytes_);
  }
  Shown(const Shown&) = delete;

  size_t bytes() const { return bytes_; }
  bool readOnly() const { return readOnly_; }

  // Nothing happens where it is seen.
  CUresult showTo(const Member& member) {
    if (viewOf(*member.gpu) != views_.end()) return CUDA_SUCCESS;
    views_.reserve(views_.size() + 1);
    VG_TRY(std::unique_ptr<MemoryObject> memory, MemoryObject::pin(*member.gpu, start_, bytes_, readOnly_));
    const CUuuid& gpu = member.gpu->facts().uuid;
    VG_CHECK(uvm_.mapMemory(gpu, address(), bytes_, memory->handle(), 0, readOnly_));
    if (const CUresult known = member.known->add(start_, bytes_, Place::Pinned); known != CUDA_SUCCESS) {
      (void)uvm_.unmapMemory(gpu, address(), bytes_);
      return known;
    }
    views_.push_back({member, std::move(memory)});
    return CUDA_SUCCESS;
  }
  void hideFrom(const Gpu& gpu) {
    const auto view = viewOf(gpu);
    if (view == views_.end()) return;
    view->member.known->remove(start_);
    (void)uvm_.unmapMemory(gpu.facts().uuid, address(), bytes_);
    views_.erase(view);
  }
  bool seen() const { return !views_.empty(); }

 private:
  struct View {
    Member member;
    std::unique_ptr<MemoryObject> memory;
  };
  Shown(Uvm& uvm, std::byte* start, size_t bytes, bool readOnly)
      : uvm_(uvm), start_(start), bytes_(bytes), readOnly_(readOnly) {}
  uint64_t address() const { return reinterpret_cast<uint64_t>(start_); }
  std::vector<View>::iterator viewOf(const Gpu& gpu) {
    return std::ranges::find_if(views_, [&](const View& one) { return one.member.gpu == &gpu; });
  }

  Uvm& uvm_;
  std::byte* const start_;
  const size_t bytes_;
  const bool readOnly_;
  bool ranged_ = false;
  std::vector<View> views_;
};

HostPages::HostPages(Uvm& uvm) : uvm_(uvm) {}
HostPages::~HostPages() = default;

void HostPages::join(Gpu& gpu, KnownRanges& known) {
  const MutexLock guard(mutex_);
  members_.push_back({&gpu, &known});
  // Pages that it cannot see are staged.
  for (const auto& entry : shown_)
    (void)unlessOutOfMemory([&]() VG_REQUIRES(mutex_) { return entry.second->showTo(members_.back()); });
}

void HostPages::leave(const Gpu& gpu) {
  const MutexLock guard(mutex_);
  for (const auto& [start, shown] : shown_) shown->hideFrom(gpu);
  std::erase_if(members_, [&](const Member& member) { return member.gpu == &gpu; });
}

bool HostPages::sees(const Gpu& gpu, const std::byte* start, size_t bytes) {
  return std::ranges::any_of(members_, [&](const Member& member) {
    return member.gpu == &gpu && member.known->placeOf(start, bytes) == Place::Pinned;
  });
}

Result<host_register::LockState> HostPages::lock(void* start, size_t bytes, bool readOnly) {
  VG_TRY(const host_register::LockState state, system_.lock(start, bytes, readOnly));
  const Pages pages = pagesOf(start, bytes);
  const MutexLock guard(mutex_);
  // Pages that there is no memory to remember are staged, as those are that the driver does not pin.
  (void)unlessOutOfMemory([&]() VG_REQUIRES(mutex_) {
    if (pages.head) holdPage(pages.head, readOnly);
    if (pages.whole < pages.wholeEnd)
      showLocked(pages.whole, static_cast<size_t>(pages.wholeEnd - pages.whole), readOnly);
    if (pages.tail) holdPage(pages.tail, readOnly);
    return CUDA_SUCCESS;
  });
  return state;
}

void HostPages::unlock(void* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  {
    const MutexLock guard(mutex_);
    if (pages.head) dropPage(pages.head);
    if (pages.whole < pages.wholeEnd) hideLocked(pages.whole, static_cast<size_t>(pages.wholeEnd - pages.whole));
    if (pages.tail) dropPage(pages.tail);
  }
  system_.unlock(start, bytes);
}

// A page that the device may only read is shown anew when a range that it may write shares it.
void HostPages::holdPage(std::byte* page, bool readOnly) {
  const auto [at, isNew] = partPages_.try_emplace(page, PartPage{0, readOnly});
  PartPage& part = at->second;
  ++part.ranges;
  if (!isNew && (readOnly || !part.readOnly)) return;
  if (!isNew) hideLocked(page, kSmallPage);
  part.readOnly = readOnly;
  showLocked(page, kSmallPage, readOnly);
}

void HostPages::dropPage(std::byte* page) {
  const auto at = partPages_.find(page);
  if (at == partPages_.end() || --at->second.ranges) return;
  partPages_.erase(at);
  hideLocked(page, kSmallPage);
}

void HostPages::show(std::byte* start, size_t bytes, bool readOnly) {
  const MutexLock guard(mutex_);
  showLocked(start, bytes, readOnly);
}

// What the driver does not pin for a GPU, such as a page that is pinned already, is staged.
void HostPages::showLocked(std::byte* start, size_t bytes, bool readOnly) {
  const auto before = shown_.find(start);
  if (before != shown_.end() && before->second->bytes() == bytes && before->second->readOnly() == readOnly) {
    // Who was refused may not be any more.
    for (const Member& member : members_) (void)unlessOutOfMemory([&] { return before->second->showTo(member); });
    return;
  }
  size_t refused = 0;
  const CUresult shown = unlessOutOfMemory([&]() VG_REQUIRES(mutex_) {
    VG_TRY(std::unique_ptr<Shown> made, Shown::create(uvm_, start, bytes, readOnly));
    for (const Member& member : members_) refused += made->showTo(member) != CUDA_SUCCESS;
    // A range that no GPU sees would only keep others away.
    if (made->seen()) shown_.insert_or_assign(start, std::move(made));
    return CUDA_SUCCESS;
  });
  if (shown != CUDA_SUCCESS) refused = members_.size();
  if (refused)
    VG_LOG(Info, "%zu of %zu GPUs do not see %zu bytes of the host at %p: copies are staged, kernels fault", refused,
           members_.size(), bytes, static_cast<void*>(start));
}

CUresult HostPages::showOnce(const Gpu& user, std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  if (sees(user, start, bytes)) return CUDA_SUCCESS;
  const bool wasShown = shown_.contains(start);
  showLocked(start, bytes, false);
  if (sees(user, start, bytes)) return CUDA_SUCCESS;
  if (!wasShown) hideLocked(start, bytes);
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of the host cannot be shown to the device", bytes);
}

void HostPages::hide(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  hideLocked(start, bytes);
}

// A range goes as a whole; what is left of it is shown anew.
void HostPages::hideLocked(std::byte* start, size_t bytes) {
  std::byte* const end = start + bytes;
  auto at = shown_.upper_bound(start);  // ranges do not overlap: only the one before may reach into this one
  if (at != shown_.begin()) --at;
  std::vector<std::byte*> touched;
  for (; at != shown_.end() && at->first < end; ++at)
    if (start < at->first + at->second->bytes()) touched.push_back(at->first);
  for (std::byte* const from : touched) {
    const bool readOnly = shown_[from]->readOnly();
    std::byte* const behind = from + shown_[from]->bytes();
    shown_.erase(from);
    if (from < start) showLocked(from, static_cast<size_t>(start - from), readOnly);
    if (behind > end) showLocked(end, static_cast<size_t>(behind - end), readOnly);
  }
}

Result<std::byte*> GpuHostPages::allocate(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes to be pinned", bytes);
  (void)madvise(memory, bytes, MADV_DONTFORK);
  auto* const start = static_cast<std::byte*>(memory);
  const CUresult shown = showOnce(start, bytes);
  if (shown == CUDA_SUCCESS) return start;
  munmap(memory, bytes);
  return shown;
}

void GpuHostPages::release(std::byte* start, size_t bytes) {
  pages_.hide(start, bytes);
  munmap(start, bytes);
}

}  // namespace vg::backend::nvidia
