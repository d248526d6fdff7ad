// fma.rn.oob makes zero of the NaN that fills tensors out of bounds, with either sign, as a first or second operand,
// and of no other. For 0xfff7 an H100 gave the zeros of the first two cases in random kernels (opcode_chains.cpp).
#include "driver_check.h"

namespace {

constexpr char kPtx[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry multiply(.param .u64 words) {\n"
    ".reg .b64 %a; .reg .b32 %w<4>; .reg .b16 %h<5>;\n"
    "ld.param.u64 %a, [words]; ld.global.u32 %w0, [%a]; ld.global.u32 %w1, [%a+4]; ld.global.u32 %w2, [%a+8];\n"
    "fma.rn.oob.f16x2 %w3, %w0, %w1, %w2; st.global.u32 [%a+12], %w3;\n"
    "cvt.u16.u32 %h0, %w0; cvt.u16.u32 %h1, %w1; cvt.u16.u32 %h2, %w2;\n"
    "fma.rn.oob.bf16 %h3, %h0, %h1, %h2; cvt.u32.u16 %w3, %h3; st.global.u32 [%a+16], %w3;\n"
    "fma.rn.oob.f16 %h3, %h1, %h0, %h2; cvt.u32.u16 %w3, %h3; st.global.u32 [%a+20], %w3; ret; }\n";

struct Case {
  unsigned a, b, c, packed, brain, half;
};
// 0x3c00 and 0x4000 are 1 and 2 of f16.
constexpr Case kCases[] = {
    {0x0008954c, 0xfff76ab3, 0xfff76ab3, 0x00006ab1, 0x6ab3, 0x6ab1},
    {0x3c000008, 0x7ff7fff7, 0x40000008, 0x00000000, 0x0000, 0x0000},
    {0xfff77ff7, 0x3c000008, 0x40000008, 0x00000000, 0x0000, 0x0000},
    {0x3c003c00, 0x7ff67ff8, 0x40004000, 0x7fff7fff, 0x7fff, 0x7fff},
};

}  // namespace

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction multiply;
  CUdeviceptr words;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&multiply, module, "multiply"));
  CHECK(cuMemAlloc(&words, 24));
  for (const Case& one : kCases) {
    unsigned seen[6] = {one.a, one.b, one.c, 0, 0, 0};
    void* arguments[] = {&words};
    CHECK(cuMemcpyHtoD(words, seen, sizeof seen));
    CHECK(cuLaunchKernel(multiply, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
    CHECK(cuMemcpyDtoH(seen, words, sizeof seen));
    if (seen[3] != one.packed || seen[4] != one.brain || seen[5] != one.half) {
      fprintf(stderr, "%08x %08x %08x: %08x %04x %04x\n", one.a, one.b, one.c, seen[3], seen[4], seen[5]);
      return 1;
    }
  }
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
