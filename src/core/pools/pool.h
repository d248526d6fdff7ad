// One memory pool: its account, what it holds for reuse, and the rules by which it hands that out.
//
// Most pools have no memory of their own: they take it from a heap that all pools of the device (or the host) share and
// give it back there; what they have reserved is an account, which counts against the device's memory. A pool that
// other processes may share, or that lies on a node of the host, has a heap over a file of its own
// (core/pools/pool_source.h); one of a device with memory of its own has a range of addresses and a heap of its own if
// other devices may be let in there.
//
// Memory that a stream has freed stays with the pool: the same stream has it back at once, in stream order; others as
// the pool's attributes allow. It returns to the heap when the pool is asked something, or needs room, after the host
// has waited for the work before the free. As the vendor's driver does, a pool makes one stream wait for another only
// when it could not grow otherwise.
//
// A pool lives until it is destroyed and its last allocation is freed. All functions are thread-safe; the lock is held
// for some instructions only.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <vector>

#include "alloc/heap.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "base/sync/spin_lock.h"
#include "core/pools/pool_source.h"
#include "core/pools/reusable_memory.h"
#include "core/streams/stream.h"

namespace vg::core {

class Device;

namespace memory {

class Pool {
 public:
  // Memory of a pool that it takes from no shared heap, and the files that processes share it by. Set before anybody
  // knows the pool.
  struct Backing {
    std::unique_ptr<PoolSource> source;  // outlives heap
    std::unique_ptr<PoolRange> range;    // the same
    std::unique_ptr<alloc::Heap> heap;
    alloc::PhysicalRef imported;  // the file of an imported pool
    // A file without memory that other processes know the pool by: allocations travel one by one
    // (core/memory/ipc_exports.h).
    alloc::PhysicalRef facts;
    std::atomic<bool> exported{false};  // another process may know the pool: its pointers can be exported
  };
  // Who made the pool (core/pools/pool_registry.h).
  class Owner {
   public:
    // Takes the pool apart when it has ended and its last memory has gone.
    virtual void reclaim(Pool& pool) = 0;

   protected:
    ~Owner() = default;
  };
  // `heap`: where its memory comes from, null for an imported pool; `charged`: whose capacity it counts against.
  Pool(Owner& owner, const CUmemPoolProps& properties, Device& device, alloc::Heap* heap, alloc::Heap* charged);
  ~Pool();

  // Before anybody knows the pool: its own memory, or that of another process.
  void own(std::unique_ptr<PoolSource> source, std::unique_ptr<alloc::Heap> heap);
  // `facts`: the file that other processes know the pool by, null when it is not shared.
  void own(std::unique_ptr<PoolRange> range, std::unique_ptr<alloc::Heap> heap, alloc::PhysicalRef facts);
  void import(alloc::PhysicalRef file) { backing_.imported = std::move(file); }

  CUmemoryPool handle() { return reinterpret_cast<CUmemoryPool>(this); }
  const CUmemPoolProps& properties() const { return properties_; }
  Device& device() const { return device_; }
  bool ofDevice() const { return properties_.location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
  bool ofHost() const {
    return properties_.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           properties_.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  }
  static constexpr size_t kStep = size_t{32} << 20;  // the vendor's driver reserves so much at a time
  bool managed() const { return properties_.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED; }
  bool imported() const { return backing_.imported != nullptr; }
  const Backing& backing() const { return backing_; }
  void noteExported() { backing_.exported.store(true, std::memory_order_relaxed); }
  // What other processes may be given: null unless the pool was made to be shared.
  const alloc::PhysicalMemory* sharedFile() const {
    if (backing_.facts) return backing_.facts.get();
    return backing_.source && properties_.handleTypes ? &backing_.source->file() : nullptr;
  }

  // CUDA_ERROR_OUT_OF_MEMORY beyond the pool's or the device's limit. Requires: bytes > 0, not imported.
  Result<CUdeviceptr> allocate(Stream& stream, size_t bytes);
  // In the order of the stream; `point` is reached when the stream has got there. CUDA_ERROR_INVALID_VALUE when
  // somebody else has freed it.
  CUresult release(alloc::Record& record, const Stream& stream, Point point);
  // At once. The same error.
  CUresult releaseNow(alloc::Record& record);
  // One that another process made is known here (`live` 1) or not any more (-1).
  void countImported(size_t bytes, int live);

  CUresult attribute(CUmemPool_attribute which, void* value);
  CUresult setAttribute(CUmemPool_attribute which, const void* value);
  // Gives back what it holds and no stream needs, down to `keep` reserved bytes.
  void trim(size_t keep);
  // What streams have finished with goes back to the heap; with `wait`, waits for them first.
  void collect(bool wait);
  CUmemAccess_flags access(int ordinal) const {
    return static_cast<CUmemAccess_flags>(access_.flags[static_cast<size_t>(ordinal)].load(std::memory_order_relaxed));
  }
  // What a device's kernels may do with all memory of the pool from now on; taking away waits for the device's work.
  // CUDA_ERROR_OUT_OF_MEMORY changes nothing. Requires: the device is the pool's own or reaches it.
  CUresult setAccess(int ordinal, CUmemAccess_flags flags);

  // The handle is gone: nothing is allocated any more, what is allocated stays.
  void end();
  bool ended() {
    SpinGuard guard(lock_);
    return end_.ended;
  }
  // Whether the pool has ended and nothing of it is left: true for one caller.
  bool finished();
  // Keeps the pool while somebody works with it who has no allocation of it.
  void hold() {
    SpinGuard guard(lock_);
    ++end_.users;
  }
  void letGo() {
    SpinGuard guard(lock_);
    --end_.users;
  }
  // The same, by who may be the last.
  void leave() {
    letGo();
    owner_.reclaim(*this);
  }

 private:
  CUresult grant(int ordinal, bool all);
  CUresult releaseShared(alloc::Record& record, Point point);
  Result<CUdeviceptr> allocateNew(Stream& stream, size_t bytes);
  alloc::Record* heldBy(Stream& stream, size_t rounded) VG_REQUIRES(lock_);
  Result<CUdeviceptr> begin(alloc::Record& record, size_t bytes) VG_REQUIRES(lock_);
  Result<CUdeviceptr> allocateFromHeap(size_t bytes);
  Result<CUdeviceptr> allocateAfterOthers(Stream& stream, size_t bytes);
  CUresult take(size_t bytes) VG_REQUIRES(lock_);
  CUresult grow() VG_REQUIRES(lock_);
  void shrinkTo(size_t bytes) VG_REQUIRES(lock_);
  size_t needed() const VG_REQUIRES(lock_) { return account_.used + held_.bytes(); }
  using Dropped = std::vector<alloc::Record*>;
  void settle(Dropped& dropped) VG_REQUIRES(lock_);
  template <class May>
  void drop(Dropped& dropped, size_t keep, May may) VG_REQUIRES(lock_);
  void giveBack(const Dropped& records);
  bool reuse(CUmemPool_attribute which) const { return reuse_[which - 1].load(std::memory_order_relaxed); }

  Owner& owner_;
  const CUmemPoolProps properties_;
  Device& device_;
  alloc::Heap* heap_;
  alloc::Heap* const charged_;
  Backing backing_;
  struct Access {
    static constexpr size_t kMostDevices = 256;
    Mutex mutex;
    std::atomic<uint8_t> flags[kMostDevices] = {};  // by device; written under mutex
  } access_;
  std::atomic<bool> reuse_[3] = {true, true, true};  // by CUmemPool_attribute from 1 on

  SpinLock lock_;
  HeldMemory held_ VG_GUARDED_BY(lock_);
  struct Account {
    uint64_t live = 0;                                                               // allocations
    uint64_t used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0, threshold = 0;  // bytes
  };
  Account account_ VG_GUARDED_BY(lock_);
  uint64_t settled_ VG_GUARDED_BY(lock_) = 0;  // the number of waits that settle() has seen
  struct End {
    unsigned users = 0;  // threads that work with it outside the lock
    bool ended = false, finished = false;
  };
  End end_ VG_GUARDED_BY(lock_);
};

}  // namespace memory
}  // namespace vg::core
