// Which devices CUDA_VISIBLE_DEVICES lets through, and in which order.
#pragma once

#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"

namespace vg::core {

// Entries are indices or UUIDs ("GPU-" and a prefix that fits one device). The list ends at the first entry that names
// no device; an empty text lets nothing through. CUDA_ERROR_INVALID_DEVICE for a device that is listed twice.
// CUDA_DEVICE_ORDER does not matter: the
// devices are all of one speed and stand in the order of their PCI addresses.
Result<std::vector<size_t>> visibleDevices(const std::string& list, const std::vector<backend::Device*>& all);
// All of `count`.
std::vector<size_t> visibleDevices(size_t count);
// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
std::string uuidText(const CUuuid& uuid);

}  // namespace vg::core
