#include "api/tables/device_report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>

#include "alloc/heap.h"
#include "backend/device_use.h"
#include "backend/registry.h"
#include "core/contexts/primary_context.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "core/process/process.h"

namespace vg::api {
namespace {

// What only an initialised library knows: the memory in use and whether there is a context.
void addUse(const backend::Device& device, DeviceReport& report) {
  if (!core::initialised(core::gate.load(std::memory_order_acquire))) return;
  for (int ordinal = 0; ordinal < core::deviceCount(); ++ordinal) {
    core::Device& visible = core::deviceAt(ordinal);
    if (&visible.backend() != &device) continue;
    const alloc::Heap* const heap = core::memory::heapMadeOf(static_cast<unsigned>(ordinal));
    report.usedMemory = heap ? heap->used() : 0;
    unsigned flags;
    core::primaryOf(visible).state(&flags, &report.inUse);
    report.inUse |= report.usedMemory != 0;
  }
}

// None where a GPU could not be opened for want of something: nothing may unwind into who asks.
std::span<backend::Device* const> devicesIfAny() noexcept {
  try {
    return backend::devices();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

bool reportDevice(unsigned number, DeviceReport* out, size_t size) {
  const std::span<backend::Device* const> devices = devicesIfAny();
  if (number >= devices.size()) return false;
  const backend::Device& device = *devices[number];
  const backend::Traits& traits = device.traits();
  DeviceReport report{};
  std::snprintf(report.name, sizeof report.name, "%s", traits.name.c_str());
  report.uuid = traits.uuid;
  report.totalMemory = traits.totalMemory;
  report.computeCapability = traits.computeCapability;
  std::copy(traits.attributes.begin(), traits.attributes.end(), report.attributes);
  report.workers = traits.workers;
  report.nativeCode = traits.nativeCode;
  if (const backend::Activity* activity = device.activity()) {
    report.runningKernels = activity->running.load(std::memory_order_relaxed);
    report.busyNanoseconds = activity->busyNanoseconds.load(std::memory_order_relaxed);
  }
  addUse(device, report);
  std::memcpy(out, &report, std::min(size, sizeof report));
  return true;
}

void visitOtherProcesses(unsigned number, void (*visit)(void* state, const OtherProcess& process), void* state) {
  const std::span<backend::Device* const> devices = devicesIfAny();
  if (number >= devices.size()) return;
  backend::visitOtherUses(devices[number]->traits().uuid, [&](const backend::OtherUse& use) {
    visit(state, {static_cast<unsigned>(use.pid), use.contexts, use.usedMemory, use.runningKernels, use.workers,
                  use.busyNanoseconds});
  });
}

}  // namespace vg::api
