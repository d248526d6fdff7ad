// A program that uses device 0: 64 MiB of memory and, when it is told "run", a kernel that runs until "stop". Answers
// each line with one of its own.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kSpin[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry spin(.param .u64 flag) {\n"
    ".reg .u64 %rd<2>; .reg .u32 %r<2>; .reg .pred %p<2>;\n"
    "ld.param.u64 %rd1, [flag];\n"
    "L: ld.volatile.global.u32 %r1, [%rd1];\n"
    "setp.eq.u32 %p1, %r1, 0;\n"
    "@%p1 bra L;\n"
    "ret;\n}\n";

static void must(CUresult result, const char* what) {
  if (!result) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

static void say(const char* line) {
  puts(line);
  fflush(stdout);
}

int main(void) {
  CUcontext context;
  CUdeviceptr memory, address;
  CUmodule module;
  CUfunction function;
  volatile int* flag;
  char line[32];
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(cuMemAlloc(&memory, (size_t)64 << 20), "cuMemAlloc");
  must(cuModuleLoadData(&module, kSpin), "cuModuleLoadData");
  must(cuModuleGetFunction(&function, module, "spin"), "cuModuleGetFunction");
  must(cuMemHostAlloc((void**)&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  must(cuMemHostGetDevicePointer(&address, (void*)flag, 0), "cuMemHostGetDevicePointer");
  say("ready");
  while (fgets(line, sizeof line, stdin)) {
    void* arguments[] = {&address};
    *flag = !!strncmp(line, "run", 3);
    if (!*flag) must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
    if (*flag) must(cuCtxSynchronize(), "cuCtxSynchronize");
    say("done");
  }
  *flag = 1;
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuDevicePrimaryCtxReset(0), "cuDevicePrimaryCtxReset");
  return 0;
}
