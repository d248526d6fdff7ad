// The names of the opcodes.
#pragma once

#include <cstdint>

namespace vg::ptx {

enum class Op : uint16_t {
  Invalid,
#define VG_PTX_OP(name, ...) name,
#include "ptx/text/ops.inc"
};

}  // namespace vg::ptx
