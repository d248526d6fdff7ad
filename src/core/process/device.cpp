#include "core/process/device.h"

#include <cstdio>
#include <vector>

#include "backend/registry.h"
#include "base/log.h"
#include "base/settings.h"
#include "core/process/visible_devices.h"

namespace vg::core {
namespace {

constinit std::vector<Device*>* made = nullptr;  // set by cuInit before the gate opens, then constant

}  // namespace

int deviceCount() { return static_cast<int>(made->size()); }

Device& deviceAt(int ordinal) { return *(*made)[static_cast<size_t>(ordinal)]; }

Result<Device&> findDevice(CUdevice device) {
  if (device < 0 || device >= deviceCount())
    return fail(CUDA_ERROR_INVALID_DEVICE, "device %d is not in 0..%d", device, deviceCount() - 1);
  return deviceAt(device);
}

CUresult makeDevices() {
  if (made) return CUDA_SUCCESS;
  const std::vector<backend::Device*>& all = backend::devices();
  const Settings& s = settings();
  std::vector<size_t> visible = visibleDevices(all.size());
  if (s.visibleDevicesSet()) {
    VG_TRY(visible, visibleDevices(s.visibleDevices, all));
  }
  if (visible.empty())
    return fail(CUDA_ERROR_NO_DEVICE, "no device: VERDIGRIS_DEVICES=%s offers %zu, CUDA_VISIBLE_DEVICES%s%s",
                s.devices.c_str(), all.size(), s.visibleDevicesSet() ? "=" : " is not set",
                s.visibleDevicesSet() ? s.visibleDevices.c_str() : "");
  auto* devices = new std::vector<Device*>;
  for (size_t index : visible) devices->push_back(new Device(static_cast<int>(devices->size()), *all[index]));
  made = devices;
  return CUDA_SUCCESS;
}

std::string Device::pciBusId() const {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0",
                static_cast<unsigned>(attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)),
                static_cast<unsigned>(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)),
                static_cast<unsigned>(attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)));
  return text;
}

}  // namespace vg::core
