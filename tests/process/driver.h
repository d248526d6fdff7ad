// The library under test, opened as the CUDA runtime opens it, and the few entry points that these cases call.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                                           \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                                \
    }                                                                               \
  } while (0)
#define EXPECT_RESULT(call, wanted)                                                          \
  do {                                                                                       \
    const CUresult got_ = (call);                                                            \
    if (got_ != (wanted)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s = %d, expected %d\n", __FILE__, __LINE__, #call, got_, \
                   static_cast<int>(wanted));                                                \
      std::_Exit(1);                                                                         \
    }                                                                                        \
  } while (0)
#define EXPECT_OK(call) EXPECT_RESULT(call, CUDA_SUCCESS)

struct Driver {
  void* library = nullptr;
// clang-format off
#define FOR_EACH_CALL(X)                                                                                           \
  X(cuInit)                                                                                                        \
  X(cuDriverGetVersion)                                                                                            \
  X(cuDeviceGetCount)                                                                                              \
  X(cuDeviceGet)                                                                                                   \
  X(cuDeviceGetName) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2) X(cuDevicePrimaryCtxReset_v2)     \
      X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxSynchronize) X(cuCtxCreate_v2) X(cuCtxDestroy_v2)               \
          X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemsetD8_v2)           \
              X(cuMemsetD8Async) X(cuMemcpyDtoH_v2) X(cuStreamCreate) X(cuStreamSynchronize) X(cuStreamDestroy_v2) \
                  X(cuLaunchHostFunc) X(cuGetErrorString) X(cuGetExportTable) X(cuMemHostRegister_v2)              \
                      X(cuMemcpyDtoHAsync_v2) X(cuModuleLoadData) X(cuModuleUnload) X(cuLibraryUnload)             \
                          X(cuModuleGetFunction) X(cuLaunchKernel)
// clang-format on
#define DECLARE(name) decltype(&::name) name = nullptr;
  FOR_EACH_CALL(DECLARE)
#undef DECLARE

  void open() {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::_Exit(1);
    }
#define FIND(name)                                                   \
  name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  EXPECT(name);
    FOR_EACH_CALL(FIND)
#undef FIND
  }

  // Initialised, with the primary context of device 0 retained and current.
  CUcontext start() {
    CUcontext context = nullptr;
    EXPECT_OK(cuInit(0));
    EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_OK(cuCtxSetCurrent(context));
    return context;
  }
};
