// A device as the application sees it: the ordinal after CUDA_VISIBLE_DEVICES and its backend.
// Devices are made by cuInit and never destroyed.
#pragma once

#include <cuda.h>

#include <string>

#include "backend/device.h"
#include "base/result.h"

namespace vg::core {

class Device {
 public:
  Device(int ordinal, backend::Device& backend) : ordinal_(ordinal), backend_(backend) {}
  Device(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  CUdevice handle() const { return ordinal_; }
  backend::Device& backend() const { return backend_; }
  const backend::Traits& traits() const { return backend_.traits(); }
  int attribute(CUdevice_attribute which) const { return traits().attributes[which]; }
  // Whether its kernels can reach the other's memory.
  bool reaches(const Device& peer) const { return this != &peer && backend_.canReach(peer.backend_); }
  // "0000:01:00.0", from the PCI attributes.
  std::string pciBusId() const;

 private:
  const int ordinal_;
  backend::Device& backend_;
};

// Requires: the process gate is open, or the caller is cuInit.
int deviceCount();
Device& deviceAt(int ordinal);
// CUDA_ERROR_INVALID_DEVICE outside 0 .. deviceCount()-1.
Result<Device&> findDevice(CUdevice device);

// Makes the devices that CUDA_VISIBLE_DEVICES lets through, in its order; CUDA_ERROR_NO_DEVICE when none is left. For
// cuInit only.
CUresult makeDevices();

}  // namespace vg::core
