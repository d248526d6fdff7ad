// cuGetProcAddress's search: the newest version of a name that existed in the CUDA version asked for.
#pragma once

#include <cuda.h>

#include <string_view>

namespace vg::api {

struct ProcAddress {
  void* function;  // null unless status says success
  CUdriverProcAddressQueryResult status;
};

// `name` is a base name without _vN, _ptsz or _ptds. `perThread` prefers the per-thread twin where there is one.
ProcAddress findProcAddress(std::string_view name, int cudaVersion, bool perThread);

}  // namespace vg::api
