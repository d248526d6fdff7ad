// The built libcuda.so.1, or another, opened as a program would.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace vg::bench {

// Beside this executable's folder (bin/../lib), or wherever VERDIGRIS_LIBRARY says.
inline void* library() {
  static void* const handle = [] {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    std::string path(self, length > 0 ? static_cast<size_t>(length) : 0);
    path = path.substr(0, path.rfind('/')) + "/../lib/libcuda.so.1";
    if (const char* given = std::getenv("VERDIGRIS_LIBRARY")) path = given;
    void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    return opened;
  }();
  return handle;
}

template <class Function>
Function* entry(const char* name) {
  void* found = dlsym(library(), name);
  if (!found) {
    std::fprintf(stderr, "%s is missing\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(found);
}
// DRIVER(cuMemFree_v2) is a pointer to that function, of the header's type. Looked up once: what is measured is the
// call.
#define DRIVER(name)                                                    \
  ([] {                                                                 \
    static auto* const found = vg::bench::entry<decltype(name)>(#name); \
    return found;                                                       \
  }())

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, result);
  std::exit(1);
}

// Initialises the library and makes the first device's primary context current.
inline CUcontext start() {
  CUcontext context;
  check(DRIVER(cuInit)(0), "cuInit");
  check(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain");
  check(DRIVER(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  return context;
}

}  // namespace vg::bench
