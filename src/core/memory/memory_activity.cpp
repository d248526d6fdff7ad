#include "core/memory/memory_activity.h"

#include <atomic>
#include <unordered_map>

#include "activity/recorder.h"
#include "alloc/watch.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/sync/spin_lock.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"

namespace vg::core::memory_activity {
namespace {

constexpr size_t kMostDevices = 256;

// Of each living allocation its bytes, by address; and sums. Under a lock of a few instructions, because who tells
// holds one of his own. Never destroyed.
struct Living {
  SpinLock lock;
  std::unordered_map<uintptr_t, size_t> bytes VG_GUARDED_BY(lock);
  uint64_t ofDevice[kMostDevices] VG_GUARDED_BY(lock) = {};
  uint64_t ofKind[activity::kMemoryKinds] VG_GUARDED_BY(lock) = {};  // where no device has it
};
Living& living() { return undying<Living, Living>(); }

constinit const alloc::Watcher* before = nullptr;  // who watches beside us
constinit alloc::Watcher watcher{};

uint64_t& sumOf(Living& all, const activity::Memory& memory) {
  return memory.ofDevice ? all.ofDevice[memory.device] : all.ofKind[static_cast<size_t>(memory.kind)];
}

activity::Memory describe(activity::MemoryKind kind, bool freed) {
  activity::Memory memory{};
  memory.kind = kind;
  memory.freed = freed;
  memory.thread = activity::threadNumber();
  memory.correlation = activity::threadPart.correlation;
  memory.outer = activity::threadPart.outer;
  if (const Context* const current = threadState.current) memory.context = current->id();
  memory.time = activity::now();
  return memory;
}

activity::Memory describe(const alloc::Record& record, bool freed) {
  const auto kind = memory::isOfModule(record)
                        ? activity::MemoryKind::Module
                        : static_cast<activity::MemoryKind>(record.kind.load(std::memory_order_relaxed));
  activity::Memory memory = describe(kind, freed);
  const uint16_t window = record.window.load(std::memory_order_relaxed);
  memory.ofDevice = memory::inWindowOfDevice(record) && window < kMostDevices;
  memory.device = memory.ofDevice ? window : 0;
  memory.address = record.base.load(std::memory_order_relaxed);
  memory.bytes = record.bytes();
  return memory;
}

void tell(const activity::Memory& memory) {
  activity::Record record;
  record.kind = activity::RecordKind::Memory;
  record.memory = memory;
  activity::tell(record);
}

activity::Memory describePhysical(uintptr_t handle, const int* device, bool freed) {
  activity::Memory memory = describe(activity::MemoryKind::Physical, freed);
  memory.ofDevice = device && static_cast<size_t>(*device) < kMostDevices;
  memory.device = memory.ofDevice ? static_cast<uint16_t>(*device) : 0;
  memory.address = handle;
  return memory;
}

void count(activity::Memory memory) {
  {
    Living& all = living();
    const SpinGuard guard(all.lock);
    size_t& bytes = all.bytes[memory.address];
    uint64_t& sum = sumOf(all, memory);
    sum += memory.bytes - bytes;  // what was there has not been told to end
    bytes = memory.bytes;
    memory.inUse = sum;
  }
  tell(memory);
}

void uncount(activity::Memory memory) {
  {
    Living& all = living();
    const SpinGuard guard(all.lock);
    const auto found = all.bytes.find(memory.address);
    if (found == all.bytes.end()) return;  // it was released before it went back
    memory.bytes = found->second;
    all.bytes.erase(found);
    memory.inUse = sumOf(all, memory) -= memory.bytes;
  }
  tell(memory);
}

// Without memory for what is known of an allocation, nothing is: the allocation itself has succeeded.
template <class Do>
void ifRecording(Do act) noexcept {
  if (activity::recording()) try {
      act();
    } catch (const std::bad_alloc&) {
    }
}

void began(const alloc::Record& record) {
  if (before) before->began(record);
  ifRecording([&] { count(describe(record, false)); });
}

void ended(const alloc::Record& record) {
  if (before) before->ended(record);
  ifRecording([&] { uncount(describe(record, true)); });
}

}  // namespace

void start() {
  static constinit Mutex starting;
  const MutexLock lock(starting);
  const alloc::Watcher* const other = alloc::watcher.load(std::memory_order_acquire);
  if (other == &watcher) return;
  before = other;
  watcher = {began, ended, before ? before->gap : 0, before ? before->retired : 0};
  alloc::watcher.store(&watcher, std::memory_order_release);
}

void released(const alloc::Record& record) {
  ifRecording([&] { uncount(describe(record, true)); });
}

void physicalBegan(uintptr_t handle, size_t bytes, const int* device) {
  ifRecording([&] {
    activity::Memory memory = describePhysical(handle, device, false);
    memory.bytes = bytes;
    count(memory);
  });
}

void physicalEnded(uintptr_t handle, const int* device) {
  ifRecording([&] { uncount(describePhysical(handle, device, true)); });
}

}  // namespace vg::core::memory_activity
