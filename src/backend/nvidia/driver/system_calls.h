// The seam under everything that talks to the kernel driver: open, close, ioctl and mmap of its device files.
//
// One wrapper a system call and no policy, so that tests answer them in process (tests/gpu/fake_driver.h). Nothing else
// in the backend opens a device file. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vg::backend::nvidia {

class SystemCalls {
 public:
  // A descriptor, open for reading and writing and closed on exec; -errno when there is none.
  virtual int open(const std::string& path) = 0;
  virtual void close(int descriptor) = 0;
  // 0, or -errno. Goes on after interruptions.
  virtual int control(int descriptor, unsigned long request, void* argument) = 0;
  // Maps the descriptor's pages from `offset` on, readable and writable, over [address, address + bytes), which the
  // caller has reserved. 0, or -errno.
  virtual int map(int descriptor, void* address, size_t bytes, uint64_t offset) = 0;
  // Whether the process's page tables show the page of 4 KiB at `address`, which is mapped from a device file.
  virtual bool present(void* address) = 0;
  // The version that the loaded kernel module says of itself, such as "580.159.04"; "" when there is no module.
  virtual std::string moduleVersion() = 0;

  // Those of the operating system.
  static SystemCalls& real();

 protected:
  ~SystemCalls() = default;
};

// An open device file, closed with its owner.
class DeviceFile {
 public:
  DeviceFile() = default;
  DeviceFile(SystemCalls& calls, int descriptor) : calls_(&calls), descriptor_(descriptor) {}
  DeviceFile(DeviceFile&& other) noexcept : calls_(other.calls_), descriptor_(other.release()) {}
  DeviceFile& operator=(DeviceFile&& other) noexcept {
    if (this != &other) {
      reset();
      calls_ = other.calls_;
      descriptor_ = other.release();
    }
    return *this;
  }
  ~DeviceFile() { reset(); }

  int descriptor() const { return descriptor_; }
  bool isOpen() const { return descriptor_ >= 0; }
  void reset() {
    if (isOpen()) calls_->close(release());
  }
  // Leaves it open, for the caller.
  int release() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor;
  }

 private:
  SystemCalls* calls_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace vg::backend::nvidia
