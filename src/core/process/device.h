// A device as the application sees it: the ordinal after CUDA_VISIBLE_DEVICES, its backend, and its primary context.
// Devices are made by cuInit and never destroyed.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <string>
#include <thread>

#include "backend/device.h"
#include "base/mutex.h"
#include "base/result.h"

namespace vg::core {

class Context;

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

  // The primary context. Its handle exists before anything retains it.
  Context& primary() const { return *primary_; }
  // Counted: the first makes the context usable, the last release takes it apart. Thread-safe.
  Result<Context&> retainPrimary();
  CUresult releasePrimary();
  // Takes the context apart whoever retains it; the next retain makes it usable again. The count goes on.
  CUresult resetPrimary();
  CUresult setPrimaryFlags(unsigned flags);
  void primaryState(unsigned* flags, bool* active) const;

 private:
  friend CUresult makeDevices();

  const int ordinal_;
  backend::Device& backend_;
  Context* primary_ = nullptr;
  CUresult endPrimary(ReleasableLock& lock)
      VG_REQUIRES(primaryMutex_) VG_UNCHECKED_LOCKS;  // `lock` is of primaryMutex_
  CUresult awaitTeardown(ReleasableLock& lock)
      VG_REQUIRES(primaryMutex_) VG_UNCHECKED_LOCKS;  // `lock` is of primaryMutex_

  mutable Mutex primaryMutex_;  // guards what follows; not held while a primary context is taken apart
  std::condition_variable teardownDone_;
  std::thread::id teardownBy_ VG_GUARDED_BY(primaryMutex_);  // the thread that takes the context apart
  unsigned retained_ VG_GUARDED_BY(primaryMutex_) = 0;
  unsigned primaryFlags_ VG_GUARDED_BY(primaryMutex_) = 0;
  bool active_ VG_GUARDED_BY(primaryMutex_) = false;
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
