// The arguments of a call of the device runtime, one after another as in C (ptx/abi/device_runtime), and what it
// answers.
#pragma once

#include <cstdint>
#include <cstring>

namespace vg::backend {

// Errors of the runtime API that kernels are told.
enum class RuntimeError : uint32_t {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidConfiguration = 9,
  InvalidPitchValue = 12,
  InvalidMemcpyDirection = 21,
  LaunchPendingCountExceeded = 69,
  InvalidDeviceFunction = 98,
  UnsupportedLimit = 215,
  InvalidResourceHandle = 400,
  LaunchOutOfResources = 701,
  NotSupported = 801,
};

class DeviceArguments {
 public:
  explicit DeviceArguments(uint64_t address) : next_(address) {}
  // The next one, of a type laid out as the caller's.
  template <class T>
  T take() {
    next_ = (next_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof value);
    next_ += sizeof value;
    return value;
  }

 private:
  uint64_t next_;
};

}  // namespace vg::backend
