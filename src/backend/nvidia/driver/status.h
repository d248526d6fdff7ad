// The kernel driver's own status codes, in words and as CUDA's results.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace vg::backend::nvidia {

// NV_STATUS, 0 is success. A failing system call becomes kSystemCall | errno.
using Status = uint32_t;
inline constexpr Status kOk = 0, kNothingToDo = 0x10006, kSystemCall = 0x40000000;

enum : Status {
  kInsufficientResources = 0x1a,
  kInsufficientPermissions = 0x1b,
  kInvalidAddress = 0x1e,
  kInvalidArgument = 0x1f,
  kInvalidClass = 0x22,
  kInvalidClient = 0x23,
  kInvalidCommand = 0x24,
  kInvalidFlags = 0x29,
  kInvalidObject = 0x31,
  kInvalidHandle = 0x33,
  kInvalidParent = 0x36,
  kInvalidParameterStructure = 0x3a,
  kInvalidState = 0x40,
  kGpuLost = 0xf,
  kNoMemory = 0x51,
  kNotSupported = 0x56,
  kObjectNotFound = 0x57,
  kPageTableNotAvailable = 0x5d,
  kInsertDuplicate = 0x19,
  kAddressInUse = 0x68,
};

// "no memory (0x51)"; the text lives until the thread's next call.
const char* statusText(Status status);
// The nearest answer of CUDA.
CUresult resultOf(Status status);
// Logs what was refused and why, and returns resultOf(status). Requires: status is a failure.
[[gnu::cold, gnu::format(printf, 2, 3)]] CUresult refused(Status status, const char* what, ...);

}  // namespace vg::backend::nvidia
