// What a parse accepts (parser.h).
#pragma once

#include <cstdint>

namespace vg::ptx {

struct ParseOptions {
  // Largest target the device accepts (121 for 12.1); a module for a newer one is CUDA_ERROR_NO_BINARY_FOR_GPU... the
  // driver's code for text is CUDA_ERROR_INVALID_PTX or UNSUPPORTED_PTX_VERSION. 0: do not check.
  uint32_t maxTarget = 0;
  // Sums of approximate quotients are made as a GPU's compiler makes them (facts/contraction.h), which costs more where
  // quotients are no products.
  bool joinsQuotients = true;
};

}  // namespace vg::ptx
