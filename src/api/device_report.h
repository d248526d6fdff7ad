// What the monitoring library is told of a device: private_table.h.
#pragma once

#include "api/private_table.h"

namespace vg::api {

bool reportDevice(unsigned number, DeviceReport* report, size_t size);
void visitOtherProcesses(unsigned number, void (*visit)(void* state, const OtherProcess& process), void* state);

}  // namespace vg::api
