// What an application hands to cuModuleLoadData and cuLibraryLoadData, taken apart: which code in it fits the device.
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
  bool native = false;         // the device runs native code: what fits comes before PTX
  bool forcePtxJit = false;    // CUDA_FORCE_PTX_JIT: native code of fat binaries is not looked at
};

// Either PTX or native code.
struct Selected {
  std::vector<std::string> ptx;  // one module, or several relocatable ones to link
  std::string native;            // an ELF file: of a fat binary, or a bare cubin, for whatever device it was made
  uint32_t target = 0;           // of the PTX that was chosen: 90 for sm_90; 0 for text and cubins
};

// Finds what to load. CUDA_ERROR_INVALID_VALUE for a null image, CUDA_ERROR_INVALID_IMAGE for damaged input or no known
// form, CUDA_ERROR_NO_BINARY_FOR_GPU when nothing fits, CUDA_ERROR_JIT_COMPILATION_DISABLED when PTX is all there is
// and may not be used. A bare cubin succeeds: devices that cannot launch its kernels can describe them.
Result<Selected> select(const void* image, size_t size, const SelectOptions& options);
// A file read into memory, as cuModuleLoad does. CUDA_ERROR_FILE_NOT_FOUND when it cannot be read.
Result<Selected> selectFile(const std::string& path, const SelectOptions& options);

}  // namespace vg::images
