// Memory of the driver API: allocation with pitch, ranges, fills of every width, copies in 2D, attributes, stale
// handles.
#include "driver_check.h"

static void fills(void) {
  CUdeviceptr memory;
  unsigned char bytes[64];
  unsigned short shorts[32];
  unsigned words[16];
  CHECK(cuMemAlloc(&memory, 64));
  CHECK(cuMemsetD8(memory, 0xab, 64));
  CHECK(cuMemcpyDtoH(bytes, memory, 64));
  for (int i = 0; i < 64; ++i) EXPECT(bytes[i] == 0xab);
  CHECK(cuMemsetD16(memory + 2, 0x1234, 30));
  CHECK(cuMemcpyDtoH(shorts, memory, 64));
  for (int i = 0; i < 32; ++i) EXPECT(shorts[i] == (i == 0 || i == 31 ? 0xabab : 0x1234));
  CHECK(cuMemsetD32(memory, 0xdeadbeef, 16));
  CHECK(cuMemcpyDtoH(words, memory, 64));
  for (int i = 0; i < 16; ++i) EXPECT(words[i] == 0xdeadbeef);
  EXPECT_CODE(cuMemsetD16(memory + 1, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemsetD32(memory + 2, 1, 4), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(memory));
}

static void pitched(void) {
  CUdeviceptr memory;
  size_t pitch = 0;
  unsigned char in[20][100], out[20][100];
  CHECK(cuMemAllocPitch(&memory, &pitch, 100, 20, 4));
  EXPECT(pitch >= 100);
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 100; ++x) in[y][x] = (unsigned char)(x * y + 3);
  CUDA_MEMCPY2D copy = {0};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in;
  copy.srcPitch = 100;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 100;
  copy.Height = 20;
  CHECK(cuMemcpy2D(&copy));
  CHECK(cuMemsetD2D8(memory + 10, pitch, 7, 5, 20));
  CUDA_MEMCPY2D back = {0};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = memory;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out;
  back.dstPitch = 100;
  back.WidthInBytes = 100;
  back.Height = 20;
  CHECK(cuMemcpy2D(&back));
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 100; ++x) EXPECT(out[y][x] == (x >= 10 && x < 15 ? 7 : in[y][x]));
  back.WidthInBytes = 200;
  EXPECT_CODE(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(memory));
}

static void rangesAndAttributes(CUcontext context) {
  CUdeviceptr memory, base = 0;
  size_t size = 0;
  CHECK(cuMemAlloc(&memory, 5000));
  CHECK(cuMemGetAddressRange(&base, &size, memory + 1234));
  EXPECT(base == memory && size == 5000);
  CUmemorytype type = 0;
  CUcontext owner = NULL;
  int ordinal = -1;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 10));
  CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
  EXPECT(type == CU_MEMORYTYPE_DEVICE && owner == context && ordinal == 0);
  CHECK(cuMemFree(memory));
  EXPECT_CODE(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemGetAddressRange(&base, &size, memory), CUDA_ERROR_NOT_FOUND);
  EXPECT_CODE(cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAlloc(NULL, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAlloc(&memory, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  fills();
  pitched();
  rangesAndAttributes(context);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
