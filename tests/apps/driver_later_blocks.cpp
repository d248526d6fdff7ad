// Blocks of an ordinary grid that wait for later blocks, as barriers of grids without cooperative launches do, with
// loads that nothing marks as polling. Launches that wait for nothing come first, so that the grid is known to be
// short.
#include "driver_check.h"

namespace {

constexpr unsigned kBlocks = 4, kShortLaunches = 50, kRounds = 10, kFlagBytes = 64;

// Block 0 waits for the flags of all others, and they for block 0's.
constexpr char kPtx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry meet(.param .u64 flags, .param .u32 round) {\n"
    ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<5>;\n"
    "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
    "setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST;\n"
    "mul.wide.u32 %a2, %r2, 64; add.u64 %a2, %a1, %a2; st.global.u32 [%a2], %r1;\n"
    "TOLD: membar.gl; ld.global.cg.u32 %r4, [%a1]; setp.ne.u32 %p2, %r4, %r1; @%p2 bra TOLD; ret;\n"
    "FIRST: mov.u32 %r5, 1;\n"
    "NEXT: mul.wide.u32 %a3, %r5, 64; add.u64 %a3, %a1, %a3;\n"
    "ARRIVED: membar.gl; ld.global.cg.u32 %r4, [%a3]; setp.ne.u32 %p2, %r4, %r1; @%p2 bra ARRIVED;\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r3; @%p3 bra NEXT; st.global.u32 [%a1], %r1; ret; }\n";

}  // namespace

int main() {
  setenv("VERDIGRIS_WORKERS", "8", 1);  // as many as blocks that have to run at once, whatever the machine has
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction meet;
  CUdeviceptr flags;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&meet, module, "meet"));
  CHECK(cuMemAlloc(&flags, kBlocks * kFlagBytes));
  CHECK(cuMemsetD32(flags, 0, kBlocks * kFlagBytes / 4));
  for (unsigned launch = 0; launch < kShortLaunches + kRounds; ++launch) {
    unsigned round = launch < kShortLaunches ? 0 : launch - kShortLaunches + 1;
    void* arguments[] = {&flags, &round};
    CHECK(cuLaunchKernel(meet, kBlocks, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
    CHECK(cuCtxSynchronize());
  }
  unsigned seen[kBlocks * kFlagBytes / 4];
  CHECK(cuMemcpyDtoH(seen, flags, sizeof seen));
  for (unsigned block = 0; block < kBlocks; ++block) EXPECT(seen[block * kFlagBytes / 4] == kRounds);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
