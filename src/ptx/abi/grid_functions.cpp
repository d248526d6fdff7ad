#include "ptx/abi/grid_functions.h"

#include <algorithm>

namespace vg::ptx {
namespace {

// A handle is the address of the grid's workspace, 0 where the launch is not cooperative; scope 1 is the grid. Results
// are 0 or cudaErrorInvalidValue, which is 1.
constexpr char kFunctions[] = R"(
.weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %other;
  .reg .b32 %scope, %high, %low;
  .reg .b64 %handle;
  ld.param.b32 %scope, [scope];
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %handle, {%low, %high};
  setp.ne.u32 %other, %scope, 1;
  selp.b64 %handle, 0, %handle, %other;
  st.param.b64 [result], %handle;
  ret;
}

// Each block's first thread adds one to the barrier, that of the first block so much that the top bit changes when all
// have: the bit's old value is what they wait to see gone.
.weak .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %p;
  .reg .b32 %x, %y, %z, %blocks, %step, %old, %now;
  .reg .b64 %barrier;
  ld.param.b64 %barrier, [handle];
  mov.b32 %x, 1;
  setp.eq.u64 %p, %barrier, 0;
  @%p bra DONE;
  bar.sync 0;
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %z, %tid.z;
  or.b32 %x, %x, %y;
  or.b32 %x, %x, %z;
  setp.ne.u32 %p, %x, 0;
  @%p bra MET;
  mov.u32 %x, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mov.u32 %z, %nctaid.z;
  mul.lo.u32 %blocks, %x, %y;
  mul.lo.u32 %blocks, %blocks, %z;
  sub.u32 %step, 0x80000001, %blocks;
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  mov.u32 %z, %ctaid.z;
  or.b32 %x, %x, %y;
  or.b32 %x, %x, %z;
  setp.eq.u32 %p, %x, 0;
  selp.b32 %step, %step, 1, %p;
  add.u64 %barrier, %barrier, 4;
  membar.gl;
  atom.add.u32 %old, [%barrier], %step;
WAIT:
  ld.volatile.u32 %now, [%barrier];
  xor.b32 %now, %now, %old;
  setp.ge.s32 %p, %now, 0;
  @%p bra WAIT;
  membar.gl;
MET:
  bar.sync 0;
  mov.b32 %x, 0;
DONE:
  st.param.b32 [result], %x;
  ret;
}

.weak .func (.param .b32 result) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %answer, %flags;
  .reg .b64 %handle;
  ld.param.b64 %handle, [handle];
  ld.param.b32 %flags, [flags];
  {
  .param .b64 given;
  .param .b32 options;
  .param .b32 answer;
  st.param.b64 [given], %handle;
  st.param.b32 [options], %flags;
  call (answer), cudaCGSynchronize, (given, options);
  ld.param.b32 %answer, [answer];
  }
  st.param.b32 [result], %answer;
  ret;
}

// Of size and rank either place may be null. A grid is the only one of its kind.
.weak .func (.param .b32 result) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle)
{
  .reg .pred %p;
  .reg .b32 %x, %n;
  .reg .b64 %to;
  ld.param.b64 %to, [handle];
  mov.b32 %n, 1;
  setp.eq.u64 %p, %to, 0;
  @%p bra DONE;
  mov.u32 %n, %ntid.x;
  mov.u32 %x, %ntid.y;
  mul.lo.u32 %n, %n, %x;
  mov.u32 %x, %ntid.z;
  mul.lo.u32 %n, %n, %x;
  mov.u32 %x, %nctaid.x;
  mul.lo.u32 %n, %n, %x;
  mov.u32 %x, %nctaid.y;
  mul.lo.u32 %n, %n, %x;
  mov.u32 %x, %nctaid.z;
  mul.lo.u32 %n, %n, %x;
  ld.param.b64 %to, [threads];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %n;
  mov.b32 %n, 1;
  ld.param.b64 %to, [grids];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %n;
  mov.b32 %n, 0;
DONE:
  st.param.b32 [result], %n;
  ret;
}

.weak .func (.param .b32 result) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle)
{
  .reg .pred %p;
  .reg .b32 %x, %y, %n;
  .reg .b64 %to;
  ld.param.b64 %to, [handle];
  mov.b32 %n, 1;
  setp.eq.u64 %p, %to, 0;
  @%p bra DONE;
  mov.u32 %n, %ctaid.z;
  mov.u32 %x, %nctaid.y;
  mov.u32 %y, %ctaid.y;
  mad.lo.u32 %n, %n, %x, %y;
  mov.u32 %x, %nctaid.x;
  mov.u32 %y, %ctaid.x;
  mad.lo.u32 %n, %n, %x, %y;
  mov.u32 %x, %ntid.z;
  mov.u32 %y, %tid.z;
  mad.lo.u32 %n, %n, %x, %y;
  mov.u32 %x, %ntid.y;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %n, %n, %x, %y;
  mov.u32 %x, %ntid.x;
  mov.u32 %y, %tid.x;
  mad.lo.u32 %n, %n, %x, %y;
  ld.param.b64 %to, [thread];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %n;
  mov.b32 %n, 0;
  ld.param.b64 %to, [grid];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %n;
DONE:
  st.param.b32 [result], %n;
  ret;
}
)";

}  // namespace

std::string gridFunctionsNamedIn(const std::vector<std::string>& texts, std::string_view head) {
  const auto names = [](const std::string& text) { return text.find("cudaCG") != text.npos; };
  if (std::none_of(texts.begin(), texts.end(), names)) return {};
  return std::string(head) + kFunctions;
}

}  // namespace vg::ptx
