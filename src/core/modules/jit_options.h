// The options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate: the log buffers, the wall time, and the many
// that mean nothing to an emulated device and are accepted.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "backend/device.h"
#include "base/result.h"

namespace vg::core {

class JitOptions {
 public:
  // Checks and reads. CUDA_ERROR_INVALID_VALUE for options that do not exist and for missing arrays.
  CUresult read(unsigned count, const CUjit_option* options, void** values);
  backend::LoadOptions loadOptions() { return {&infoLog_, &errorLog_}; }
  std::string& infoLog() { return infoLog_; }
  std::string& errorLog() { return errorLog_; }
  // Whether the native code that is asked for runs on a device of this compute capability.
  bool isFor(int capability) const;
  // A thread's most; 0: the compiler's choice.
  uint32_t maxRegisters() const { return maxRegisters_; }
  // Has PTX keep to it.
  void limitRegisters(std::string& text) const;
  // Hands the logs and figures to the caller's buffers, whether loading succeeded or not.
  void writeBack() const;

 private:
  struct Buffer {
    char* text = nullptr;
    size_t size = 0;
    void** written = nullptr;  // the slot of the size option, receives the bytes that were written
  };
  static void fill(const Buffer& buffer, const std::string& text);

  Buffer info_, error_;
  void** wallTime_ = nullptr;
  uint32_t maxRegisters_ = 0;
  int target_ = 0;        // a compute capability; 0: the device's
  uint64_t started_ = 0;  // nanoseconds
  std::string infoLog_, errorLog_;
};

}  // namespace vg::core
