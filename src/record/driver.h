// The driver library that the program would have without a recorder: what each call is passed on to.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace vg::record {

// Null: the driver has no such entry point, or there is no driver, which is said once. Opens the driver when it is
// first asked.
void* driverFunction(unsigned number);
// By name, with the type of the entry point. Null as above.
#define VG_DRIVER(name) reinterpret_cast<decltype(&::name)>(::vg::record::driverFunctionNamed(#name))
void* driverFunctionNamed(const char* symbol);

}  // namespace vg::record
