#include "core/memory/device_visible_host.h"

#include "core/process/device.h"

namespace vg::core::memory {

void showToDevices(std::byte* start, size_t bytes, bool readOnly) {
  for (int i = 0; i < deviceCount(); ++i) deviceAt(i).backend().hostMemoryLocked(start, bytes, readOnly);
}

void hideFromDevices(std::byte* start, size_t bytes) {
  for (int i = 0; i < deviceCount(); ++i) deviceAt(i).backend().hostMemoryUnlocked(start, bytes);
}

}  // namespace vg::core::memory
