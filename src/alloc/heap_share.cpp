// Allocations that other processes see: their pages move to shared memory and never serve anybody else after that.
#include "alloc/heap.h"
#include "base/log.h"
#include "base/sync/mutex.h"

namespace vg::alloc {

Result<std::shared_ptr<const Heap::Share>> Heap::share(uintptr_t base, uint64_t id) {
  ReleasableLock lock(mutex_);
  heap::Slab* slab = nullptr;
  heap::Run* run = nullptr;
  Record* record = find(base, id, slab, run);
  if (!record) return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is no allocation any more", base);
  if (record->shared.load(std::memory_order_relaxed)) return shares_.at(id);
  const SharedRange range = rangeOf(slab, run);
  if (!range.state) {
    if (slab && slab->live < slab->slots) slabs_.unlist(*slab);
    range.state = new heap::SharedState;
  }
  ++range.state->users;
  const CUresult moved = move(lock, range);
  --range.state->users;
  if (moved == CUDA_SUCCESS && record->live() && record->id.load(std::memory_order_relaxed) == id)
    return shareOf(*record, range);
  if (!range.state->users) endSharedIfEmpty(slab, run);
  return moved != CUDA_SUCCESS ? moved : fail(CUDA_ERROR_INVALID_VALUE, "%#lx was freed while it was exported", base);
}

std::shared_ptr<const Heap::Share> Heap::shareOf(Record& record, const SharedRange& range) {
  std::shared_ptr<const Share>& share = shares_[record.id.load(std::memory_order_relaxed)];
  if (!share)
    share = std::make_shared<const Share>(
        Share{range.state->shared.memory, static_cast<size_t>(record.data() - range.start), record.bytes()});
  record.shared.store(true, std::memory_order_relaxed);
  return share;
}

// The pages that move together with an allocation: those of its slab, or its run.
Heap::SharedRange Heap::rangeOf(heap::Slab* slab, heap::Run* run) {
  if (slab) return {span_.at(slab->granule->run->position, slab->page), kPage, slab->shared};
  if (run->granule)
    return {span_.at(run->granule->run->position, run->position), size_t{run->extent} << kPageShift, run->shared};
  return {span_.at(run->position), size_t{run->extent} << kGranuleShift, run->shared};
}

// Makes the range shared memory if it is not. The lock is open while bytes move; `users` keeps the range from ending.
CUresult Heap::move(ReleasableLock& lock, const SharedRange& range) {
  heap::SharedState& state = *range.state;
  while (state.moving) lock.wait(moved_);
  if (state.shared.moved == range.bytes) return CUDA_SUCCESS;
  state.moving = true;
  lock.unlock();
  const CUresult result = source_.share(range.start, range.bytes, state.shared);
  lock.lock();
  state.moving = false;
  moved_.notify_all();
  return result;
}

// An allocation in shared pages has ended. Requires: its record is free.
void Heap::releaseShared(heap::Slab* slab, heap::Run* run) {
  if (slab) {
    pages_.countLive(*slab->granule, -1);
    --slab->live;
    if (!slab->shared->users) endSharedIfEmpty(slab, nullptr);
    return;
  }
  run->shared->ended = true;
  if (!run->shared->users) endSharedIfEmpty(nullptr, run);
}

// Gives back what holds nothing any more, as fresh memory. Pages that cannot be made fresh go with their granule.
// Requires: no thread is about to share it.
void Heap::endSharedIfEmpty(heap::Slab* slab, heap::Run* run) {
  const SharedRange range = rangeOf(slab, run);
  if (slab ? slab->live : !range.state->ended) return;
  const CUresult fresh = source_.unshare(range.start, range.bytes);
  delete range.state;
  range.state = nullptr;
  if (fresh == CUDA_ERROR_NOT_SUPPORTED && (slab || run->granule)) {
    heap::Pages::spoil(slab, run);
  } else if (fresh != CUDA_SUCCESS) {
    VG_LOG(Warn, "%zu bytes at %p were shared and cannot be reused", range.bytes, static_cast<void*>(range.start));
    return;
  }
  slab ? slabs_.retire(*slab) : releaseRun(*run);
}

}  // namespace vg::alloc
