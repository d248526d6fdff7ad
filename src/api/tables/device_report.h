// What the monitoring library is told of a device, through the table of private_table.h. The members of what it is told
// only grow.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::api {

// What libnvidia-ml.so.1 is told of a device.
struct DeviceReport {
  char name[96];
  CUuuid uuid;
  uint64_t totalMemory, usedMemory;  // bytes; used by this process
  int computeCapability;             // 10 * major + minor
  int attributes[CU_DEVICE_ATTRIBUTE_MAX];
  bool inUse;                // this process has a context on it
  unsigned runningKernels;   // now
  uint64_t busyNanoseconds;  // that its workers have spent in kernels, all together
  unsigned workers;
  bool nativeCode;  // a real GPU: runs native code, not PTX
};

// What another process of this user has of a device.
struct OtherProcess {
  unsigned pid, contexts;
  uint64_t usedMemory;  // bytes
  unsigned runningKernels, workers;
  uint64_t busyNanoseconds;
};

bool reportDevice(unsigned number, DeviceReport* report, size_t size);
void visitOtherProcesses(unsigned number, void (*visit)(void* state, const OtherProcess& process), void* state);

}  // namespace vg::api
