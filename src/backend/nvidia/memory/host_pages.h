// Page-locked memory of the host that a GPU reads and writes itself: what applications register, and what core hands
// out as page-locked. Where the driver refuses to pin, copies stage the memory instead. Thread-safe.
#pragma once

#include <map>
#include <memory>

#include "backend/nvidia/driver/block.h"
#include "backend/nvidia/memory/known_ranges.h"
#include "base/sync/mutex.h"
#include "host_register/page_locker.h"

namespace vg::backend::nvidia {

class HostPages final : public host_register::PageLocker {
 public:
  HostPages(Gpu& gpu, KnownRanges& known) : gpu_(gpu), known_(known) {}

  Result<host_register::LockState> lock(void* start, size_t bytes, bool readOnly) override;
  void unlock(void* start, size_t bytes) override;

  // Whole pages that are locked already. Any part of what was shown can be hidden.
  void show(std::byte* start, size_t bytes, bool readOnly);
  void hide(std::byte* start, size_t bytes);
  // The same once, and for ever. CUDA_ERROR_OUT_OF_MEMORY when the driver refuses to pin.
  CUresult showOnce(std::byte* start, size_t bytes);
  // Memory of our own, zeroed, in whole pages, of which a fork gets no copy. CUDA_ERROR_OUT_OF_MEMORY.
  Result<std::byte*> allocate(size_t bytes);
  void release(std::byte* start, size_t bytes);

 private:
  void showLocked(std::byte* start, size_t bytes, bool readOnly) VG_REQUIRES(mutex_);
  void hideLocked(std::byte* start, size_t bytes) VG_REQUIRES(mutex_);
  void holdPage(std::byte* page, bool readOnly) VG_REQUIRES(mutex_);
  void dropPage(std::byte* page) VG_REQUIRES(mutex_);

  Gpu& gpu_;
  KnownRanges& known_;
  host_register::SystemPageLocker system_;
  Mutex mutex_;
  struct Shown {
    std::unique_ptr<Block> block;
    bool readOnly;
  };
  std::map<std::byte*, Shown> shown_ VG_GUARDED_BY(mutex_);  // by first page
  // Pages of which locked ranges cover only a part. Two ranges may share such a page, and either may go first, so each
  // is shown by itself.
  struct PartPage {
    unsigned ranges;  // that cover a part of it
    bool readOnly;
  };
  std::map<std::byte*, PartPage> partPages_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::backend::nvidia
