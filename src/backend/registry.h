// The devices of this process, made once from VERDIGRIS_DEVICES by the first call and never destroyed.
#pragma once

#include <vector>

#include "backend/device.h"

namespace vg::backend {

// Kinds and counts in VERDIGRIS_DEVICES' order, such as "cpu:2". An entry that names no known kind is left out with a
// log line. Thread-safe.
const std::vector<Device*>& devices();

// A kind of device that VERDIGRIS_DEVICES may name. `create` makes the device with the process-wide number `ordinal`;
// null when it cannot (the reason is in the log).
struct Kind {
  const char* name;
  Device* (*create)(int ordinal);
};
// The kinds linked into this library, ended by a null name. Defined by the backends' layer (backend/cpu/kinds.cpp).
extern const Kind kKinds[];

}  // namespace vg::backend
