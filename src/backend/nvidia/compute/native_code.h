// Kernels that we bring along as native code for compute capability 9.0 (scripts/gpu-kernels).
#pragma once

#include "backend/nvidia/compute/grid.h"

namespace vg::backend::nvidia {

struct NativeCode {
  const uint64_t* words;
  size_t bytes;
  uint32_t registers, barriers;
  uint32_t localBytes;   // a thread
  uint32_t sharedBytes;  // a block, with what the system reserves
  uint32_t parameterBytes;

  // Once the words are at `program`, which is 128-byte aligned.
  KernelCode at(uint64_t program) const {
    KernelCode code;
    code.program = program;
    code.registers = registers;
    code.barriers = barriers;
    code.localBytes = localBytes;
    code.sharedBytes = sharedBytes;
    code.parameterBase = kDriverWords;
    code.bank0Bytes = kDriverWords + parameterBytes;
    return code;
  }
};

}  // namespace vg::backend::nvidia
