#include "core/memory/pinned_memory.h"

#include "alloc/memory_source.h"
#include "base/undying.h"
#include "core/memory/device_visible_host.h"
#include "host_register/page_locker.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

class PinnedMemory final : public alloc::MemorySource {
 public:
  CUresult commit(std::byte* start, size_t bytes) override {
    VG_CHECK(memory_.commit(start, bytes));
    host_register::placeNearCaller(start, bytes);
    const Result<host_register::LockState> locked = locker_.lockOwn(start, bytes);
    if (!locked) memory_.decommit(start, bytes);
    if (locked) showToDevices(start, bytes, false);
    return locked.error();
  }
  void decommit(std::byte* start, size_t bytes) override {
    hideFromDevices(start, bytes);
    locker_.unlock(start, bytes);
    memory_.decommit(start, bytes);
  }

 private:
  alloc::ProcessMemory memory_;
  host_register::SystemPageLocker locker_{nullptr};
};

}  // namespace

alloc::MemorySource& pinnedSource() {
  return undyingFrom<PinnedMemory>([] { return PinnedMemory(); });  // heaps outlive everything
}

}  // namespace vg::core::memory
