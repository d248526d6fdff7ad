#include "backend/nvidia/channel/push.h"

namespace vg::backend::nvidia::host {
namespace {

void write(Push& push, const Semaphore& s, uint32_t execute) {
  push.write(kHostSubchannel, kSemAddressLow,
             {static_cast<uint32_t>(s.address), static_cast<uint32_t>(s.address >> 32),
              static_cast<uint32_t>(s.payload), static_cast<uint32_t>(s.payload >> 32), execute | kPayload64});
}

}  // namespace

void release(Push& push, const Semaphore& semaphore) { write(push, semaphore, kRelease | kWaitForIdle | kTimestamp); }

void acquire(Push& push, const Semaphore& semaphore, Meanwhile meanwhile) {
  write(push, semaphore, kAcquireCircular | (meanwhile == Meanwhile::Leave ? kSwitchWhileWaiting : 0));
}

}  // namespace vg::backend::nvidia::host
