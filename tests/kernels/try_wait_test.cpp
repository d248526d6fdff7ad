// mbarrier.try_wait that no loop repeats: it may hold a thread until the phase has ended, and programs rely on that.
#include "kernels/fixture.h"

namespace kernels {
namespace {

class TryWaitTest : public KernelTest {
 protected:
  // The warp `asks` asks once; the other one counts to 1000 and arrives, or does not. What each lane was told.
  std::vector<uint32_t> answers(uint32_t asks, bool arrives, const std::string& wait) {
    const CUfunction kernel = function(module(entry("kernel", {".u64"}, R"(
.shared .align 8 .b64 object;
mov.u32 %r1, %tid.x;
mov.u32 %r2, object;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r2], 1;
bar.sync 0;
shr.u32 %r3, %r1, 5;
setp.eq.u32 %p2, %r3, )" + std::to_string(asks) + R"(;
@%p2 bra ASK;
mov.u32 %r4, 0;
COUNT:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p3, %r4, 1000;
@%p3 bra COUNT;
and.b32 %r5, %r1, 31;
setp.eq.u32 %p4, %r5, )" + (arrives ? "0" : "32") + R"(;
@%p4 mbarrier.arrive.shared.b64 %rd5, [%r2];
bra DONE;
ASK:
)" + wait + R"(
selp.u32 %r5, 1, 2, %p5;
and.b32 %r2, %r1, 31;
)" + kStore + "DONE:\n"),
                                              "sm_90", "8.0"));
    const CUdeviceptr out = allocate(32 * 4);
    EXPECT_EQ(run(kernel, 1, 64, out), CUDA_SUCCESS);
    return read(out, 32);
  }
};

constexpr const char *kByParity = "mbarrier.try_wait.parity.shared.b64 %p5, [%r2], 0;",
                     *kWithALimit = "mbarrier.try_wait.parity.shared.b64 %p5, [%r2], 0, 100000;",
                     *kOfSome =
                         "and.b32 %r6, %r1, 1;\nsetp.eq.u32 %p6, %r6, 0;\nsetp.ne.u32 %p5, %r1, %r1;\n@%p6 "
                         "mbarrier.try_wait.parity.shared.b64 %p5, [%r2], 0;";

TEST_F(TryWaitTest, HoldsUntilThePhaseHasEnded) {
  for (const uint32_t asks : {0u, 1u})
    for (const char* wait : {kByParity, kWithALimit})
      EXPECT_EQ(answers(asks, true, wait), std::vector<uint32_t>(32, 1)) << asks << ' ' << wait;
}

TEST_F(TryWaitTest, OnlyLanesThatAskAreAnswered) {
  const std::vector<uint32_t> made = answers(0, true, kOfSome);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(made[lane], lane % 2 ? 2u : 1u) << lane;
}

TEST_F(TryWaitTest, SaysNoWhereNobodyEndsThePhase) {
  for (const uint32_t asks : {0u, 1u}) EXPECT_EQ(answers(asks, false, kByParity), std::vector<uint32_t>(32, 2));
}

}  // namespace
}  // namespace kernels
