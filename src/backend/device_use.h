// What this process uses of each device, on the board that the user's other processes read
// (base/system/process_board.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "backend/device.h"
#include "base/system/process_board.h"

namespace vg::backend {

// An entry of the board.
struct DeviceUse {
  CUuuid device{};                    // zeros: the entry is nobody's
  std::atomic<size_t> usedMemory{0};  // bytes that the device's heap counts
  std::atomic<uint32_t> contexts{0};  // on it, now
  uint32_t workers = 0;               // threads that run its kernels
  Activity activity;
  uint32_t number = 0;  // among the emulated devices of the process, by which others can have the same ones
  uint8_t emulated = 0;
};
static_assert(sizeof(DeviceUse) <= board::kEntryBytes && std::atomic<size_t>::is_always_lock_free);

// The entry of a device of this process, from its first call on; never taken away. Devices beyond those that the board
// has room for, or for which there is no memory, share one that nobody sees. Thread-safe.
DeviceUse& useOf(const Device& device) noexcept;

struct OtherUse {
  pid_t pid = 0;
  size_t usedMemory = 0;
  uint32_t contexts = 0, workers = 0, runningKernels = 0;
  uint64_t busyNanoseconds = 0;
};
// What other processes of this user have of the device with this UUID.
void visitOtherUses(const CUuuid& device, const std::function<void(const OtherUse&)>& visit);

}  // namespace vg::backend
