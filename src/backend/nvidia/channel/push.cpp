#include "backend/nvidia/channel/push.h"

namespace vg::backend::nvidia::host {
namespace {

void semaphore(Push& push, uint64_t address, uint64_t payload, uint32_t execute) {
  push.write(kHostSubchannel, kSemAddressLow,
             {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(payload),
              static_cast<uint32_t>(payload >> 32), execute | kPayload64});
}

}  // namespace

void release(Push& push, uint64_t address, uint64_t payload) {
  semaphore(push, address, payload, kRelease | kWaitForIdle | kTimestamp);
}

void acquire(Push& push, uint64_t address, uint64_t payload) {
  semaphore(push, address, payload, kAcquireCircular | kSwitchWhileWaiting);
}

}  // namespace vg::backend::nvidia::host
