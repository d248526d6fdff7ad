// The version of the driver API that this library says it is, in the header's way: 13050 for 13.5.
#pragma once

namespace vg::core {

// The newest that include/cuda.h describes, or what VERDIGRIS_DRIVER_VERSION says. Read on the first call, which may
// come before cuInit: this variable alone, since programs may still change the others. Any thread.
int driverVersion();
// Whether it has what came with that version.
inline bool offers(int version) { return driverVersion() >= version; }

// Says in the log what is wrong with the setting. For cuInit.
void checkDriverVersion();

// "13.2" or "13020" -> 13020; 0 for what is no version from 13.0 to the newest.
int parseDriverVersion(const char* text);

}  // namespace vg::core
