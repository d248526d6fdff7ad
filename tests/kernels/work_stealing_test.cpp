// Blocks that take the work of others which have not begun (clusterlaunchcontrol): every block's work is done once,
// whoever does it.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kernels/fixture.h"

namespace kernels {
namespace {

struct Size {
  unsigned x = 1, y = 1, z = 1;
  unsigned all() const { return x * y * z; }
};

// p0[block] += 1 for each block whose work is done, p1[0] += 1 for each block that begins, p1[1] for each whose work
// was taken, p1[2] for each answer that different questions do not agree on. `ask`: the request; `first`, `last`:
// around each block's turn.
std::string stealing(const std::string& ask, const std::string& first, const std::string& last) {
  const std::string body =
      ".reg .b128 %q;\n.reg .pred %lead;\n.shared .align 16 .b8 answer[16];\n.shared .align 8 .b64 object;\n"
      "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %lead, %r1, 0;\nld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\n"
      "@%lead mbarrier.init.shared.b64 [object], 1;\n@%lead red.global.add.u32 [%rd2], 1;\n"
      "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
      "mov.u32 %r10, %ctaid.x;\nmov.u32 %r11, %ctaid.y;\nmov.u32 %r12, %ctaid.z;\nmov.u32 %r20, 0;\n"
      "mov.u32 %r13, %nctaid.x;\nmov.u32 %r14, %nctaid.y;\n"
      "WORK:\nmad.lo.u32 %r15, %r12, %r14, %r11;\nmad.lo.u32 %r15, %r15, %r13, %r10;\nmul.wide.u32 %rd3, %r15, 4;\n"
      "add.u64 %rd3, %rd1, %rd3;\n@%lead red.global.add.u32 [%rd3], 1;\n" +
      first + "@!%lead bra WAIT;\nmbarrier.arrive.expect_tx.shared.b64 _, [object], 16;\n" + ask +
      "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [object], %r20;\n@!%p1 bra WAIT;\nxor.b32 %r20, %r20, 1;\n"
      "ld.shared.b128 %q, [answer];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;\n"
      "@!%p2 bra DONE;\nclusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r10, %r11, %r12, _}, %q;\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r16, %q;\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r17, %q;\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r18, %q;\n"
      "setp.ne.u32 %p3, %r16, %r10;\nsetp.ne.or.u32 %p3, %r17, %r11, %p3;\nsetp.ne.or.u32 %p3, %r18, %r12, %p3;\n"
      "@%p3 red.global.add.u32 [%rd2+8], 1;\n@%lead red.global.add.u32 [%rd2+4], 1;\n"
      "mov.u32 %r16, %cluster_ctaid.x;\nadd.u32 %r10, %r10, %r16;\n"
      "mov.u32 %r16, %cluster_ctaid.y;\nadd.u32 %r11, %r11, %r16;\n" +
      last + "bra WORK;\nDONE:\n" + last;
  return module(entry("kernel", {".u64", ".u64"}, body), "sm_100", "8.6");
}

constexpr char kAsk[] =
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [object];\n";
constexpr char kAskGenerically[] =
    "mov.u64 %rd8, answer;\ncvta.shared.u64 %rd8, %rd8;\nmov.u64 %rd9, object;\ncvta.shared.u64 %rd9, %rd9;\n"
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd8], [%rd9];\n";
// The block of rank 0 asks for all.
constexpr char kAskForAll[] =
    "mov.u32 %r16, %cluster_ctarank;\nsetp.eq.u32 %p1, %r16, 0;\n"
    "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
    "[answer], [object];\n";
constexpr char kMeet[] = "bar.sync 0;\n";
constexpr char kMeetCluster[] = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";

class WorkStealing : public KernelTest {
 protected:
  struct Counts {
    uint32_t begun, taken, differ;
  };
  // All work is done once, and who began and what was taken is the whole grid.
  Counts steal(const std::string& text, Size grid, Size cluster, unsigned threads = 64) {
    const CUfunction kernel = function(text);
    CUdeviceptr done = allocate(grid.all() * 4), counts = allocate(12);
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster.x, cluster.y, cluster.z};
    CUlaunchConfig config{};
    config.gridDimX = grid.x, config.gridDimY = grid.y, config.gridDimZ = grid.z;
    config.blockDimX = threads, config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    void* values[] = {&done, &counts};
    EXPECT_EQ(cuLaunchKernelEx(&config, kernel, values, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(read(done, grid.all()), std::vector<uint32_t>(grid.all(), 1));
    const std::vector<uint32_t> seen = read(counts, 3);
    EXPECT_EQ(seen[0] + seen[1], grid.all());
    EXPECT_EQ(seen[2], 0u);
    return {seen[0], seen[1], seen[2]};
  }
};

TEST_F(WorkStealing, BlocksDoTheWorkOfThoseThatHaveNotBegun) {
  const std::string text = stealing(kAsk, kMeet, kMeet);
  for (const Size grid : {Size{1, 1, 1}, Size{2000, 1, 1}, Size{7, 5, 3}, Size{1, 1, 40}, Size{3, 200, 1}}) {
    const Counts counts = steal(text, grid, {});
    if (grid.all() > 100) {
      EXPECT_GT(counts.taken, grid.all() / 2);
    }
  }
}

TEST_F(WorkStealing, OneWarpNeedsNoBarrierForIt) { steal(stealing(kAsk, "bar.warp.sync -1;\n", ""), {300}, {}, 32); }

TEST_F(WorkStealing, AddressesMayBeGeneric) { steal(stealing(kAskGenerically, kMeet, kMeet), {100, 3, 1}, {}); }

TEST_F(WorkStealing, WholeClustersAreTakenAndAllTheirBlocksHearOfIt) {
  const std::string text = stealing(kAskForAll, kMeetCluster, kMeetCluster);
  steal(text, {64, 1, 1}, {2, 1, 1});
  steal(text, {64, 6, 2}, {4, 2, 1});
  steal(text, {8, 8, 1}, {1, 1, 1});
}

// Blocks of a cooperative grid wait for each other: all begin.
TEST_F(WorkStealing, NothingIsTakenFromCooperativeGrids) {
  const CUfunction kernel = function(stealing(kAsk, kMeet, kMeet));
  CUdeviceptr done = allocate(8 * 4), counts = allocate(12);
  void* values[] = {&done, &counts};
  ASSERT_EQ(cuLaunchCooperativeKernel(kernel, 8, 1, 1, 64, 1, 1, 0, nullptr, values), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(read(counts, 3), (std::vector<uint32_t>{8, 0, 0}));
}

// Each lane of the block asks for itself, with a place and an object of its own.
TEST_F(WorkStealing, EveryLaneMayAsk) {
  const std::string body =
      ".reg .b128 %q;\n.shared .align 16 .b8 answers[512];\n.shared .align 8 .b8 objects[256];\n"
      "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.u32 %r3, answers;\n"
      "add.u32 %r2, %r2, %r3;\nshl.b32 %r4, %r1, 3;\nmov.u32 %r5, objects;\nadd.u32 %r4, %r4, %r5;\n"
      "mov.u32 %r6, %ctaid.x;\nsetp.eq.u32 %p2, %r1, 0;\nmul.wide.u32 %rd2, %r6, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
      "@%p2 red.global.add.u32 [%rd2], 1;\nmbarrier.init.shared.b64 [%r4], 1;\nmov.u32 %r7, 0;\n"
      "and.b32 %r8, %r1, 1;\nsetp.eq.u32 %p3, %r8, 1;\n@%p3 bra DONE;\n"
      "AGAIN:\nmbarrier.arrive.expect_tx.shared.b64 _, [%r4], 16;\n"
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r2], [%r4];\n"
      "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r4], %r7;\n@!%p1 bra WAIT;\nxor.b32 %r7, %r7, 1;\n"
      "ld.shared.b128 %q, [%r2];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;\n"
      "@!%p2 bra DONE;\nclusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r6, %q;\n"
      "mul.wide.u32 %rd2, %r6, 4;\nadd.u64 %rd2, %rd1, %rd2;\nred.global.add.u32 [%rd2], 1;\nbra AGAIN;\nDONE:\n";
  const CUfunction kernel = function(module(entry("kernel", {".u64"}, body), "sm_100", "8.6"));
  const CUdeviceptr done = allocate(5000 * 4);
  ASSERT_EQ(run(kernel, 5000, 32, done), CUDA_SUCCESS);
  EXPECT_EQ(read(done, 5000), std::vector<uint32_t>(5000, 1));
}

// The answer is 16 bytes of the block's shared memory, at a multiple of 16.
TEST_F(WorkStealing, WrongPlacesForTheAnswerAreFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends = [&](const std::string& place, CUresult error) {
    const CUfunction kernel = function(
        stealing("mov.u32 %r9, answer;\nadd.u32 %r9, %r9, " + place +
                     ";\nclusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r9], "
                     "[object];\n",
                 kMeet, kMeet));
    const auto body = [&] {
      EXPECT_EQ(run(kernel, 4, 64, allocate(16), allocate(12)), error);
      std::exit(HasFailure());
    };
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "PTX line [0-9]+");
  };
  ends("4", CUDA_ERROR_MISALIGNED_ADDRESS);
  ends("1048576", CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(WorkStealing, OperandsThatCannotBeAreRefused) {
  for (const std::string line :
       {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rd1;\n",
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %r1, %q;\n",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %rd1;\n",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3}, %q;\n",
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1];\n"}) {
    CUmodule made = nullptr;
    const std::string text = module(entry("kernel", {}, ".reg .b128 %q;\n" + line), "sm_100", "8.6");
    EXPECT_EQ(cuModuleLoadData(&made, text.c_str()), CUDA_ERROR_INVALID_PTX) << line;
  }
}

}  // namespace
}  // namespace kernels
