// What the interpreter does beyond single instructions: control flow, calls, barriers, lanes that wait for each other.
#include "ptx/interpreter/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "unit/ptx/harness.h"

namespace vg::ptx {
namespace {

using harness::Interpreted;
using harness::Launch;
using harness::Outcome;

constexpr const char* kTop = ".version 8.2\n.target sm_90\n.address_size 64\n";
constexpr const char* kRegisters =
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .b16 %rs<8>;\n";
// %rd1 = out + 4 * thread, %r1 = thread in the block.
constexpr const char* kOut =
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n";

std::string kernel(const std::string& body) {
  return std::string(".visible .entry k(.param .u64 out)\n{ ") + kRegisters + kOut + body + "\nret; }\n";
}

struct Ran {
  Outcome outcome;
  std::vector<uint32_t> out;
};

Ran run(const std::string& text, uint32_t threads = 32, uint32_t blocks = 1, uint32_t dynamicShared = 0) {
  Ran ran;
  Interpreted interpreted(kTop + text);
  EXPECT_TRUE(interpreted.ok()) << interpreted.log;
  if (!interpreted.ok()) return ran;
  ran.out.resize(threads + 64);
  Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  launch.dynamicShared = dynamicShared;
  launch.add(reinterpret_cast<uint64_t>(ran.out.data()));
  ran.outcome = interpreted.run("k", launch);
  return ran;
}

TEST(Interpreter, GuardsAndDivergentBranchesReconverge) {
  const Ran ran =
      run(kernel("setp.lt.u32 %p1, %r1, 10; mov.u32 %r2, 1; @%p1 bra A; add.u32 %r2, %r2, 10; bra B;\n"
                 "A: add.u32 %r2, %r2, 100;\nB: activemask.b32 %r3; popc.b32 %r4, %r3; @!%p1 add.u32 %r2, %r2, 1000;\n"
                 "mad.lo.u32 %r2, %r4, 10000, %r2; st.global.u32 [%rd1], %r2;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], 320000 + (t < 10 ? 101u : 1011u));
}

TEST(Interpreter, LanesLeaveLoopsAtTheirOwnTime) {
  const Ran ran =
      run(kernel("mov.u32 %r2, 0; mov.u32 %r3, 0;\nL: setp.ge.u32 %p1, %r3, %r1; @%p1 bra D; add.u32 %r3, %r3, 1;\n"
                 "add.u32 %r2, %r2, %r3; bra L;\nD: st.global.u32 [%rd1], %r2;"),
          77);
  for (uint32_t t = 0; t < 77; ++t) EXPECT_EQ(ran.out[t], t * (t + 1) / 2);
}

TEST(Interpreter, BranchTablesJumpByLane) {
  const Ran ran =
      run(kernel("rem.u32 %r2, %r1, 3; T: .branchtargets A, B, C;\nbrx.idx %r2, T;\nA: mov.u32 %r3, 7; bra D;\n"
                 "B: mov.u32 %r3, 8; bra D;\nC: mov.u32 %r3, 9;\nD: st.global.u32 [%rd1], %r3;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], 7 + t % 3);
}

TEST(Interpreter, RecursiveCallsHaveTheirOwnFrames) {
  const Ran ran =
      run(".func (.param .b32 r) fib(.param .b32 n) { .reg .b32 %r<8>; .reg .pred %p1;\n"
          "ld.param.b32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @%p1 bra BASE; sub.u32 %r2, %r1, 1;\n"
          "{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r2; call.uni (q), fib, (a); ld.param.b32 %r3, [q]; }\n"
          "sub.u32 %r2, %r1, 2;\n{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r2; call.uni (q), fib, (a); "
          "ld.param.b32 %r4, [q]; }\n"
          "add.u32 %r1, %r3, %r4;\nBASE: st.param.b32 [r], %r1; ret; }\n" +
          kernel("rem.u32 %r2, %r1, 12; { .param .b32 a; .param .b32 q; st.param.b32 [a], %r2; call (q), fib, (a);\n"
                 "ld.param.b32 %r3, [q]; } st.global.u32 [%rd1], %r3;"));
  const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], fib[t % 12]);
}

TEST(Interpreter, EndlessRecursionOverflowsTheStack) {
  const Ran ran = run(".func f() { .local .align 8 .b8 x[64]; call f; ret; }\n" + kernel("call f;"));
  EXPECT_TRUE(ran.outcome.trapped);
  EXPECT_EQ(ran.outcome.reason, TrapReason::StackOverflow);
}

TEST(Interpreter, CallsThroughTablesOfFunctions) {
  const Ran ran =
      run(".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 a; ld.param.b32 a, [x]; add.u32 a, a, a; "
          "st.param.b32 [r], a; ret; }\n"
          ".func (.param .b32 r) square(.param .b32 x) { .reg .b32 a; ld.param.b32 a, [x]; mul.lo.u32 a, a, a; "
          "st.param.b32 [r], a; ret; }\n"
          ".global .u64 table[2] = {twice, square};\n" +
          kernel("and.b32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 8; mov.u64 %rd4, table; add.u64 %rd4, %rd4, %rd3; "
                 "ld.global.u64 %rd5, [%rd4];\n"
                 "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                 "{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r1; call (q), %rd5, (a), P; ld.param.b32 %r3, "
                 "[q]; } st.global.u32 [%rd1], %r3;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], t & 1 ? t * t : 2 * t);
}

TEST(Interpreter, RegisterParametersArePassed) {
  const Ran ran = run(".func (.reg .b32 r) plus(.reg .b32 a, .reg .b32 b) { add.u32 r, a, b; ret; }\n" +
                      kernel("call (%r3), plus, (%r1, 5); st.global.u32 [%rd1], %r3;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], t + 5);
}

TEST(Interpreter, BarriersOrderSharedMemoryAcrossWarps) {
  const Ran ran =
      run(".shared .b32 buffer[128];\n" +
              kernel("mov.u32 %r2, buffer; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1; bar.sync 0;\n"
                     "xor.b32 %r4, %r1, 127; mad.lo.u32 %r3, %r4, 4, %r2; ld.shared.u32 %r5, [%r3]; st.global.u32 "
                     "[%rd1], %r5;"),
          128);
  for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(ran.out[t], t ^ 127);
}

TEST(Interpreter, BarriersCountThreadsThatAreLeft) {
  const Ran ran =
      run(".shared .b32 total;\n" +
              kernel("setp.ge.u32 %p1, %r1, 70; @%p1 exit; mov.u32 %r2, total; setp.ne.u32 %p2, %r1, 0; @%p2 bra W;\n"
                     "st.shared.u32 [%r2], 0;\nW: barrier.sync 1; red.shared.add.u32 [%r2], 1; barrier.sync 1;\n"
                     "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;"),
          150);
  for (uint32_t t = 0; t < 70; ++t) EXPECT_EQ(ran.out[t], 70u);
}

TEST(Interpreter, ProducersArriveAndConsumersWait) {
  const Ran ran =
      run(".shared .b32 value;\n" + kernel("mov.u32 %r2, value; setp.ge.u32 %p1, %r1, 32; @%p1 bra C; st.shared.u32 "
                                           "[%r2], 42; bar.arrive 3, 64; ret;\n"
                                           "C: bar.sync 3, 64; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;"),
          64);
  for (uint32_t t = 32; t < 64; ++t) EXPECT_EQ(ran.out[t], 42u);
}

TEST(Interpreter, SpinLocksBetweenLanesOfAWarpMakeProgress) {
  const Ran ran = run(".global .b32 lock;\n.global .b32 counter;\n" +
                          kernel("mov.u64 %rd3, lock; mov.u64 %rd4, counter;\n"
                                 "L: atom.global.cas.b32 %r2, [%rd3], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
                                 "ld.volatile.global.u32 %r3, [%rd4]; add.u32 %r3, %r3, 1; st.volatile.global.u32 "
                                 "[%rd4], %r3; membar.gl;\n"
                                 "atom.global.exch.b32 %r2, [%rd3], 0; st.global.u32 [%rd1], %r3;"),
                      96);
  std::vector<uint32_t> tickets(ran.out.begin(), ran.out.begin() + 96), expected(96);
  std::sort(tickets.begin(), tickets.end());
  std::iota(expected.begin(), expected.end(), 1u);
  EXPECT_EQ(tickets, expected);
}

TEST(Interpreter, WarpsThatPollYieldToTheOthers) {
  const Ran ran = run(".global .b32 flag;\n" + kernel("mov.u64 %rd3, flag; setp.ge.u32 %p1, %r1, 32; @%p1 bra SET;\n"
                                                      "L: ld.acquire.gpu.global.u32 %r2, [%rd3]; setp.eq.u32 %p2, %r2, "
                                                      "0; @%p2 bra L; st.global.u32 [%rd1], %r2; ret;\n"
                                                      "SET: st.release.gpu.global.u32 [%rd3], 9;"),
                      64);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], 9u);
}

TEST(Interpreter, ShufflesMeetWhenLanesArriveSeparately) {
  const Ran ran =
      run(kernel("setp.lt.u32 %p1, %r1, 16; mov.u32 %r2, %r1; @%p1 bra A; add.u32 %r2, %r2, 100;\n"
                 "bar.warp.sync -1; bra S;\nA: bar.warp.sync -1;\nS: shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; "
                 "st.global.u32 [%rd1], %r3;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], t < 16 ? t + 116 : t - 16);
}

TEST(Interpreter, WarpOperationsInDivergentCodeSeeTheirMask) {
  const Ran ran = run(
      kernel("setp.lt.u32 %p1, %r1, 5; @!%p1 bra E; vote.sync.ballot.b32 %r3, 1, 31; redux.sync.add.u32 %r4, %r1, 31;\n"
             "add.u32 %r3, %r3, %r4; st.global.u32 [%rd1], %r3;\nE:"));
  for (uint32_t t = 0; t < 5; ++t) EXPECT_EQ(ran.out[t], 31u + 10);
  EXPECT_EQ(ran.out[5], 0u);
}

TEST(Interpreter, LocalMemoryBelongsToTheLane) {
  const Ran ran = run(kernel(
      ".local .align 4 .b8 depot[16]; mov.u64 %rd3, depot; st.local.u32 [%rd3+4], %r1; cvta.local.u64 %rd4, %rd3;\n"
      "ld.u32 %r2, [%rd4+4]; isspacep.local %p1, %rd4; isspacep.global %p2, %rd4; selp.u32 %r3, 100, 0, %p1;\n"
      "selp.u32 %r4, 1000, 0, %p2; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%rd1], %r2;"));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], 100 + t);
}

TEST(Interpreter, ArraysAreIndexedByRegisters) {
  const Ran ran = run(".const .b16 odd[4] = {1, 3, 5, 7};\n" +
                      kernel(".local .align 8 .b64 own[4]; .shared .b32 all[32]; and.b32 %r2, %r1, 3;\n"
                             "mov.b64 %rd3, 40; st.local.b64 own[%r2], %rd3; mov.b32 %r3, -1;\n"
                             "st.local.b64 [own[%r3+1]], %rd3; ld.local.b64 %rd4, own[%r2];\n"
                             "st.shared.b32 all[%r1], %r1; ld.const.u16 %r4, odd[%r2];\n"
                             "mov.b64 %rd5, all[%r1]; ld.shared.b32 %r5, [%rd5]; cvt.u32.u64 %r6, %rd4;\n"
                             "add.u32 %r6, %r6, %r5; mad.lo.u32 %r6, %r4, 100, %r6; st.global.u32 [%rd1], %r6;"));
  EXPECT_FALSE(ran.outcome.trapped);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(ran.out[t], 40 + t + 100 * (2 * (t % 4) + 1));
}

TEST(Interpreter, DynamicSharedMemoryFollowsTheStaticOne) {
  const std::string text =
      ".extern .shared .align 16 .b8 dynamic[];\n.shared .b32 own[3];\n" +
      kernel(
          "st.shared.u32 [own+8], 5; mov.u32 %r2, dynamic; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;\n"
          "ld.shared.u32 %r4, [own+8]; mad.lo.u32 %r4, %r2, 100, %r4; st.global.u32 [%rd1], %r4;");
  EXPECT_EQ(run(text, 32, 1, 128).out[3], 1605u);
  const Ran tooSmall = run(text, 32, 1, 64);
  EXPECT_TRUE(tooSmall.outcome.trapped);
  EXPECT_EQ(tooSmall.outcome.reason, TrapReason::SharedOutOfRange);
}

TEST(Interpreter, MisalignedAccessesTrap) {
  const Ran ran = run(kernel("\n\nst.global.u32 [%rd1+2], %r1;"));
  EXPECT_TRUE(ran.outcome.trapped);
  EXPECT_EQ(ran.outcome.reason, TrapReason::MisalignedAddress);
  EXPECT_EQ(ran.outcome.line, 9u);
}

TEST(Interpreter, TrapAndUnknownInstructionsTrapWhenTheyAreReached) {
  EXPECT_EQ(run(kernel("setp.eq.u32 %p1, %r1, 99; @%p1 trap; @%p1 wobble.u32 %r1; st.global.u32 [%rd1], 3;")).out[31],
            3u);
  EXPECT_EQ(run(kernel("trap;")).outcome.reason, TrapReason::Trap);
  const Ran unknown = run(kernel("wobble.u32 %r1;"));
  EXPECT_TRUE(unknown.outcome.trapped);
  EXPECT_EQ(unknown.outcome.reason, TrapReason::IllegalInstruction);
}

TEST(Interpreter, PrintfAssertAndHeapReachTheRunner) {
  const std::string print =
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .b8 format[] = {105, 61, 37, 100, "
      "10, 0};\n";
  const Ran printed = run(
      print + kernel(".local .align 8 .b8 arguments[8]; setp.gt.u32 %p1, %r1, 1; @%p1 ret; mov.u64 %rd3, arguments;\n"
                     "st.local.u32 [%rd3], %r1; mov.u64 %rd4, format;\n"
                     "{ .param .b64 a; .param .b64 b; .param .b32 q; st.param.b64 [a], %rd4; st.param.b64 [b], %rd3;\n"
                     "call.uni (q), vprintf, (a, b); ld.param.b32 %r2, [q]; } st.global.u32 [%rd1], %r2;"));
  EXPECT_EQ(printed.outcome.printed, "i=0\ni=1\n");
  EXPECT_EQ(printed.out[0], 1u);
  const Ran heap = run(
      ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" +
      kernel(
          "{ .param .b64 n; .param .b64 q; st.param.b64 [n], 64; call.uni (q), malloc, (n); ld.param.b64 %rd3, [q]; }\n"
          "st.u32 [%rd3+60], %r1; ld.u32 %r2, [%rd3+60]; { .param .b64 p; st.param.b64 [p], %rd3; call.uni free, (p); "
          "}\n"
          "st.global.u32 [%rd1], %r2;"));
  EXPECT_EQ(heap.out[31], 31u);
  const Ran asserted =
      run(".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) "
          ".noreturn;\n"
          ".global .b8 text[] = \"x > 0\";\n" +
          kernel("mov.u64 %rd3, text; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
                 "st.param.b64 [a], %rd3; st.param.b64 [b], %rd3; st.param.b32 [c], 77; st.param.b64 [d], %rd3; "
                 "st.param.b64 [e], 1;\n"
                 "call.uni __assertfail, (a, b, c, d, e); }"));
  EXPECT_TRUE(asserted.outcome.asserted);
  EXPECT_EQ(asserted.outcome.line, 77u);
  EXPECT_EQ(asserted.outcome.printed, "x > 0");
}

TEST(Interpreter, AsynchronousCopiesFillWithZeros) {
  const Ran ran = run(".global .align 16 .b32 source[4] = {1, 2, 3, 4};\n.shared .align 16 .b32 target[4];\n" +
                      kernel("mov.u64 %rd3, source; mov.u32 %r2, target; cp.async.ca.shared.global [%r2], [%rd3], 16, "
                             "8; cp.async.commit_group;\n"
                             "cp.async.wait_group 0; ld.shared.u32 %r3, [target+4]; ld.shared.u32 %r4, [target+8]; "
                             "mad.lo.u32 %r3, %r4, 10, %r3;\n"
                             "st.global.u32 [%rd1], %r3;"));
  EXPECT_EQ(ran.out[0], 2u);
}

TEST(Interpreter, WideValuesKeepBothHalves) {
  const Ran ran =
      run(".global .align 16 .b64 source[2] = {1, 2};\n.global .align 16 .b64 target[2];\n" +
              kernel(".reg .b128 %q<4>; mov.u64 %rd3, source; mov.u64 %rd4, target; ld.global.b128 %q1, [%rd3]; "
                     "st.global.b128 [%rd4], %q1;\n"
                     "ld.global.v2.u64 {%rd5, %rd6}, [%rd4]; mov.b128 %q2, {%rd6, %rd5}; mov.b128 %q0, %q2;\n"
                     "atom.global.exch.b128 %q3, [%rd4], %q2; atom.global.cas.b128 %q1, [%rd4], %q2, %q3; mov.b128 "
                     "{%rd7, %rd8}, %q0;\n"
                     "add.u64 %rd5, %rd5, %rd5; add.u64 %rd7, %rd7, %rd5; cvt.u32.u64 %r2, %rd7; mad.lo.u32 %r2, %r2, "
                     "10, 0; cvt.u32.u64 %r3, %rd8;\n"
                     "add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2;"),
          1);
  EXPECT_EQ(ran.out[0], 41u);
}

TEST(Interpreter, BarrierObjectsEndTheirPhaseWhenAllArrived) {
  const Ran ran = run(
      ".shared .align 8 .b64 object;\n.shared .b32 buffer[64];\n" +
          kernel("mov.u32 %r2, object; mov.u32 %r3, buffer; setp.eq.u32 %p1, %r1, 0; @%p1 "
                 "mbarrier.init.shared::cta.b64 [%r2], 64; bar.sync 0;\n"
                 "mad.lo.u32 %r4, %r1, 4, %r3; st.shared.u32 [%r4], %r1; mbarrier.arrive.shared::cta.b64 %rd3, [%r2];\n"
                 "W: mbarrier.try_wait.shared::cta.b64 %p2, [%r2], %rd3; @!%p2 bra W; xor.b32 %r5, %r1, 63; mad.lo.u32 "
                 "%r4, %r5, 4, %r3;\n"
                 "ld.shared.u32 %r6, [%r4]; mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r2], 1; @%p3 add.u32 %r6, "
                 "%r6, 1000;\n"
                 "st.global.u32 [%rd1], %r6;"),
      64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(ran.out[t], (t ^ 63));
}

TEST(Interpreter, BulkCopiesReportToTheirBarrier) {
  const Ran ran =
      run(".global .align 16 .b32 source[4] = {1, 2, 3, 4};\n.shared .align 16 .b32 target[4];\n.shared .align 8 .b64 "
          "object;\n" +
              kernel("mov.u32 %r2, object; mov.u64 %rd3, source; mbarrier.init.shared.b64 [%r2], 1; "
                     "mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r2], 16;\n"
                     "mbarrier.test_wait.shared.b64 %p1, [%r2], %rd4; selp.u32 %r3, 100, 0, %p1; mov.u32 %r4, target;\n"
                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], 16, [%r2];\n"
                     "mbarrier.test_wait.shared.b64 %p1, [%r2], %rd4; selp.u32 %r5, 10, 0, %p1; add.u32 %r3, %r3, %r5; "
                     "ld.shared.u32 %r6, [target+12];\n"
                     "add.u32 %r3, %r3, %r6; st.global.u32 [%rd1], %r3;"),
          1);
  EXPECT_EQ(ran.out[0], 14u);
}

TEST(Interpreter, TraitsSayWhatTheRunnerMustKnow) {
  Interpreted kernels(
      std::string(kTop) + ".extern .shared .b8 d[];\n.shared .b32 s[5];\n" +
      ".entry plain() { ret; }\n.entry loops() { .reg .b32 r; L: add.u32 r, r, 1; bra L; }\n"
      ".entry waits() { bar.sync 0; ret; }\n"
      ".entry polls(.param .u64 p) { .reg .b64 a; .reg .b32 r; .reg .pred q; ld.param.u64 a, [p];\n"
      "L: ld.volatile.global.u32 r, [a]; setp.eq.u32 q, r, 0; @q bra L; ret; }\n"
      ".entry shares() { .reg .b32 r; .local .b8 l[40]; ld.shared.u32 r, [s]; ld.shared.u32 r, [d]; ret; }\n");
  ASSERT_TRUE(kernels.ok()) << kernels.log;
  const auto traits = [&](uint32_t k) { return prepare(*kernels.module, k).value()->traits(); };
  EXPECT_FALSE(traits(0).loops || traits(0).waits || traits(0).polls);
  EXPECT_TRUE(traits(1).loops && !traits(1).waits);
  EXPECT_TRUE(traits(2).waits && !traits(2).polls);
  EXPECT_TRUE(traits(3).polls && traits(3).waits && traits(3).loops);
  EXPECT_EQ(traits(4).staticShared, 20u);
  EXPECT_EQ(traits(4).dynamicSharedOffset, 32u);
  EXPECT_TRUE(traits(4).usesDynamicShared);
  EXPECT_EQ(traits(4).localPerThread, 40u);
}

TEST(Interpreter, OnlyEntriesWithBodiesArePrepared) {
  Interpreted module(std::string(kTop) + ".func f() { ret; }\n.entry k() { ret; }\n");
  EXPECT_EQ(prepare(*module.module, 0).error(), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(prepare(*module.module, 7).error(), CUDA_ERROR_NOT_FOUND);
  EXPECT_TRUE(prepare(*module.module, 1).ok());
}

}  // namespace
}  // namespace vg::ptx
