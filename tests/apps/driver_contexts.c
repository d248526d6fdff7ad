// Created and primary contexts, the stack of each thread, and what calls without a context answer.
#include <pthread.h>

#include "driver_check.h"

static void* inThread(void* context) {
  CUcontext seen = (CUcontext)1;
  CUdeviceptr memory;
  CHECK(cuCtxGetCurrent(&seen));
  EXPECT(seen == NULL);
  EXPECT_CODE(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPushCurrent((CUcontext)context));
  CHECK(cuMemAlloc(&memory, 16));
  CHECK(cuMemFree(memory));
  CHECK(cuCtxPopCurrent(&seen));
  EXPECT(seen == context);
  return NULL;
}

int main(void) {
  CUdevice device, of;
  CUcontext first, second, primary, again, seen;
  unsigned flags = 99;
  int active = 99, count = 0;
  EXPECT_CODE(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&count));
  EXPECT(count >= 1);
  EXPECT_CODE(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGet(&device, 0));
  EXPECT_CODE(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);

  CHECK(cuCtxCreate(&first, NULL, CU_CTX_SCHED_SPIN, device));
  CHECK(cuCtxCreate(&second, NULL, 0, device));
  CHECK(cuCtxGetCurrent(&seen));
  EXPECT(seen == second && first != second);
  CHECK(cuCtxPopCurrent(&seen));
  EXPECT(seen == second);
  CHECK(cuCtxGetCurrent(&seen));
  EXPECT(seen == first);
  CHECK(cuCtxGetFlags(&flags));
  EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_SPIN);
  CHECK(cuCtxGetDevice(&of));
  EXPECT(of == device);

  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, inThread, second) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);

  CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
  EXPECT(active == 0);
  CHECK(cuDevicePrimaryCtxRetain(&primary, device));
  CHECK(cuDevicePrimaryCtxRetain(&again, device));
  EXPECT(primary == again);
  CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
  EXPECT(active == 1);
  EXPECT_CODE(cuDevicePrimaryCtxSetFlags(device, 0x1000), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDevicePrimaryCtxRelease(device));
  CHECK(cuDevicePrimaryCtxRelease(device));
  CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
  EXPECT(active == 0);
  EXPECT_CODE(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);

  CHECK(cuCtxDestroy(second));
  EXPECT_CODE(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxDestroy(first));
  CHECK(cuCtxGetCurrent(&seen));
  EXPECT(seen == NULL);
  return passed();
}
