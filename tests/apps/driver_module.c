// A module from PTX text: functions, variables, launches with both kinds of parameters, the errors of bad text.
#include "driver_check.h"

static const char* const kText =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 offset = 5;\n"
    ".visible .const .align 4 .u32 factors[4] = {1, 2, 3, 4};\n"
    ".visible .entry scale(.param .u64 values, .param .u32 size)\n"
    "{\n"
    "  .reg .pred p;\n"
    "  .reg .u32 i, n, t, f;\n"
    "  .reg .u64 base, at, table;\n"
    "  mov.u32 i, %ctaid.x;\n"
    "  mov.u32 n, %ntid.x;\n"
    "  mov.u32 t, %tid.x;\n"
    "  mad.lo.u32 i, i, n, t;\n"
    "  ld.param.u32 n, [size];\n"
    "  setp.ge.u32 p, i, n;\n"
    "  @p bra DONE;\n"
    "  ld.param.u64 base, [values];\n"
    "  cvta.to.global.u64 base, base;\n"
    "  mul.wide.u32 at, i, 4;\n"
    "  add.u64 base, base, at;\n"
    "  and.b32 t, i, 3;\n"
    "  mov.u64 table, factors;\n"
    "  mul.wide.u32 at, t, 4;\n"
    "  add.u64 table, table, at;\n"
    "  ld.const.u32 f, [table];\n"
    "  ld.global.u32 t, [base];\n"
    "  mul.lo.u32 t, t, f;\n"
    "  ld.global.u32 f, [offset];\n"
    "  add.u32 t, t, f;\n"
    "  st.global.u32 [base], t;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry empty() { ret; }\n";

enum { kSize = 1000 };

static void launchBothWays(CUmodule module) {
  CUfunction scale;
  CUdeviceptr values;
  unsigned host[kSize], size = kSize;
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuMemAlloc(&values, sizeof host));
  for (unsigned i = 0; i < kSize; ++i) host[i] = i;
  CHECK(cuMemcpyHtoD(values, host, sizeof host));

  void* parameters[] = {&values, &size};
  CHECK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));

  struct {
    CUdeviceptr values;
    unsigned size;
  } packed = {values, kSize / 2};
  size_t packedSize = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packedSize,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(host, values, sizeof host));
  for (unsigned i = 0; i < kSize; ++i) {
    unsigned expected = i * (i % 4 + 1) + 5;
    if (i < kSize / 2) expected = expected * (i % 4 + 1) + 5;
    EXPECT(host[i] == expected);
  }
  CHECK(cuMemFree(values));

  EXPECT_CODE(cuLaunchKernel(scale, 1, 1, 1, 2000, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLaunchKernel(scale, 0, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, extra), CUDA_ERROR_INVALID_VALUE);
}

static void changeVariables(CUmodule module) {
  CUfunction scale;
  CUdeviceptr offset, factors, values;
  size_t bytes = 0;
  unsigned newOffset = 1000, newFactors[4] = {9, 8, 7, 6}, host[4] = {1, 1, 1, 1}, size = 4;
  CHECK(cuModuleGetGlobal(&offset, &bytes, module, "offset"));
  EXPECT(bytes == 4);
  CHECK(cuModuleGetGlobal(&factors, &bytes, module, "factors"));
  EXPECT(bytes == 16);
  CHECK(cuMemcpyHtoD(offset, &newOffset, sizeof newOffset));
  CHECK(cuMemcpyHtoD(factors, newFactors, sizeof newFactors));
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuMemAlloc(&values, sizeof host));
  CHECK(cuMemcpyHtoD(values, host, sizeof host));
  void* parameters[] = {&values, &size};
  CHECK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuMemcpyDtoH(host, values, sizeof host));
  for (int i = 0; i < 4; ++i) EXPECT(host[i] == newFactors[i] + 1000);
  CHECK(cuMemFree(values));
}

static void badText(void) {
  CUmodule module;
  char errors[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, (void*)sizeof errors};
  const char* wrong =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { frobnicate.u32 r, r; ret; }\n";
  EXPECT_CODE(cuModuleLoadDataEx(&module, wrong, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT(strlen(errors) > 0);
  EXPECT(cuModuleLoadData(&module, "this is no module at all") != CUDA_SUCCESS);
  EXPECT_CODE(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUmodule module, second;
  CUfunction function;
  CUdeviceptr address;
  size_t bytes;
  int attribute = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kText));
  CHECK(cuModuleLoadDataEx(&second, kText, 0, NULL, NULL));

  launchBothWays(module);
  changeVariables(module);
  launchBothWays(second);  // has variables of its own

  CHECK(cuModuleGetFunction(&function, module, "empty"));
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  CHECK(cuCtxSynchronize());
  CHECK(cuFuncGetAttribute(&attribute, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT(attribute >= 128);
  EXPECT_CODE(cuModuleGetFunction(&function, module, "missing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_CODE(cuModuleGetGlobal(&address, &bytes, module, "missing"), CUDA_ERROR_NOT_FOUND);
  badText();

  CHECK(cuModuleUnload(module));
  CHECK(cuModuleUnload(second));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
