// A program of the driver API whose kernel is PTX: compiles and runs it, and takes a handle of its memory for other
// processes.
#include <cuda.h>
#include <stdio.h>

#define MUST(call)                                     \
  do {                                                 \
    const CUresult result = (call);                    \
    if (result != CUDA_SUCCESS) {                      \
      fprintf(stderr, "%s: %d\n", #call, (int)result); \
      return 1;                                        \
    }                                                  \
  } while (0)

static const char kPtx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry put(.param .u64 where) {\n"
    "  .reg .b64 %a;\n  ld.param.u64 %a, [where];\n  st.global.u32 [%a], 7;\n  ret;\n}\n";

int main(void) {
  CUcontext context;
  CUmodule module;
  CUfunction put;
  CUdeviceptr memory;
  CUipcMemHandle handle;
  unsigned answer = 0;
  void* arguments[] = {&memory};
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  MUST(cuMemAlloc(&memory, 100 << 20));
  MUST(cuModuleLoadData(&module, kPtx));
  MUST(cuModuleGetFunction(&put, module, "put"));
  MUST(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
  MUST(cuMemcpyDtoH(&answer, memory, sizeof answer));
  MUST(cuIpcGetMemHandle(&handle, memory));
  printf("answer %u\n", answer);
  return answer == 7 ? 0 : 1;
}
