// What the functions share: whether somebody has initialised the library, and the devices, as the library of the driver
// API beside this one reports them.
#pragma once

#include <vector>

#include "api/tables/private_table.h"
#include "nvml/nvml.h"

namespace vg::nvml {

// Counted: as many shutdowns as calls that succeeded end it. NVML_ERROR_DRIVER_NOT_LOADED when the driver library that
// this process finds is not ours.
nvmlReturn_t open();
nvmlReturn_t close();
bool isOpen();

// Requires of all below: isOpen().
unsigned deviceCount();
nvmlDevice_t handleOf(unsigned number);
// False for what is no handle of ours.
bool numberOf(nvmlDevice_t device, unsigned& number);
// What the device says of itself now. NVML_ERROR_INVALID_ARGUMENT for what is no handle.
nvmlReturn_t report(nvmlDevice_t device, api::DeviceReport& report);
// What other processes of this user have of it.
std::vector<api::OtherProcess> others(unsigned number);
// How much of the time since the last question the workers spent in kernels, of all processes, in per cent.
unsigned busyPercent(unsigned number, const api::DeviceReport& report);
// cuDriverGetVersion's answer.
int cudaVersion();

// Copies a text into a caller's buffer.
nvmlReturn_t give(const char* text, char* out, unsigned length);

}  // namespace vg::nvml
