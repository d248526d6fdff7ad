// The handlers of entry_points.inc; each is called with the library open, but those of system.cpp that open it.
#pragma once

#include "nvml/nvml.h"

namespace vg::nvml::handlers {
#define NVML_LIVE(name, parameters, arguments) nvmlReturn_t name parameters;
#define NVML_STUB(name)
#include "nvml/entry_points.inc"
#undef NVML_LIVE
#undef NVML_STUB
}  // namespace vg::nvml::handlers
