// The kinds of device of this library: the only room that sees all backends.
#include <new>

#include "backend/cpu/device.h"
#include "backend/cpu/faults/faults.h"
#include "backend/cpu/run/worker_parallel.h"
#include "backend/nvidia/device.h"
#include "backend/registry.h"
#include "base/undying.h"

namespace vg::backend {
namespace {

// Throws std::bad_alloc: who asks again finds the devices that there was no memory for.
Device* createCpu(int ordinal) { return new cpu::CpuDevice(ordinal, cpu::Workers::shared()); }

Device* createGpu(int ordinal) {
  // Never destroyed: copies may run until the process ends.
  auto* const threads = &undyingFrom<cpu::WorkerParallel>([] { return cpu::WorkerParallel(cpu::Workers::shared()); });
  Device* const device = nvidia::GpuDevice::open(ordinal, threads);
  if (device) cpu::faults::arm();  // copies touch memory of the application
  return device;
}

}  // namespace

const Kind kKinds[] = {{"cpu", createCpu}, {"gpu", createGpu, nvidia::GpuDevice::driverIsThere}, {nullptr, nullptr}};

}  // namespace vg::backend
