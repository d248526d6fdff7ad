// What an application hands to cuModuleLoadData and cuLibraryLoadData, taken apart: which PTX in it fits the device.
//
// Accepted forms, told apart by their first bytes: fat binary wrapper (version 1, and version 2 with an array of
// relocatable containers), bare fat binary container, ELF cubin, NUL-terminated PTX text. Sizes come from the headers;
// every offset is checked against them before it is used, and with an unknown total size the promised bytes are checked
// to be mapped. Nothing keeps a pointer into the image afterwards. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace vg::images {

inline constexpr size_t kUnknownSize = ~size_t{0};

struct SelectOptions {
  uint32_t capability = 0;     // of the device: 121 for 12.1
  bool disablePtxJit = false;  // CUDA_DISABLE_PTX_JIT
  std::string* log = nullptr;  // receives what was found and why nothing fits
};

// A kernel described by native code of a real GPU.
struct NativeKernel {
  struct Parameter {
    uint32_t offset, size;  // bytes in the parameter buffer
  };
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t sharedBytes = 0;
  uint32_t registers = 0;
};

struct Selected {
  std::vector<std::string> ptx;             // one module, or several relocatable ones to link
  std::vector<NativeKernel> nativeKernels;  // of a bare cubin: they can be described and not launched
  uint32_t target = 0;                      // of the PTX that was chosen: 90 for sm_90; 0 for text and cubins
};

// Finds what to load. CUDA_ERROR_INVALID_VALUE for a null image, CUDA_ERROR_INVALID_IMAGE for damaged input or no known
// form, CUDA_ERROR_NO_BINARY_FOR_GPU when no PTX fits, CUDA_ERROR_JIT_COMPILATION_DISABLED when PTX is all there is and
// may not be used. A bare cubin succeeds: it has kernels that nobody can launch.
Result<Selected> select(const void* image, size_t size, const SelectOptions& options);
// A file read into memory, as cuModuleLoad does. CUDA_ERROR_FILE_NOT_FOUND when it cannot be read.
Result<Selected> selectFile(const std::string& path, const SelectOptions& options);

}  // namespace vg::images
