// The devices of this process, made once from VERDIGRIS_DEVICES by the first call and never destroyed.
#pragma once

#include <string>
#include <vector>

#include "backend/device.h"

namespace vg::backend {

// In VERDIGRIS_DEVICES' order. An entry that names no known kind or no sensible count is left out with a log line; so
// is a device that cannot be made. "auto" are the real GPUs that can be used, and one emulated device where there is
// none or where a setting was made that only emulated devices follow. Thread-safe.
const std::vector<Device*>& devices();

// One entry of VERDIGRIS_DEVICES, such as "cpu:2".
struct DeviceEntry {
  std::string kind;
  int count = 1;
  bool all = false;  // "gpu:all": as many as there are
};
// The entries of such a text that make sense.
std::vector<DeviceEntry> parseDevices(const std::string& text);

// A kind of device that VERDIGRIS_DEVICES may name.
struct Kind {
  const char* name;
  // `ordinal` counts the devices of this kind. Null when the device cannot be made (the reason is in the log).
  Device* (*create)(int ordinal);
  // Whether the machine has anything of the kind, usable or not; null: always.
  bool (*present)() = nullptr;
};
// The kinds in this library, ended by a null name. Defined by the layer of the backends.
extern const Kind kKinds[];
// The devices of such a text (or "auto") of these kinds. Throws std::bad_alloc, and then has made none.
std::vector<Device*> makeDevices(const std::string& text, const Kind* kinds);

}  // namespace vg::backend
