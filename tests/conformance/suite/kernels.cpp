#include "kernels.h"

#include <map>

#include "results.h"

namespace suite {
namespace {

constexpr char kPtx[] = R"(.version 6.5
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 nanoseconds) {
  .reg .u64 %t<4>; .reg .pred %p;
  ld.param.u64 %t2, [nanoseconds];
  mov.u64 %t0, %globaltimer;
again:
  mov.u64 %t1, %globaltimer;
  sub.u64 %t3, %t1, %t0;
  setp.lt.u64 %p, %t3, %t2;
  @%p bra again;
  ret;
}
.visible .entry waitForFlag(.param .u64 flag) {
  .reg .u64 %t<4>; .reg .u64 %a; .reg .u32 %v; .reg .pred %p;
  ld.param.u64 %a, [flag];
  mov.u64 %t0, %globaltimer;
again:
  ld.volatile.global.u32 %v, [%a];
  setp.ne.u32 %p, %v, 0;
  @%p bra done;
  mov.u64 %t1, %globaltimer;
  sub.u64 %t3, %t1, %t0;
  setp.lt.u64 %p, %t3, 10000000000;
  @%p bra again;
done:
  ret;
}
.visible .entry store(.param .u64 where, .param .u32 what) {
  .reg .u64 %a; .reg .u32 %v;
  ld.param.u64 %a, [where];
  ld.param.u32 %v, [what];
  st.global.u32 [%a], %v;
  ret;
}
.visible .entry load(.param .u64 from, .param .u64 to) {
  .reg .u64 %a<2>; .reg .u32 %v;
  ld.param.u64 %a0, [from];
  ld.param.u64 %a1, [to];
  ld.global.u32 %v, [%a0];
  st.global.u32 [%a1], %v;
  ret;
}
.visible .entry increment(.param .u64 to, .param .u64 from, .param .u32 words) {
  .reg .u64 %a<3>; .reg .u32 %v<6>; .reg .pred %p;
  ld.param.u64 %a0, [to];
  ld.param.u64 %a1, [from];
  ld.param.u32 %v0, [words];
  mov.u32 %v1, %ctaid.x;
  mov.u32 %v2, %ntid.x;
  mov.u32 %v3, %tid.x;
  mad.lo.u32 %v4, %v1, %v2, %v3;
  setp.ge.u32 %p, %v4, %v0;
  @%p bra done;
  mul.wide.u32 %a2, %v4, 4;
  add.u64 %a0, %a0, %a2;
  add.u64 %a1, %a1, %a2;
  ld.global.u32 %v5, [%a1];
  add.u32 %v5, %v5, 1;
  st.global.u32 [%a0], %v5;
done:
  ret;
}
.visible .entry trap() { trap; }
)";

void launch(const char* name, CUstream stream, unsigned blocks, unsigned threads, void** parameters) {
  EXPECT_OK(cuLaunchKernel(kernel(name), blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr)) << name;
}

}  // namespace

CUfunction kernel(const char* name) {
  // By context id: a handle may be used again for another context.
  static std::map<unsigned long long, CUmodule> modules;
  CUcontext current = nullptr;
  unsigned long long id = 0;
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_OK(cuCtxGetId(current, &id));
  CUmodule& module = modules[id];
  if (!module) {
    EXPECT_OK(cuModuleLoadData(&module, kPtx));
  }
  CUfunction function = nullptr;
  EXPECT_OK(cuModuleGetFunction(&function, module, name));
  return function;
}

void launchSpin(CUstream stream, double seconds) {
  uint64_t nanoseconds = static_cast<uint64_t>(seconds * 1e9);
  void* parameters[] = {&nanoseconds};
  launch("spin", stream, 1, 1, parameters);
}

void launchWaitForFlag(CUstream stream, CUdeviceptr flag) {
  void* parameters[] = {&flag};
  launch("waitForFlag", stream, 1, 1, parameters);
}

void launchStore(CUstream stream, CUdeviceptr address, uint32_t value) {
  void* parameters[] = {&address, &value};
  launch("store", stream, 1, 1, parameters);
}

void launchLoad(CUstream stream, CUdeviceptr from, CUdeviceptr to) {
  void* parameters[] = {&from, &to};
  launch("load", stream, 1, 1, parameters);
}

void launchIncrement(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t words) {
  uint32_t count = static_cast<uint32_t>(words);
  void* parameters[] = {&to, &from, &count};
  launch("increment", stream, (count + 255) / 256, 256, parameters);
}

}  // namespace suite
