// Native code that comes along, packed by scripts/gpu-kernels (*_code.inc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace vg::cubin {

struct PackedCode {
  uint32_t architecture;  // 90 for sm_90
  size_t bytes;           // of the ELF file
  size_t packedBytes;
  const uint64_t* words;
};
// The ELF file.
Result<std::string> unpack(const PackedCode& code);

}  // namespace vg::cubin
