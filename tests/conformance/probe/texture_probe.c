#include "texture_probe.h"

static const char kHead[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry go(.param .u64 out, .param .u64 in, .param .u64 "
    "h)\n{\n"
    ".reg .b32 %r<20>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n.reg .b16 %h<8>;\n.reg .pred %p<4>;\n"
    "ld.param.u64 %rd2, [in];\nld.param.u64 %rd1, [h];\nld.param.u64 %rd3, [out];\n"
    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2];\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\n"
    "mov.b32 %f4, %r4;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;\nmov.u32 %r8, 0;\n";
static const char kTail[] = "\nst.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r8};\nret;\n}\n";

static CUfunction made(const char* instruction) {
  char text[4096];
  snprintf(text, sizeof text, "%s%s%s", kHead, instruction, kTail);
  CUmodule m;
  CUfunction f = NULL;
  if (D(cuModuleLoadData)(&m, text) == CUDA_SUCCESS) D(cuModuleGetFunction)(&f, m, "go");
  return f;
}

static CUresult once(CUfunction f, unsigned long long handle, Point point, uint32_t words[4]) {
  CUdeviceptr out = deviceBytes(64), in = deviceBytes(64);
  D(cuMemcpyHtoD_v2)(in, &point, sizeof point);
  void* arguments[] = {&out, &in, &handle};
  CUresult result = D(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
  if (!result) result = D(cuCtxSynchronize)();
  if (!result) result = D(cuMemcpyDtoH_v2)(words, out, 16);
  D(cuMemFree_v2)(out);
  D(cuMemFree_v2)(in);
  return result;
}

CUresult accessed(const char* instruction, unsigned long long handle, Point point, uint32_t words[4]) {
  CUfunction f = made(instruction);
  return f ? once(f, handle, point, words) : CUDA_ERROR_INVALID_PTX;
}

void sampled(const char* name, const char* instruction, unsigned long long handle, const Point* points, int count) {
  CUfunction f = made(instruction);
  for (int i = 0; i < count; ++i) {
    char label[128];
    uint32_t words[4] = {0, 0, 0, 0};
    snprintf(label, sizeof label, "%s, %d", name, i);
    CUresult result = f ? once(f, handle, points[i], words) : CUDA_ERROR_INVALID_PTX;
    if (result)
      fact(label, "%s", resultName(result));
    else
      fact(label, "%08x %08x %08x %08x", words[0], words[1], words[2], words[3]);
  }
}

CUDA_RESOURCE_DESC arrayResource(CUarray a) {
  CUDA_RESOURCE_DESC r;
  memset(&r, 0, sizeof r);
  r.resType = CU_RESOURCE_TYPE_ARRAY;
  r.res.array.hArray = a;
  return r;
}

CUDA_TEXTURE_DESC sampling(CUaddress_mode mode, CUfilter_mode filter, unsigned flags) {
  CUDA_TEXTURE_DESC t;
  memset(&t, 0, sizeof t);
  for (int i = 0; i < 3; ++i) t.addressMode[i] = mode;
  t.filterMode = filter;
  t.flags = flags;
  return t;
}

CUtexObject textureOf(CUarray a, CUaddress_mode mode, CUfilter_mode filter, unsigned flags) {
  CUDA_RESOURCE_DESC r = arrayResource(a);
  CUDA_TEXTURE_DESC t = sampling(mode, filter, flags);
  CUtexObject object = 0;
  D(cuTexObjectCreate)(&object, &r, &t, NULL);
  return object;
}

CUarray filledArray(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels, unsigned flags,
                    const void* data, size_t elementBytes) {
  CUarray a = NULL;
  makeArray(&a, width, height, depth, format, channels, flags);
  CUDA_MEMCPY3D_v2 copy;
  memset(&copy, 0, sizeof copy);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data;
  copy.srcPitch = width * elementBytes;
  copy.srcHeight = height ? height : 1;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = a;
  copy.WidthInBytes = width * elementBytes;
  copy.Height = height ? height : 1;
  copy.Depth = depth ? depth : 1;
  D(cuMemcpy3D_v2)(&copy);
  return a;
}
