#include "core/process/device.h"

#include <cstdio>
#include <vector>

#include "backend/registry.h"
#include "base/log.h"
#include "base/settings.h"
#include "core/contexts/context.h"
#include "core/contexts/green_context.h"
#include "core/process/inside_host_function.h"
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
  for (size_t index : visible) {
    auto* device = new Device(static_cast<int>(devices->size()), *all[index]);
    device->primary_ = &reservePrimary(*device);
    devices->push_back(device);
  }
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

// Waits until no other thread takes the context apart. A destructor of a stored value that asks for the context which
// is being taken apart under it would wait for itself.
CUresult Device::awaitTeardown(ReleasableLock& lock) {
  if (insideHostFunction)
    return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not retain, release or reset a primary context");
  if (teardownBy_ == std::this_thread::get_id())
    return fail(CUDA_ERROR_NOT_PERMITTED, "the primary context of device %d is being taken apart by this thread",
                ordinal_);
  while (teardownBy_ != std::thread::id()) lock.wait(teardownDone_);
  return CUDA_SUCCESS;
}

CUresult Device::endPrimary(ReleasableLock& lock) {
  active_ = false;
  teardownBy_ = std::this_thread::get_id();
  lock.unlock();
  deactivatePrimary(*primary_);
  lock.lock();
  primaryFlags_ = 0;
  teardownBy_ = std::thread::id();
  teardownDone_.notify_all();
  return CUDA_SUCCESS;
}

Result<Context&> Device::retainPrimary() {
  ReleasableLock lock(primaryMutex_);
  VG_CHECK(awaitTeardown(lock));
  if (!active_) {
    VG_CHECK(checkNoFault());
    activatePrimary(*primary_, primaryFlags_ | CU_CTX_MAP_HOST);
    active_ = true;
  }
  ++retained_;
  return *primary_;
}

CUresult Device::releasePrimary() {
  ReleasableLock lock(primaryMutex_);
  VG_CHECK(awaitTeardown(lock));
  if (!retained_) return fail(CUDA_ERROR_INVALID_CONTEXT, "nobody retains the primary context of device %d", ordinal_);
  return --retained_ || !active_ ? CUDA_SUCCESS : endPrimary(lock);
}

CUresult Device::resetPrimary() {
  ReleasableLock lock(primaryMutex_);
  VG_CHECK(awaitTeardown(lock));
  if (hasGreenContexts(*this))
    return fail(CUDA_ERROR_NOT_PERMITTED, "green contexts hold the primary context of device %d", ordinal_);
  return active_ ? endPrimary(lock) : CUDA_SUCCESS;
}

CUresult Device::setPrimaryFlags(unsigned flags) {
  VG_CHECK(checkContextFlags(flags));
  if (flags & CU_CTX_MAP_HOST) return fail(CUDA_ERROR_INVALID_VALUE, "primary contexts map host memory in any case");
  const MutexLock lock(primaryMutex_);
  primaryFlags_ = flags;
  return active_ ? primary_->setFlags(flags) : CUDA_SUCCESS;
}

void Device::primaryState(unsigned* flags, bool* active) const {
  const MutexLock lock(primaryMutex_);
  *flags = primaryFlags_;
  *active = active_;
}

}  // namespace vg::core
