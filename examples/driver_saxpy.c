/* y = a * x + y through the driver API alone: the kernel is PTX text inside the program.
 *
 *   gcc driver_saxpy.c -o driver_saxpy -lcuda
 */
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char kSaxpy[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    "\n"
    ".visible .entry saxpy(.param .u32 size, .param .f32 a, .param .u64 x, .param .u64 y)\n"
    "{\n"
    "  .reg .pred  %p<2>;\n"
    "  .reg .b32   %r<6>;\n"
    "  .reg .f32   %f<5>;\n"
    "  .reg .b64   %rd<8>;\n"
    "\n"
    "  ld.param.u32        %r1, [size];\n"
    "  mov.u32             %r2, %ctaid.x;\n"
    "  mov.u32             %r3, %ntid.x;\n"
    "  mov.u32             %r4, %tid.x;\n"
    "  mad.lo.s32          %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32         %p1, %r5, %r1;\n"
    "  @%p1 bra            DONE;\n"
    "  ld.param.f32        %f1, [a];\n"
    "  ld.param.u64        %rd1, [x];\n"
    "  ld.param.u64        %rd2, [y];\n"
    "  cvta.to.global.u64  %rd3, %rd1;\n"
    "  cvta.to.global.u64  %rd4, %rd2;\n"
    "  mul.wide.u32        %rd5, %r5, 4;\n"
    "  add.s64             %rd6, %rd3, %rd5;\n"
    "  add.s64             %rd7, %rd4, %rd5;\n"
    "  ld.global.f32       %f2, [%rd6];\n"
    "  ld.global.f32       %f3, [%rd7];\n"
    "  fma.rn.f32          %f4, %f1, %f2, %f3;\n"
    "  st.global.f32       [%rd7], %f4;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n";

static void check(CUresult result, const char* what) {
  const char* text = "unknown error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorString(result, &text);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}
#define CHECK(call) check(call, #call)

int main(void) {
  unsigned size = 1000000;
  float a = 2.5f;
  float* x = malloc(size * sizeof *x);
  float* y = malloc(size * sizeof *y);
  float* result = malloc(size * sizeof *result);
  for (unsigned i = 0; i < size; ++i) {
    x[i] = (float)i / 7;
    y[i] = 1000 - (float)i;
  }

  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction saxpy;
  char name[100];
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetName(name, sizeof name, device));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kSaxpy));
  CHECK(cuModuleGetFunction(&saxpy, module, "saxpy"));

  CUdeviceptr deviceX, deviceY;
  CHECK(cuMemAlloc(&deviceX, size * sizeof *x));
  CHECK(cuMemAlloc(&deviceY, size * sizeof *y));
  CHECK(cuMemcpyHtoD(deviceX, x, size * sizeof *x));
  CHECK(cuMemcpyHtoD(deviceY, y, size * sizeof *y));
  void* parameters[] = {&size, &a, &deviceX, &deviceY};
  CHECK(cuLaunchKernel(saxpy, (size + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(result, deviceY, size * sizeof *result));

  for (unsigned i = 0; i < size; ++i) {
    if (result[i] == fmaf(a, x[i], y[i])) continue;
    fprintf(stderr, "element %u is %g, not %g\n", i, result[i], fmaf(a, x[i], y[i]));
    return 1;
  }
  printf("%u elements on %s: OK\n", size, name);

  CHECK(cuMemFree(deviceX));
  CHECK(cuMemFree(deviceY));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  free(x);
  free(y);
  free(result);
  return 0;
}
