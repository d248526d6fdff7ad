/* Compiled as C99, C11, C++11 and C++20 with all warnings as errors, in each mode: cuda.h must suit any program. */
#include <cuda.h>
#include <string.h>

/* What a program relies on most: handles are pointers, device pointers integers, names stand for versions. */
CUresult useOfTheHeader(CUcontext context);
CUresult useOfTheHeader(CUcontext context) {
  CUdeviceptr address = 0;
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof copy);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstDevice = address;
  if (context == NULL || copy.Height) return CUDA_ERROR_INVALID_CONTEXT;
#ifndef __CUDA_API_VERSION_INTERNAL
  {
    CUresult (*allocate)(CUdeviceptr*, size_t) = cuMemAlloc;
    CUresult (*copyIn)(CUdeviceptr, const void*, size_t) = cuMemcpyHtoD;
    if (allocate(&address, 4) != CUDA_SUCCESS) return CUDA_ERROR_OUT_OF_MEMORY;
    return copyIn(address, &copy, 4);
  }
#else
  return cuMemAlloc_v2(&address, 4);
#endif
}
