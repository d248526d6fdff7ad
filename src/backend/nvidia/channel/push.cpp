#include "backend/nvidia/channel/push.h"

namespace vg::backend::nvidia::host {
namespace {

void write(Push& push, const Semaphore& s, uint32_t execute) {
  push.write(kHostSubchannel, kSemAddressLow,
             {static_cast<uint32_t>(s.address), static_cast<uint32_t>(s.address >> 32),
              static_cast<uint32_t>(s.payload), static_cast<uint32_t>(s.payload >> 32), execute});
}

uint32_t acquiring(Meanwhile meanwhile) {
  return kAcquireCircular | (meanwhile == Meanwhile::Leave ? kSwitchWhileWaiting : 0);
}

}  // namespace

void release(Push& push, const Semaphore& semaphore) {
  write(push, semaphore, kRelease | kPayload64 | kWaitForIdle | kTimestamp);
}

void releaseAtOnce(Push& push, const Semaphore& semaphore, bool timestamp) {
  write(push, semaphore, kRelease | kPayload64 | (timestamp ? kTimestamp : 0));
}

void acquire(Push& push, const Semaphore& semaphore, Meanwhile meanwhile) {
  write(push, semaphore, kPayload64 | acquiring(meanwhile));
}

void acquireCount(Push& push, uint64_t address, uint32_t count, Meanwhile meanwhile) {
  write(push, {address, count}, acquiring(meanwhile));
}

}  // namespace vg::backend::nvidia::host
