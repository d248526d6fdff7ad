// Functions that programs call without defining them: the runner provides them.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/abi/device_runtime.h"

namespace vg::ptx {

enum class SystemCall : uint8_t { None, Print, AssertFail, Malloc, Free, SetConditional, DeviceRuntime };

inline SystemCall systemCallNamed(std::string_view name) {
  if (name == "vprintf") return SystemCall::Print;
  if (name == "__assertfail") return SystemCall::AssertFail;
  if (name == "malloc") return SystemCall::Malloc;
  if (name == "free") return SystemCall::Free;
  if (name == "cudaGraphSetConditional") return SystemCall::SetConditional;
  if (name == kDeviceRuntimeCall) return SystemCall::DeviceRuntime;
  return SystemCall::None;
}

}  // namespace vg::ptx
