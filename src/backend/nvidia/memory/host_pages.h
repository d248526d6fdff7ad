// Page-locked memory of the host that the GPUs of the process read and write themselves: what applications register,
// and what core hands out as page-locked. Every GPU sees all of it at the host's addresses, whichever context asked for
// it. A GPU for which the driver refuses to pin has its copies staged instead. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backend/nvidia/driver/gpu.h"
#include "backend/nvidia/memory/known_ranges.h"
#include "base/sync/mutex.h"
#include "host_register/page_locker.h"

namespace vg::backend::nvidia {

class HostPages final : public host_register::PageLocker {
 public:
  // All GPUs that join use `uvm`, in which a range of addresses exists once.
  explicit HostPages(Uvm& uvm);
  ~HostPages();

  // A GPU that sees all that is shown, until leave(); `known` is told what it sees. Requires: both live that long.
  void join(Gpu& gpu, KnownRanges& known);
  void leave(const Gpu& gpu);

  Result<host_register::LockState> lock(void* start, size_t bytes, bool readOnly) override;
  void unlock(void* start, size_t bytes) override;

  // Whole pages that are locked already; nothing happens if they are shown. Any part of what was shown can be hidden.
  void show(std::byte* start, size_t bytes, bool readOnly);
  void hide(std::byte* start, size_t bytes);
  // The same once, and for ever. CUDA_ERROR_OUT_OF_MEMORY when `user` does not see it.
  CUresult showOnce(const Gpu& user, std::byte* start, size_t bytes);

 private:
  struct Member {
    Gpu* gpu;
    KnownRanges* known;
  };
  class Shown;
  void showLocked(std::byte* start, size_t bytes, bool readOnly) VG_REQUIRES(mutex_);
  void hideLocked(std::byte* start, size_t bytes) VG_REQUIRES(mutex_);
  void holdPage(std::byte* page, bool readOnly) VG_REQUIRES(mutex_);
  void dropPage(std::byte* page) VG_REQUIRES(mutex_);
  bool sees(const Gpu& gpu, const std::byte* start, size_t bytes) VG_REQUIRES(mutex_);

  Uvm& uvm_;
  host_register::SystemPageLocker system_;
  Mutex mutex_;
  std::vector<Member> members_ VG_GUARDED_BY(mutex_);
  std::map<std::byte*, std::unique_ptr<Shown>> shown_ VG_GUARDED_BY(mutex_);  // by first page
  // Pages of which locked ranges cover only a part. Two ranges may share such a page, and either may go first, so each
  // is shown by itself.
  struct PartPage {
    unsigned ranges;  // that cover a part of it
    bool readOnly;
  };
  std::map<std::byte*, PartPage> partPages_ VG_GUARDED_BY(mutex_);
};

// Lets a GPU see the host's pages as long as this lives, and gives it pages of its own. What it needs must be pinned
// for this GPU; whether others see it, too, does not matter. Thread-safe.
class GpuHostPages {
 public:
  GpuHostPages(HostPages& pages, Gpu& gpu, KnownRanges& known) : pages_(pages), gpu_(gpu) { pages.join(gpu, known); }
  ~GpuHostPages() { pages_.leave(gpu_); }
  GpuHostPages(const GpuHostPages&) = delete;

  // Shows whole pages, once and for ever. CUDA_ERROR_OUT_OF_MEMORY when the driver refuses to pin them.
  CUresult showOnce(std::byte* start, size_t bytes) { return pages_.showOnce(gpu_, start, bytes); }
  // Memory of our own, zeroed, in whole pages, of which a fork gets no copy. CUDA_ERROR_OUT_OF_MEMORY.
  Result<std::byte*> allocate(size_t bytes);
  void release(std::byte* start, size_t bytes);

 private:
  HostPages& pages_;
  const Gpu& gpu_;
};

}  // namespace vg::backend::nvidia
