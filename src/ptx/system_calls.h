// Functions that programs call without defining them: the runner provides them.
#pragma once

#include <cstdint>
#include <string_view>

namespace vg::ptx {

enum class SystemCall : uint8_t { None, Print, AssertFail, Malloc, Free, SetConditional };

inline SystemCall systemCallNamed(std::string_view name) {
  if (name == "vprintf") return SystemCall::Print;
  if (name == "__assertfail") return SystemCall::AssertFail;
  if (name == "malloc") return SystemCall::Malloc;
  if (name == "free") return SystemCall::Free;
  if (name == "cudaGraphSetConditional") return SystemCall::SetConditional;
  return SystemCall::None;
}

}  // namespace vg::ptx
