// Every function of linear memory, copies and fills once, with arguments that work and arguments that do not: what the
// rules about result sets and about errors of earlier work have in common.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

namespace suite {

// What the calls work on: made in the current context before it may fail.
struct MemoryWorld {
  static constexpr size_t kBytes = 4096;  // of each buffer

  MemoryWorld();
  ~MemoryWorld();  // gives back what can still be given back

  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr a = 0, b = 0;
  unsigned char* pinned = nullptr;
  std::vector<unsigned char> pageable;
  std::string busId;
  std::vector<CUdeviceptr> spare;  // for cuMemFree
};

struct MemoryCall {
  const char* name;         // cuMemAlloc
  const char* resultsRule;  // MEMALLOC-005: the documented result set
  const char* earlierRule;  // MEMALLOC-006: errors of earlier work
  CUresult (*good)(MemoryWorld&);
  CUresult (*bad)(MemoryWorld&);  // an argument that is refused
  CUresult badAnswer = CUDA_ERROR_INVALID_VALUE;
  bool needsContext = true;  // CUDA_ERROR_INVALID_CONTEXT without one
  bool seesEarlier = true;   // answers with the error of earlier work
};

extern const std::vector<MemoryCall> kMemoryCalls;

}  // namespace suite
