// Makes native code of PTX, and links parts of programs, with a compiler that is found on the machine: nvJitLink's
// library, or the programs ptxas and nvlink of a toolkit. What was made is kept in the kernel cache on disk, so that
// the same input needs no compiler a second time. Thread-safe; takes as long as compilers take.
#pragma once

#include <string>

#include "base/result.h"
#include "cubin/compile_request.h"

namespace vg::cubin {

// An ELF file without anything unresolved but the functions of the driver. CUDA_ERROR_JIT_COMPILER_NOT_FOUND when there
// is no compiler, and the log says what to install; CUDA_ERROR_UNSUPPORTED_PTX_VERSION for text that is newer than
// every compiler, CUDA_ERROR_INVALID_PTX when it refuses the input otherwise, with its words in logs.error.
Result<std::string> compile(const Request& request, const Logs& logs);

}  // namespace vg::cubin
