// Warps that wait for each other: what they keep over a barrier, and who is waited for. And blocks that share a call of
// the native code.
#include "kernels/fixture.h"

namespace kernels {
namespace {

using WaitingTest = KernelTest;

// Warp w passes w + 2 barriers. In round k each warp that is left counts itself before the barrier and sums what was
// counted behind it.
constexpr const char* kRounds = R"(
.shared .align 4 .b8 counts[128];
mov.u32 %r6, counts;
shl.b32 %r7, %r1, 2;
add.u32 %r7, %r6, %r7;
setp.lt.u32 %p1, %r1, 32;
mov.u32 %r8, 0;
@%p1 st.shared.u32 [%r7], %r8;
bar.sync 0;
shr.u32 %r9, %r1, 5;
and.b32 %r11, %r1, 31;
setp.eq.u32 %p2, %r11, 0;
mov.u32 %r10, 0;
mov.u32 %r5, 0;
LOOP:
shl.b32 %r12, %r10, 2;
add.u32 %r12, %r6, %r12;
@%p2 red.shared.add.u32 [%r12], 1;
bar.sync 0;
ld.shared.u32 %r13, [%r12];
add.u32 %r5, %r5, %r13;
setp.lt.u32 %p3, %r10, %r9;
add.u32 %r10, %r10, 1;
@%p3 bra LOOP;
)";

TEST_F(WaitingTest, WarpsThatHaveEndedAreNotWaitedFor) {
  const CUfunction kernel = function(module(entry("kernel", {".u64"}, std::string(kIndices) + kRounds + kStore)));
  for (const unsigned threads : {128u, 256u, 100u, 33u, 32u}) {
    const unsigned blocks = 3, warps = (threads + 31) / 32;
    const CUdeviceptr out = allocate(4 * blocks * threads);
    ASSERT_EQ(run(kernel, blocks, threads, out), CUDA_SUCCESS);
    const std::vector<uint32_t> sums = read(out, blocks * threads);
    for (unsigned i = 0; i < blocks * threads; ++i) {
      uint32_t expected = 0;
      for (unsigned round = 0; round <= i % threads / 32; ++round) expected += warps - round;
      ASSERT_EQ(sums[i], expected) << "thread " << i << " of blocks of " << threads;
    }
    cuMemFree(out);
  }
}

// Warps on fibres are called one at a time, and no call goes on to the next warp.
TEST_F(WaitingTest, EveryWarpThatWaitsOnItsOwnRunsOnce) {
  const CUfunction kernel = function(module(entry("kernel", {".u64"}, std::string(kIndices) + R"(
ld.param.u64 %rd1, [p0];
nanosleep.u32 1;
red.global.add.u32 [%rd1], 1;
bar.sync 0;
)")));
  for (const unsigned threads : {256u, 96u, 100u}) {
    const CUdeviceptr out = allocate(4);
    ASSERT_EQ(cuMemsetD32(out, 0, 1), CUDA_SUCCESS);
    ASSERT_EQ(run(kernel, 3, threads, out), CUDA_SUCCESS);
    EXPECT_EQ(read(out, 1)[0], 3 * threads);
    cuMemFree(out);
  }
}

// Integers of 32 and 64 bits, floats, doubles and predicates, of every lane its own; some lanes skip the assignment.
TEST_F(WaitingTest, ValuesOfEveryKindOutliveABarrier) {
  const CUfunction kernel = function(module(entry("kernel", {".u64"}, std::string(kIndices) + R"(
.reg .f64 %fd<8>;
cvt.u64.u32 %rd10, %r2;
mul.lo.u64 %rd10, %rd10, 0x100000003;
cvt.rn.f32.u32 %f1, %r1;
cvt.rn.f64.u32 %fd1, %r2;
and.b32 %r10, %r1, 5;
setp.eq.u32 %p1, %r10, 4;
mul.lo.u32 %r11, %r1, %r1;
mov.u32 %r12, 7;
@%p1 mov.u32 %r12, %r11;
setp.gt.u32 %p2, %r1, 20;
@%p2 bra SKIP;
add.u32 %r12, %r12, 1000;
SKIP:
bar.sync 0;
shr.u64 %rd11, %rd10, 32;
cvt.u32.u64 %r13, %rd11;
cvt.rzi.u32.f32 %r14, %f1;
cvt.rzi.u32.f64 %r15, %fd1;
add.u32 %r5, %r13, %r14;
add.u32 %r5, %r5, %r15;
bar.sync 0;
@%p1 add.u32 %r5, %r5, 100000;
add.u32 %r5, %r5, %r12;
)" + kStore)));
  for (const unsigned threads : {64u, 96u, 50u}) {
    const unsigned blocks = 2;
    const CUdeviceptr out = allocate(4 * blocks * threads);
    ASSERT_EQ(run(kernel, blocks, threads, out), CUDA_SUCCESS);
    const std::vector<uint32_t> values = read(out, blocks * threads);
    for (uint32_t i = 0; i < blocks * threads; ++i) {
      const uint32_t thread = i % threads;
      const bool chosen = (thread & 5) == 4;
      const uint32_t kept = (chosen ? thread * thread : 7) + (thread > 20 ? 0 : 1000);
      ASSERT_EQ(values[i], i + thread + i + (chosen ? 100000 : 0) + kept) << "thread " << i;
    }
    cuMemFree(out);
  }
}

// Blocks of several rows: each block's index and each thread's place in it, over more blocks than one call runs.
TEST_F(WaitingTest, BlocksOfOneCallKeepTheirIndices) {
  const CUfunction kernel = function(module(entry("kernel", {".u64"}, R"(
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ctaid.y;
mov.u32 %r6, %nctaid.x;
mad.lo.u32 %r7, %r4, %r6, %r3;
mov.u32 %r8, %tid.x;
mov.u32 %r9, %tid.y;
mov.u32 %r10, %tid.z;
mov.u32 %r11, %ntid.x;
mov.u32 %r12, %ntid.y;
mov.u32 %r13, %ntid.z;
mad.lo.u32 %r14, %r10, %r12, %r9;
mad.lo.u32 %r14, %r14, %r11, %r8;
mul.lo.u32 %r15, %r11, %r12;
mul.lo.u32 %r15, %r15, %r13;
mad.lo.u32 %r2, %r7, %r15, %r14;
shl.b32 %r5, %r3, 20;
or.b32 %r5, %r5, %r14;
shl.b32 %r16, %r4, 16;
or.b32 %r5, %r5, %r16;
)" + std::string(kStore))));
  const unsigned shapes[][3] = {{32, 4, 2}, {64, 3, 2}, {32, 1, 1}, {16, 3, 2}, {96, 2, 1}};
  for (const auto& shape : shapes) {
    const unsigned columns = 150, rows = 3, threads = shape[0] * shape[1] * shape[2], count = columns * rows * threads;
    const CUdeviceptr out = allocate(4 * count);
    CUdeviceptr argument = out;
    void* arguments[] = {&argument};
    ASSERT_EQ(cuLaunchKernel(kernel, columns, rows, 1, shape[0], shape[1], shape[2], 0, nullptr, arguments, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    const std::vector<uint32_t> values = read(out, count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t block = i / threads;
      ASSERT_EQ(values[i], block % columns << 20 | block / columns << 16 | i % threads)
          << "element " << i << " of blocks of " << shape[0] << " x " << shape[1] << " x " << shape[2];
    }
    cuMemFree(out);
  }
}

// Of four warps the last one sets a flag for each thread of the others, lane after lane. A thread that has seen its
// flag tells so and counts itself; then all three warps meet in a barrier of theirs, which lies on one of two ways that
// a number decides on. In each round every thread sees that all have counted themselves.
constexpr const char* kSeenOneByOne = R"(
.shared .align 4 .b8 flags[384];
.shared .align 4 .b8 seen[384];
.shared .align 4 .u32 counted;
.reg .b32 %s<16>;
ld.param.u32 %s0, [p1];
mov.u32 %r5, 0;
mov.u32 %r10, 0;
shl.b32 %r6, %r1, 2;
mov.u32 %r7, flags;
mov.u32 %r8, seen;
setp.lt.u32 %p1, %r1, 96;
add.u32 %s1, %r7, %r6;
add.u32 %s2, %r8, %r6;
@%p1 st.shared.u32 [%s1], 0;
@%p1 st.shared.u32 [%s2], 0;
setp.eq.u32 %p2, %r1, 0;
@%p2 st.shared.u32 [counted], 0;
bar.sync 0;
@!%p1 bra SENDS;
ROUND:
POLL:
ld.volatile.shared.u32 %r11, [%s1];
setp.le.u32 %p3, %r11, %r10;
@%p3 bra POLL;
add.u32 %r10, %r10, 1;
st.volatile.shared.u32 [%s2], %r10;
red.shared.add.u32 [counted], 1;
setp.eq.u32 %p4, %s0, 32;
@%p4 bra ONEWARP;
barrier.sync 1, %s0;
bra MET;
ONEWARP:
bar.warp.sync -1;
MET:
ld.volatile.shared.u32 %r12, [counted];
add.u32 %r5, %r5, %r12;
barrier.sync 2, 96;
setp.lt.u32 %p5, %r10, 4;
@%p5 bra ROUND;
bra DONE;
SENDS:
sub.u32 %s3, %r1, 96;
shl.b32 %s4, %s3, 2;
add.u32 %s5, %r7, %s4;
add.u32 %s6, %r8, %s4;
NEXT:
add.u32 %r10, %r10, 1;
mov.u32 %s7, 0;
LANE:
setp.eq.u32 %p6, %s7, %s3;
@%p6 st.volatile.shared.u32 [%s5], %r10;
@%p6 st.volatile.shared.u32 [%s5+128], %r10;
@%p6 st.volatile.shared.u32 [%s5+256], %r10;
nanosleep.u32 1;
add.u32 %s7, %s7, 1;
setp.lt.u32 %p6, %s7, 32;
@%p6 bra LANE;
WAITS:
ld.volatile.shared.u32 %s8, [%s6];
ld.volatile.shared.u32 %s9, [%s6+128];
ld.volatile.shared.u32 %s10, [%s6+256];
min.u32 %s8, %s8, %s9;
min.u32 %s8, %s8, %s10;
setp.lt.u32 %p6, %s8, %r10;
@%p6 bra WAITS;
setp.lt.u32 %p6, %r10, 4;
@%p6 bra NEXT;
DONE:
)";

TEST_F(WaitingTest, LanesThatComeOneByOneMeetAtOnce) {
  const CUfunction kernel =
      function(module(entry("kernel", {".u64", ".u32"}, std::string(kIndices) + kSeenOneByOne + kStore)));
  const CUdeviceptr out = allocate(4 * 128);
  ASSERT_EQ(run(kernel, 1, 128, out, 96u), CUDA_SUCCESS);
  const std::vector<uint32_t> sums = read(out, 128);
  for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(sums[i], i < 96 ? 96u * (1 + 2 + 3 + 4) : 0u) << "thread " << i;
}

}  // namespace
}  // namespace kernels
