// Copies and fills that kernels ask the device runtime for: what their arguments mean. Takes no lock and allocates
// nothing, because what the arguments point to is memory of the kernel, which may not be there.
#pragma once

#include "backend/command.h"
#include "backend/device_side/device_arguments.h"
#include "ptx/abi/device_runtime.h"

namespace vg::backend {

struct DeviceCopy {
  RuntimeError error = RuntimeError::Success;
  Command command;          // a CopyCommand or a FillCommand
  uint64_t slices = 0;      // how often, each time for the next slice; 0: there is nothing to do
  uint64_t slicePitch = 0;  // bytes from one fill to the next
  uint64_t stream = 0;

  void nextSlice();
};

// Requires: a call for a copy or a fill.
DeviceCopy describeCopy(ptx::DeviceCall which, DeviceArguments& arguments, FaultSink& faults);

}  // namespace vg::backend
