#include "backend/device_use.h"

#include <cstring>
#include <new>

#include "base/sync/mutex.h"

namespace vg::backend {
namespace {

constinit DeviceUse unseen;

// Newest first; never ends.
struct Known {
  const Device* device;
  DeviceUse* use;
  Known* next;
};
constinit Mutex mutex;
constinit Known* known VG_GUARDED_BY(mutex) = nullptr;

DeviceUse& newUse(const Traits& device) VG_REQUIRES(mutex) {
  std::byte* const entry = board::takeEntry();
  if (!entry) return unseen;
  auto* const use = new (entry) DeviceUse;
  use->workers = device.workers;
  use->emulated = !device.nativeCode;
  for (const Known* at = known; at; at = at->next) use->number += use->emulated && at->use->emulated;
  use->device = device.uuid;
  return *use;
}

OtherUse readUse(pid_t pid, const DeviceUse& use) {
  return {pid,
          use.usedMemory.load(std::memory_order_relaxed),
          use.contexts.load(std::memory_order_relaxed),
          use.workers,
          use.activity.running.load(std::memory_order_relaxed),
          use.activity.busyNanoseconds.load(std::memory_order_relaxed)};
}

}  // namespace

DeviceUse& useOf(const Device& device) noexcept {
  const MutexLock lock(mutex);
  for (const Known* at = known; at; at = at->next)
    if (at->device == &device) return *at->use;
  auto* const made = new (std::nothrow) Known{&device, &unseen, known};
  if (!made) return unseen;
  made->use = &newUse(device.traits());
  known = made;
  return *made->use;
}

void visitOtherUses(const CUuuid& device, const std::function<void(const OtherUse&)>& visit) {
  board::readOthers([&](pid_t pid, board::Entries entries) {
    for (size_t at = 0; at < entries.size(); at += board::kEntryBytes) {
      const auto& use = *reinterpret_cast<const DeviceUse*>(entries.data() + at);
      if (!std::memcmp(&use.device, &device, sizeof device)) visit(readUse(pid, use));
    }
  });
}

}  // namespace vg::backend
