// Makes native code of PTX, and links parts of programs, with a compiler that is found on the machine: nvJitLink's
// library, or the programs ptxas and nvlink of a toolkit. What was made is kept in the kernel cache on disk, so that
// the same input needs no compiler a second time. Thread-safe; takes as long as compilers take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace vg::cubin {

enum class InputKind : uint8_t { Ptx, Cubin, FatBinary, Object, Library, LtoIr };

struct Input {
  InputKind kind = InputKind::Ptx;
  std::string name;  // for messages
  std::string bytes;
};

struct Logs {
  std::string* info = nullptr;
  std::string* error = nullptr;
};

struct Request {
  uint32_t architecture = 0;  // of the device: 90 for sm_90
  std::vector<Input> inputs;  // at least one
  uint32_t maxRegisters = 0;  // a thread; 0: the compiler's choice
  bool linked = false;        // a single text too goes through the linker, so that its functions keep their names

  // "sm_90", or "sm_90a" where a PTX input is made for that architecture alone.
  std::string target() const;
};

// An ELF file without anything unresolved but the functions of the driver. CUDA_ERROR_JIT_COMPILER_NOT_FOUND when there
// is no compiler, and the log says what to install; CUDA_ERROR_UNSUPPORTED_PTX_VERSION for text that is newer than
// every compiler, CUDA_ERROR_INVALID_PTX when it refuses the input otherwise, with its words in logs.error.
Result<std::string> compile(const Request& request, const Logs& logs);

}  // namespace vg::cubin
