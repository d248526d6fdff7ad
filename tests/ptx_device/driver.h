// What the programs of this folder call of a libcuda.so.1 that they open by name.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace vg::ptx::matrix {

struct Driver {
  decltype(&cuInit) init;
  decltype(&cuDeviceGet) deviceGet;
  decltype(&cuDevicePrimaryCtxRetain) retain;
  decltype(&cuCtxSetCurrent) setCurrent;
  decltype(&cuModuleLoadDataEx) load;
  decltype(&cuModuleUnload) unload;
  decltype(&cuModuleGetFunction) getFunction;
  CUresult (*allocate)(CUdeviceptr*, size_t);
  CUresult (*allocatePitch)(CUdeviceptr*, size_t*, size_t, size_t, unsigned);
  CUresult (*release)(CUdeviceptr);
  CUresult (*copyIn)(CUdeviceptr, const void*, size_t);
  CUresult (*copyOut)(void*, CUdeviceptr, size_t);
  CUresult (*copyBox)(const CUDA_MEMCPY3D*);
  CUresult (*fill)(CUdeviceptr, unsigned char, size_t);
  decltype(&cuLaunchKernel) launch;
  decltype(&cuCtxSynchronize) synchronize;
  CUresult (*createArray)(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*);
  decltype(&cuArrayDestroy) destroyArray;
  CUresult (*createLevels)(CUmipmappedArray*, const CUDA_ARRAY3D_DESCRIPTOR*, unsigned);
  decltype(&cuMipmappedArrayGetLevel) getLevel;
  decltype(&cuMipmappedArrayDestroy) destroyLevels;
  decltype(&cuTexObjectCreate) createTexture;
  decltype(&cuTexObjectDestroy) destroyTexture;
  decltype(&cuSurfObjectCreate) createSurface;
  decltype(&cuSurfObjectDestroy) destroySurface;
};

inline void require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
  std::exit(2);
}

template <class Function>
void bind(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) {
    std::fprintf(stderr, "%s is missing\n", name);
    std::exit(2);
  }
}

inline Driver open(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  Driver d;
  bind(library, d.init, "cuInit");
  bind(library, d.deviceGet, "cuDeviceGet");
  bind(library, d.retain, "cuDevicePrimaryCtxRetain");
  bind(library, d.setCurrent, "cuCtxSetCurrent");
  bind(library, d.load, "cuModuleLoadDataEx");
  bind(library, d.unload, "cuModuleUnload");
  bind(library, d.getFunction, "cuModuleGetFunction");
  bind(library, d.allocate, "cuMemAlloc_v2");
  bind(library, d.allocatePitch, "cuMemAllocPitch_v2");
  bind(library, d.release, "cuMemFree_v2");
  bind(library, d.copyIn, "cuMemcpyHtoD_v2");
  bind(library, d.copyOut, "cuMemcpyDtoH_v2");
  bind(library, d.copyBox, "cuMemcpy3D_v2");
  bind(library, d.fill, "cuMemsetD8_v2");
  bind(library, d.launch, "cuLaunchKernel");
  bind(library, d.synchronize, "cuCtxSynchronize");
  bind(library, d.createArray, "cuArray3DCreate_v2");
  bind(library, d.destroyArray, "cuArrayDestroy");
  bind(library, d.createLevels, "cuMipmappedArrayCreate");
  bind(library, d.getLevel, "cuMipmappedArrayGetLevel");
  bind(library, d.destroyLevels, "cuMipmappedArrayDestroy");
  bind(library, d.createTexture, "cuTexObjectCreate");
  bind(library, d.destroyTexture, "cuTexObjectDestroy");
  bind(library, d.createSurface, "cuSurfObjectCreate");
  bind(library, d.destroySurface, "cuSurfObjectDestroy");
  return d;
}

}  // namespace vg::ptx::matrix
