#include "core/memory_activity.h"

#include <atomic>
#include <unordered_map>

#include "activity/recorder.h"
#include "alloc/watch.h"
#include "base/spin.h"
#include "core/memory.h"

namespace vg::core::memory_activity {
namespace {

constexpr size_t kMostDevices = 256, kKinds = 9;

// Of each living allocation its bytes, by address; and sums. Under a lock of a few instructions, because who tells
// holds one of his own. Never destroyed.
struct Living {
  std::atomic<uint32_t> lock{0};
  std::unordered_map<uintptr_t, size_t> bytes;
  uint64_t ofDevice[kMostDevices] = {};
  uint64_t ofKind[kKinds] = {};  // where no device has it
};
Living& living() {
  static Living* const instance = new Living;
  return *instance;
}

constinit const alloc::Watcher* before = nullptr;  // who watches beside us
constinit alloc::Watcher watcher{};

uint64_t& sumOf(Living& all, const activity::Memory& memory) {
  return memory.ofDevice ? all.ofDevice[memory.device] : all.ofKind[static_cast<size_t>(memory.kind)];
}

activity::Memory describe(const alloc::Record& record, bool freed) {
  activity::Memory memory{};
  memory.kind = static_cast<activity::MemoryKind>(record.kind.load(std::memory_order_relaxed));
  memory.freed = freed;
  const uint16_t window = record.window.load(std::memory_order_relaxed);
  memory.ofDevice = memory::inWindowOfDevice(record) && window < kMostDevices;
  memory.device = memory.ofDevice ? window : 0;
  memory.thread = activity::threadNumber();
  memory.correlation = activity::threadPart.correlation;
  memory.time = monotonicNanoseconds();
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

void count(const alloc::Record& record) {
  activity::Memory memory = describe(record, false);
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

void uncount(const alloc::Record& record) {
  activity::Memory memory = describe(record, true);
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
template <void (*kDo)(const alloc::Record&)>
void ifRecording(const alloc::Record& record) noexcept {
  if (activity::recording()) try {
      kDo(record);
    } catch (const std::bad_alloc&) {
    }
}

void began(const alloc::Record& record) {
  if (before) before->began(record);
  ifRecording<count>(record);
}

void ended(const alloc::Record& record) {
  if (before) before->ended(record);
  ifRecording<uncount>(record);
}

}  // namespace

void start() {
  const alloc::Watcher* const other = alloc::watcher.load(std::memory_order_acquire);
  if (other == &watcher) return;
  before = other;
  watcher = {began, ended, before ? before->gap : 0, before ? before->retired : 0};
  alloc::watcher.store(&watcher, std::memory_order_release);
}

void released(const alloc::Record& record) {
  if (activity::recording()) [[unlikely]]
    ifRecording<uncount>(record);
}

}  // namespace vg::core::memory_activity
