#include "core/pools/pool.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "alloc/watch.h"
#include "base/log.h"
#include "base/round.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_activity.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"

namespace vg::core::memory {

Pool::Pool(Owner& owner, const CUmemPoolProps& properties, Device& device, alloc::Heap* heap, alloc::Heap* charged)
    : owner_(owner), properties_(properties), device_(device), heap_(heap), charged_(charged) {
  if (ofDevice()) access_.flags[device.ordinal()] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// What its own heap keeps has nowhere to go but back.
Pool::~Pool() {
  for (int i = 0; i < deviceCount(); ++i)
    if (access(i) != CU_MEM_ACCESS_FLAGS_PROT_NONE) (void)grant(i, false);
  if (backing_.heap) backing_.heap->clear();
}

void Pool::own(std::unique_ptr<PoolSource> source, std::unique_ptr<alloc::Heap> heap) {
  backing_.source = std::move(source);
  backing_.heap = std::move(heap);
  heap_ = backing_.heap.get();
}

void Pool::own(std::unique_ptr<PoolRange> range, std::unique_ptr<alloc::Heap> heap, alloc::PhysicalRef facts) {
  backing_.facts = std::move(facts);
  backing_.range = std::move(range);
  backing_.heap = std::move(heap);
  heap_ = backing_.heap.get();
}

// Devices that share the pages of the process need nothing.
CUresult Pool::grant(int ordinal, bool all) {
  if (!ofDevice() || managed() || imported() || backing_.source || ordinal == device_.ordinal()) return CUDA_SUCCESS;
  backend::Device &other = deviceAt(ordinal).backend(), &owner = device_.backend();
  const std::span<std::byte> addresses =
      backing_.range ? std::span(reinterpret_cast<std::byte*>(backing_.range->start()), backing_.range->bytes())
                     : poolAddresses(device_);
  if (all) return other.reachRange(owner, addresses.data(), addresses.size());
  other.leaveRange(owner, addresses.data());
  return CUDA_SUCCESS;
}

CUresult Pool::setAccess(int ordinal, CUmemAccess_flags flags) {
  const bool all = flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (!all)
    for (const Point& point : pendingOn(deviceAt(ordinal))) point.wait();
  const MutexLock guard(access_.mutex);
  if (access(ordinal) == flags) return CUDA_SUCCESS;
  VG_CHECK(grant(ordinal, all));
  access_.flags[static_cast<size_t>(ordinal)].store(static_cast<uint8_t>(flags), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

// Reserves what is needed, in steps.
CUresult Pool::grow() {
  const size_t wanted = roundUp(needed(), kStep), most = roundUp(properties_.maxSize, kStep);
  if (most && wanted > most)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes in use of a pool of at most %zu", needed(), most);
  if (charged_ && !charged_->charge(wanted - account_.reserved))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes for a pool: %zu of %zu in use", wanted, charged_->used(),
                charged_->capacity());
  account_.reserved = wanted;
  account_.reservedHigh = std::max(account_.reservedHigh, account_.reserved);
  return CUDA_SUCCESS;
}

void Pool::shrinkTo(size_t bytes) {
  bytes = std::max(bytes, roundUp(needed(), kStep));
  if (bytes >= account_.reserved) return;
  if (charged_) charged_->uncharge(account_.reserved - bytes);
  account_.reserved = bytes;
}

// Counts an allocation; with an error nothing has changed.
CUresult Pool::take(size_t bytes) {
  account_.used += bytes;
  if (needed() > account_.reserved) [[unlikely]] {
    if (const CUresult grown = grow(); grown != CUDA_SUCCESS) {
      account_.used -= bytes;
      return grown;
    }
  }
  ++account_.live;
  account_.usedHigh = std::max(account_.usedHigh, account_.used);
  return CUDA_SUCCESS;
}

// A held block that was taken out becomes an allocation again.
Result<CUdeviceptr> Pool::begin(alloc::Record& record, size_t bytes) {
  if (const CUresult taken = take(bytes); taken != CUDA_SUCCESS) [[unlikely]] {
    heap_->release(record.base.load(std::memory_order_relaxed), record.id.load(std::memory_order_relaxed));
    return taken;
  }
  record.size.store(bytes, std::memory_order_relaxed);
  record.id.store(table().nextId(), std::memory_order_relaxed);
  record.attributes.store(0, std::memory_order_relaxed);
  record.access.store(0, std::memory_order_relaxed);
  record.state.store(alloc::State::Live, std::memory_order_release);
  alloc::tellBegan(record);
  return CUdeviceptr{record.base.load(std::memory_order_relaxed)};
}

namespace {

// Whoever raised the number of users lets go at the end of the scope.
struct UserEnd {
  explicit UserEnd(Pool& pool) : pool(pool) {}
  ~UserEnd() { pool.letGo(); }
  Pool& pool;
};

}  // namespace

Result<CUdeviceptr> Pool::allocate(Stream& stream, size_t bytes) {
  const size_t rounded = roundUp(bytes, alloc::kUnit);
  if (rounded < bytes) return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", bytes);
  {
    SpinGuard guard(lock_);
    if (end_.ended) return fail(CUDA_ERROR_INVALID_VALUE, "the pool was destroyed");
    if (alloc::Record* record = held_.take(rounded, stream.id())) [[likely]]
      return begin(*record, bytes);
    ++end_.users;
  }
  const UserEnd end(*this);
  return allocateNew(stream, bytes);
}

// Memory of another stream that this one may have without waiting for it.
alloc::Record* Pool::heldBy(Stream& stream, size_t rounded) {
  const bool anyDone = reuse(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC);
  const bool followed = reuse(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
  HeldBlock* block = held_.find(rounded, [&](const HeldBlock& candidate) {
    return candidate.known || (anyDone && candidate.point.done()) || (followed && stream.follows(candidate.point));
  });
  return block ? held_.remove(*block) : nullptr;
}

Result<CUdeviceptr> Pool::allocateNew(Stream& stream, size_t bytes) {
  const size_t rounded = roundUp(bytes, alloc::kUnit);
  Dropped dropped;
  {
    SpinGuard guard(lock_);
    settle(dropped);
    if (dropped.empty())
      if (alloc::Record* record = heldBy(stream, rounded)) return begin(*record, bytes);
    ++end_.users;
  }
  giveBack(dropped);
  Result<CUdeviceptr> address = allocateFromHeap(bytes);
  if (address.ok() || address.error() != CUDA_ERROR_OUT_OF_MEMORY) return address;
  if (Result<CUdeviceptr> held = allocateAfterOthers(stream, bytes)) return held;
  trim(0);
  return allocateFromHeap(bytes);
}

Result<CUdeviceptr> Pool::allocateFromHeap(size_t bytes) {
  {
    SpinGuard guard(lock_);
    if (end_.ended) return fail(CUDA_ERROR_INVALID_VALUE, "the pool was destroyed");
    VG_CHECK(take(bytes));
  }
  Result<alloc::Record*> record = heap_->allocate(bytes, {alloc::Kind::Pool, this, 0, 0});
  if (record) return CUdeviceptr{record.value()->base.load(std::memory_order_relaxed)};
  SpinGuard guard(lock_);
  account_.used -= bytes;
  --account_.live;
  shrinkTo(roundUp(std::max<size_t>(needed(), account_.threshold), kStep));
  return record.error();
}

// Memory that another stream has yet to finish with, after making this one wait for it.
Result<CUdeviceptr> Pool::allocateAfterOthers(Stream& stream, size_t bytes) {
  if (!reuse(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)) return CUDA_ERROR_OUT_OF_MEMORY;
  HeldBlock block;
  {
    SpinGuard guard(lock_);
    HeldBlock* found = held_.find(roundUp(bytes, alloc::kUnit), [](const HeldBlock&) { return true; });
    if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
    block = *found;
    held_.remove(*found);
  }
  const CUresult waits = stream.waitFor(block.point);
  SpinGuard guard(lock_);
  if (waits == CUDA_SUCCESS) return begin(*block.record, bytes);
  held_.add(block);  // an entry has just become unused
  return waits;
}

namespace {

// Gives memory back to the heap when a stream has got there. Whoever makes it has held the pool.
struct LateRelease : Continuation {
  LateRelease(Pool& pool, alloc::Heap& heap, alloc::Record& record, Point point)
      : pool(pool), heap(heap), base(record.base), id(record.id) {
    value = point.value;
    run = [](Continuation* self) { static_cast<LateRelease*>(self)->finish(); };
  }
  void finish() {
    heap.release(base, id);
    pool.leave();
    delete this;
  }

  Pool& pool;
  alloc::Heap& heap;
  const uintptr_t base;
  const uint64_t id;
};

}  // namespace

// What other processes may have mapped is not handed out again: the heap replaces it.
CUresult Pool::releaseShared(alloc::Record& record, Point point) {
  auto* const late = new LateRelease(*this, *heap_, record, point);
  {
    SpinGuard guard(lock_);
    alloc::State live = alloc::State::Live;
    if (!record.state.compare_exchange_strong(live, alloc::State::Released, std::memory_order_acq_rel)) {
      delete late;
      return fail(CUDA_ERROR_INVALID_VALUE, "%p was freed before", static_cast<void*>(record.data()));
    }
    account_.used -= record.bytes();
    --account_.live;
    ++end_.users;
  }
  if (point.done() || !point.timeline->whenReached(late)) late->finish();
  return CUDA_SUCCESS;
}

CUresult Pool::release(alloc::Record& record, const Stream& stream, Point point) {
  if (record.shared.load(std::memory_order_relaxed)) [[unlikely]]
    return releaseShared(record, point);
  SpinGuard guard(lock_);
  alloc::State live = alloc::State::Live;
  const size_t bytes = record.bytes();
  if (!record.state.compare_exchange_strong(live, alloc::State::Released, std::memory_order_acq_rel))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p was freed before", static_cast<void*>(record.data()));
  try {
    held_.add({.record = &record,
               .bytes = roundUp(bytes, alloc::kUnit),
               .stream = stream.id(),
               .point = point,
               .waits = hostWaits.load(std::memory_order_relaxed)});
  } catch (...) {
    record.state.store(alloc::State::Live, std::memory_order_release);
    throw;
  }
  memory_activity::released(record);
  account_.used -= bytes;
  --account_.live;
  return CUDA_SUCCESS;
}

CUresult Pool::releaseNow(alloc::Record& record) {
  {
    SpinGuard guard(lock_);
    alloc::State live = alloc::State::Live;
    if (!record.state.compare_exchange_strong(live, alloc::State::Released, std::memory_order_acq_rel))
      return fail(CUDA_ERROR_INVALID_VALUE, "%p was freed before", static_cast<void*>(record.data()));
    account_.used -= record.bytes();
    --account_.live;
    shrinkTo(account_.threshold / kStep * kStep);
    ++end_.users;
  }
  giveBack({&record});
  return CUDA_SUCCESS;
}

void Pool::countImported(size_t bytes, int live) {
  SpinGuard guard(lock_);
  account_.live += static_cast<uint64_t>(live);
  account_.used += live > 0 ? bytes : -bytes;
  account_.usedHigh = std::max(account_.usedHigh, account_.used);
}

// Requires: the number of users was raised under the lock when the records left the account.
void Pool::giveBack(const Dropped& records) {
  for (alloc::Record* record : records) {
    VG_LOG(Debug, "stream-ordered %p is free", static_cast<void*>(record->data()));
    heap_->release(record->base.load(std::memory_order_relaxed), record->id.load(std::memory_order_relaxed));
  }
  SpinGuard guard(lock_);
  --end_.users;
}

// Takes out what may go, oldest first, until no more than `keep` bytes are needed.
template <class May>
void Pool::drop(Dropped& dropped, size_t keep, May may) {
  for (HeldBlock *block = held_.oldest(), *next; block && needed() > keep; block = next) {
    next = block->ageNext;
    if (!may(*block)) continue;
    dropped.push_back(block->record);  // first what may fail
    held_.remove(*block);
  }
}

// After a wait of the host, what was freed before it is free for everybody, and what the pool has reserved falls to the
// threshold.
void Pool::settle(Dropped& dropped) {
  const uint64_t waits = hostWaits.load(std::memory_order_acquire);
  if (waits == settled_) return;
  settled_ = waits;
  for (HeldBlock* block = held_.oldest(); block; block = block->ageNext)
    block->known |= block->waits < waits && block->point.done();
  drop(dropped, account_.threshold, [](const HeldBlock& block) { return block.known; });
  shrinkTo(account_.threshold / kStep * kStep);
}

void Pool::collect(bool wait) {
  std::vector<Point> points;
  Dropped dropped;
  if (wait) {
    SpinGuard guard(lock_);
    for (HeldBlock* block = held_.oldest(); block; block = block->ageNext)
      if (!block->free()) points.push_back(block->point);
  }
  for (const Point& point : points) point.wait();
  {
    SpinGuard guard(lock_);
    settle(dropped);
    if (wait || end_.ended) {
      drop(dropped, 0, [](const HeldBlock& block) { return block.free(); });
      shrinkTo(0);
    }
    ++end_.users;
  }
  giveBack(dropped);
}

void Pool::trim(size_t keep) {
  Dropped dropped;
  {
    SpinGuard guard(lock_);
    settle(dropped);
    drop(dropped, keep, [](const HeldBlock& block) { return block.known; });
    shrinkTo(roundUp(keep, kStep));
    ++end_.users;
  }
  giveBack(dropped);
  if (!keep && heap_) heap_->trim();
}

void Pool::end() {
  {
    SpinGuard guard(lock_);
    end_.ended = true;
    account_.threshold = 0;
  }
  trim(0);
}

bool Pool::finished() {
  SpinGuard guard(lock_);
  if (!end_.ended || end_.finished || account_.live || end_.users || !held_.empty()) return false;
  end_.finished = true;
  shrinkTo(0);
  return true;
}

CUresult Pool::attribute(CUmemPool_attribute which, void* value) {
  const auto put = [value](auto number) {
    std::memcpy(value, &number, sizeof number);
    return CUDA_SUCCESS;
  };
  const int since = which < CU_MEMPOOL_ATTR_ALLOCATION_TYPE      ? 0
                    : which < CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID ? 13020
                                                                 : 13040;
  if (!offers(since)) return fail(CUDA_ERROR_INVALID_VALUE, "pool attribute %d came later", static_cast<int>(which));
  collect(false);
  SpinGuard guard(lock_);
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return put(static_cast<int>(reuse(which)));
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return put(account_.threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return put(account_.reserved);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return put(account_.reservedHigh);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return put(account_.used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return put(account_.usedHigh);
    case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
      return put(properties_.allocType);
    case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:  // what is imported cannot be handed on
      return put(imported() ? CU_MEM_HANDLE_TYPE_NONE : properties_.handleTypes);
    case CU_MEMPOOL_ATTR_LOCATION_ID:
      return put(properties_.location.id);
    case CU_MEMPOOL_ATTR_LOCATION_TYPE:
      return put(properties_.location.type);
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
      return put(uint64_t{properties_.maxSize});
    case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
      return put(static_cast<int>((properties_.usage & CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS) != 0));
    case CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID:  // devices have one domain
      return put(-1);
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "there is no pool attribute %d", static_cast<int>(which));
}

CUresult Pool::setAttribute(CUmemPool_attribute which, const void* value) {
  uint64_t wide = 0;
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      int on;
      std::memcpy(&on, value, sizeof on);
      reuse_[which - 1].store(on != 0, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: {
      std::memcpy(&wide, value, sizeof wide);
      SpinGuard guard(lock_);
      account_.threshold = wide;
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: {
      std::memcpy(&wide, value, sizeof wide);
      if (wide) return fail(CUDA_ERROR_INVALID_VALUE, "a high mark can only be set to 0");
      SpinGuard guard(lock_);
      if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH) account_.usedHigh = account_.used;
      if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) account_.reservedHigh = account_.reserved;
      return CUDA_SUCCESS;
    }
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "pool attribute %d cannot be set", static_cast<int>(which));
  }
}

}  // namespace vg::core::memory
