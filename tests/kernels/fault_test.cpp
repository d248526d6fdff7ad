#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "kernels/fixture.h"

namespace kernels {
namespace {

// Adds one to the word at the address p0.
std::string touch() {
  return module(entry("kernel", {".u64"},
                      "ld.param.u64 %rd1, [p0];\nld.global.u32 %r1, [%rd1];\n"
                      "add.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\n"));
}

// A fault ends a process's use of its device, so each case has a process of its own.
class FaultTest : public KernelTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    KernelTest::SetUp();
  }

  // Launches and expects `error`, now and from every later call that needs the device; the process goes on.
  template <class... Arguments>
  void expectSticky(CUresult error, const std::string& text, unsigned blocks, unsigned threads, const std::string& said,
                    Arguments... arguments) {
    const auto body = [&] {
      const CUfunction kernel = function(text);
      EXPECT_EQ(launch(kernel, blocks, threads, arguments...), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxSynchronize(), error);
      EXPECT_EQ(cuCtxSynchronize(), error);
      CUdeviceptr pointer = 0;
      EXPECT_EQ(cuMemAlloc(&pointer, 16), error);
      EXPECT_EQ(launch(kernel, blocks, threads, arguments...), error);
      int value = 0;
      EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device_), CUDA_SUCCESS);
      EXPECT_EQ(cuDevicePrimaryCtxReset(device_), CUDA_SUCCESS);
      CUcontext context = nullptr;
      EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device_), error);
      std::exit(HasFailure());
    };
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), said);
  }
};

TEST_F(FaultTest, AWildAccessIsAnIllegalAddress) {
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, touch(), 4, 64, "illegal address in block", CUdeviceptr{0x10});
}

// As two H200 with the vendor's driver answer: a context that is there fails, one that is not cannot be made.
TEST_F(FaultTest, AFaultEndsTheUseOfAllDevices) {
  const auto body = [&] {
    const auto allocates = [] {
      CUdeviceptr pointer = 0;
      return cuMemAlloc(&pointer, 16);
    };
    CUcontext other = nullptr, more = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    const CUfunction kernel = function(touch());
    EXPECT_EQ(launch(kernel, 1, 1, CUdeviceptr{0x10}), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
    EXPECT_EQ(allocates(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&more, 1), CUDA_SUCCESS);  // it is there, if of no use
    EXPECT_EQ(allocates(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuCtxCreate_v4(&more, nullptr, 0, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuDevicePrimaryCtxReset(1), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&more, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
    EXPECT_EQ(allocates(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    size_t bytes = 0;
    EXPECT_EQ(cuDeviceTotalMem(&bytes, 1), CUDA_SUCCESS);
    std::exit(HasFailure());
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "which all contexts of this process return");
}

TEST_F(FaultTest, AFaultNamesItsBlockAmongThoseRunTogether) {
  const std::string text = module(entry("kernel", {".u64"},
                                        "ld.param.u64 %rd1, [p0];\nmov.u32 %r3, %ctaid.x;\n"
                                        "setp.ne.u32 %p1, %r3, 5;\n@%p1 bra DONE;\n"
                                        "st.global.u32 [%rd1], %r3;\nDONE:"));
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, text, 8, 64, "block \\[5,0,0\\]", CUdeviceptr{0x10});
}

TEST_F(FaultTest, AThreadWhoseStackForSignalsIsGoneStillGetsItsError) {
  EXPECT_EQ(run(function(touch()), 1, 1, allocate(4)), CUDA_SUCCESS);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  EXPECT_EQ(sigaltstack(&none, nullptr), 0);
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, touch(), 1, 1, "illegal address in block", CUdeviceptr{0x10});
}

TEST_F(FaultTest, DeviceMemoryThatNobodyAllocatedIsNotReachable) {
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, touch(), 1, 1, "", allocate(64 << 20) + (size_t{512} << 20));
}

TEST_F(FaultTest, ANullPointerIsAnIllegalAddress) {
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, touch(), 1, 32, "", CUdeviceptr{0});
}

TEST_F(FaultTest, ANonCanonicalAddressIsAnIllegalAddress) {
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, touch(), 1, 32, "", CUdeviceptr{0x8000'0000'0000'0000});
}

bool interpreted() {
  const char* const kernels = std::getenv("VERDIGRIS_KERNELS");
  return kernels && std::string(kernels) == "interpret";
}

// Compiled code that never calls anything is stopped by a signal, which ThreadSanitizer keeps back until it does.
bool signalsComeAtOnce() {
#ifdef __SANITIZE_THREAD__
  return interpreted();
#else
  return true;
#endif
}

TEST_F(FaultTest, AMisalignedAddressSaysSo) {
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, touch(), 1, 32, "misaligned", allocate(64) + 2);
}

// `body` finds p0 in %rd1, the thread's index in %r1 and p0 plus four times that in %rd3.
std::string accessing(const std::string& body) {
  return module(entry("kernel", {".u64"},
                      "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                      "add.s64 %rd3, %rd1, %rd2;\n" +
                          body));
}

TEST_F(FaultTest, AVectorMustLieAtAMultipleOfItsWholeSize) {
  const std::string text = accessing(
      "mul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd5, %rd1, %rd4;\n"
      "st.global.v4.f32 [%rd5], {%f1, %f2, %f3, %f4};");
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, text, 1, 32, "misaligned", allocate(1024) + 8);
}

TEST_F(FaultTest, OneMisalignedLaneIsEnough) {
  // Lane 5 alone adds one to its address.
  const std::string text = accessing(
      "setp.eq.u32 %p1, %r1, 5;\nselp.s64 %rd4, 1, 0, %p1;\n"
      "add.s64 %rd5, %rd3, %rd4;\nst.global.u32 [%rd5], %r1;");
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, text, 1, 32, "warp 0, thread \\[5,0,0\\], PTX line", allocate(256));
}

TEST_F(FaultTest, AMisalignedAtomicSaysSo) {
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, accessing("red.global.add.u32 [%rd3], 1;"), 1, 32, "misaligned",
               allocate(256) + 1);
}

TEST_F(FaultTest, AMisalignedOffsetIntoSharedMemorySaysSo) {
  const std::string text = module(".shared .align 16 .b8 words[256];\n" +
                                  entry("kernel", {".u64"},
                                        "ld.param.u64 %rd1, [p0];\ncvt.u32.u64 %r3, %rd1;\nmov.u32 %r1, words;\n"
                                        "mov.u32 %r2, %tid.x;\nmad.lo.u32 %r4, %r2, 4, %r1;\nadd.u32 %r4, %r4, %r3;\n"
                                        "st.shared.u32 [%r4], %r2;\n"));
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, text, 1, 32, "misaligned", CUdeviceptr{2});
}

TEST_F(FaultTest, ANegativeSharedAddressReachesNoOtherBlock) {
  // Blocks of a cluster lie side by side: half a megabyte in front of one is the one before it.
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry kernel(.param .u32 away) .reqnctapercluster 2, 1, 1 {\n"
      ".reg .b32 %r<5>; .reg .pred %p1; .shared .align 4 .b32 word;\n"
      "ld.param.u32 %r1, [away]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, word;\n"
      "add.u32 %r3, %r3, %r1; @!%p1 st.shared.u32 [%r3], 13;\n"
      "barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, text, 2, 1, "error 700", static_cast<uint32_t>(-524288));
}

TEST_F(KernelTest, LanesThatAreSwitchedOffMayHaveMisalignedAddresses) {
  // Odd lanes have odd addresses and do nothing: by a guard, and by a branch.
  const CUfunction kernel = function(
      accessing("and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\ncvt.u64.u32 %rd4, %r2;\nadd.s64 %rd5, %rd3, %rd4;\n"
                "@%p1 st.global.u32 [%rd5], %r1;\n@!%p1 bra DONE;\nld.global.u32 %r5, [%rd5];\nadd.u32 %r5, %r5, 1;\n"
                "st.global.u32 [%rd5], %r5;\nDONE:"));
  const CUdeviceptr out = allocate(32 * 4);
  ASSERT_EQ(run(kernel, 1, 32, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 32)[30], 31u);
}

TEST_F(KernelTest, AKernelMayLookAtAMisalignedPointerAndTakeAnotherWay) {
  // Sixteen bytes at once where p0 allows it, else word by word: what vectorised copies do.
  const CUfunction kernel =
      function(accessing("and.b64 %rd4, %rd1, 15;\nsetp.ne.s64 %p1, %rd4, 0;\n@%p1 bra SINGLE;\n"
                         "mul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd6, %rd1, %rd5;\n"
                         "st.global.v4.u32 [%rd6], {%r1, %r1, %r1, %r1};\nbra DONE;\n"
                         "SINGLE:\nst.global.u32 [%rd3], %r1;\nDONE:"));
  const CUdeviceptr out = allocate(1024);
  ASSERT_EQ(run(kernel, 1, 32, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 128)[127], 31u);
  ASSERT_EQ(run(kernel, 1, 32, out + 4), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 128)[32], 31u);
}

TEST_F(FaultTest, AMisalignedPointerThatComesOutOfMemorySaysSo) {
  const std::string text =
      accessing("ld.global.u64 %rd4, [%rd1];\nadd.s64 %rd5, %rd4, %rd2;\nst.global.u32 [%rd5], %r1;");
  const CUdeviceptr data = allocate(256), wrong = data + 130;
  ASSERT_EQ(cuMemcpyHtoD(data, &wrong, 8), CUDA_SUCCESS);
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, text, 1, 32, "misaligned", data);
}

TEST_F(FaultTest, AMisalignedAsynchronousCopySaysSo) {
  const std::string text = module(".shared .align 16 .b8 words[512];\n" +
                                      entry("kernel", {".u64"},
                                            "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, words;\n"
                                            "cp.async.ca.shared.global [%r1], [%rd1], 16;\ncp.async.wait_all;\n"),
                                  "sm_80");
  expectSticky(CUDA_ERROR_MISALIGNED_ADDRESS, text, 1, 32, "misaligned", allocate(64) + 8);
}

TEST_F(FaultTest, ARecursionWithoutEndOverflowsTheStack) {
  const std::string text = module(
      ".func deeper(.param .b32 n)\n{\n.local .align 4 .b8 frame[1024];\n.reg .b32 %r<4>;\n"
      "ld.param.u32 %r1, [n];\nadd.u32 %r1, %r1, 1;\nst.local.u32 [frame], %r1;\n"
      "{\n.param .b32 a;\nst.param.b32 [a], %r1;\ncall deeper, (a);\n}\n"
      "ld.local.u32 %r2, [frame];\nret;\n}\n" +
      entry("kernel", {".u64"}, "{\n.param .b32 a;\nst.param.b32 [a], 0;\ncall deeper, (a);\n}\n"));
  expectSticky(CUDA_ERROR_LAUNCH_FAILED, text, 1, 32,
               "stack overflow in block \\[0,0,0\\], warp 0, thread \\[0,0,0\\], PTX line [0-9]+", CUdeviceptr{0});
}

TEST_F(FaultTest, ACallOfWhatIsNoFunctionIsAnIllegalInstruction) {
  const std::string text = module(".func nothing()\n{\nret;\n}\n" +
                                  entry("kernel", {".u64"},
                                        "ld.param.u64 %rd1, [p0];\nmov.u64 %rd2, nothing;\nadd.u64 %rd2, %rd2, %rd1;\n"
                                        "P: .callprototype _ ();\ncall %rd2, P;\n"));
  expectSticky(CUDA_ERROR_ILLEGAL_INSTRUCTION, text, 1, 32, "PTX line [0-9]+", CUdeviceptr{8});
}

// As an H100 answers where they come from two branches (tests/apps/warp_barriers.cu).
TEST_F(FaultTest, LanesOfAWarpThatNameTwoBarriersAreAnIllegalInstruction) {
  for (const char* lanes : {"and.b32 %r2, %r1, 1;\n", "shr.u32 %r2, %r1, 4;\nand.b32 %r2, %r2, 1;\n"})
    for (const char* barrier : {"barrier.sync %r2;\n", "bar.sync %r2;\n", "@%p1 barrier.sync %r2, 64;\n"})
      expectSticky(CUDA_ERROR_ILLEGAL_INSTRUCTION,
                   module(entry("kernel", {},
                                std::string("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n") + lanes +
                                    "add.u32 %r2, %r2, 1;\n" + barrier)),
                   1, 64, "PTX line [0-9]+");
}

// There are no multicast objects on emulated devices: nobody has an address for these.
TEST_F(FaultTest, InstructionsOnMulticastMemoryAreIllegal) {
  for (const char* instruction :
       {"multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];",
        "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
        "multimem.st.weak.global.u32 [%rd1], %r1;", "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;"}) {
    const std::string text = module(
        entry("kernel", {".u64"}, std::string("ld.param.u64 %rd1, [p0];\nmov.u32 %r1, 1;\n") + instruction + "\n"),
        "sm_90", "8.1");
    expectSticky(CUDA_ERROR_ILLEGAL_INSTRUCTION, text, 1, 32, "that this device cannot run in block .*PTX line [0-9]+",
                 allocate(64));
  }
}

// Whatever ends a kernel with an error is at a line of it; the services that it calls do not hear of lines.
TEST_F(FaultTest, EveryFaultNamesItsLine) {
  struct Case {
    CUresult error;
    const char* code;  // the line at fault is the one that ends in "// here"
  };
  const Case cases[] = {
      {CUDA_ERROR_LAUNCH_FAILED, "trap;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION, "bar.sync 1, 33;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION, "mov.u32 %r1, %ntid.x;\nadd.u32 %r1, %r1, 1;\nbarrier.sync 2, %r1;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION, "barrier.arrive 1, 33;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION, "setp.eq.u32 %p1, 0, 0;\nbar.red.popc.u32 %r2, 1, 65, %p1;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION,
       "mov.u32 %r1, %laneid;\nand.b32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra EVEN;\n"
       "barrier.sync 1;\nbra DONE;\nEVEN: barrier.sync 2;\nDONE:\n"},
      {CUDA_ERROR_MISALIGNED_ADDRESS,
       "add.u64 %rd2, %rd1, 2;\nld.global.u32 %r1, [%rd2];// here\n"
       "st.global.u32 [%rd1], %r1;\n"},
      {CUDA_ERROR_ILLEGAL_ADDRESS,
       "mov.u64 %rd2, 16;\nld.global.u32 %r1, [%rd2];// here\nst.global.u32 [%rd1], %r1;\n"},
      {CUDA_ERROR_MISALIGNED_ADDRESS, "mov.u32 %r1, 4;\nmbarrier.init.shared.b64 [%r1], 1;// here\n"},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION,
       "mov.u64 %rd2, 5;\nprototype: .callprototype _ ();\n"
       "call %rd2, prototype;// here\n"},
      {CUDA_ERROR_ILLEGAL_ADDRESS,
       "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];// here\n"
       "st.global.f32 [%rd1], %f1;\n"},
  };
  for (const Case& c : cases) {
    const std::string text =
        module(entry("kernel", {".u64"}, std::string("ld.param.u64 %rd1, [p0];\n") + c.code), "sm_90", "8.0");
    const size_t here = text.find("// here");
    const std::string line =
        here == std::string::npos
            ? "[0-9]+"
            : std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<long>(here), '\n'));
    expectSticky(c.error, text, 1, 64, "in block \\[0,0,0\\], .*PTX line " + line + "[^0-9]", allocate(256));
  }
}

TEST_F(FaultTest, TakingMoreThanTheStackOverflowsIt) {
  const std::string text =
      module(entry("kernel", {}, "alloca.u64 %rd1, 8388608, 16;\nmov.u32 %r1, 1;\nst.local.u32 [%rd1+4096], %r1;\n"),
             "sm_75", "7.3");
  expectSticky(CUDA_ERROR_LAUNCH_FAILED, text, 1, 32,
               "stack overflow in block \\[0,0,0\\], warp 0, thread \\[0,0,0\\], PTX line 1[0-9]");
}

TEST_F(FaultTest, ATrapIsALaunchFailure) {
  expectSticky(CUDA_ERROR_LAUNCH_FAILED, module(entry("kernel", {}, "trap;")), 2, 64, "trap");
}

// A trap of thread [5,1,0], the 38th of its block.
TEST_F(FaultTest, ATrapNamesItsThread) {
  const std::string text =
      module(entry("kernel", {},
                   "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nshl.b32 %r3, %r2, 5;\n"
                   "add.u32 %r3, %r3, %r1;\nsetp.ne.u32 %p1, %r3, 37;\n@%p1 bra DONE;\ntrap;\nDONE:"));
  const auto body = [&] {
    const CUfunction kernel = function(text);
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 2, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    std::exit(HasFailure());
  };
  EXPECT_EXIT(
      body(), ::testing::ExitedWithCode(0),
      "kernel kernel ended .*trap instruction in block \\[0,0,0\\], warp 1, thread \\[5,1,0\\], PTX line [0-9]+");
}

// Compiled code that a signal stopped knows the warp, not the lane.
TEST_F(FaultTest, AWildAccessNamesItsThread) {
  const std::string text = accessing("setp.ne.u32 %p1, %r1, 37;\n@%p1 bra DONE;\nst.global.u32 [%rd1], %r1;\nDONE:");
  const char* const where = interpreted()
                                ? "warp 1, thread \\[37,0,0\\], PTX line [0-9]+, address 0x10"
                                : "warp 1, threads \\[32,0,0\\] to \\[63,0,0\\], PTX line [0-9]+, address 0x10";
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, text, 1, 96, where, CUdeviceptr{0x10});
}

// The processor may do both in one instruction.
TEST_F(FaultTest, AWildLoadThatIsAddedAtOnceNamesItsOwnLine) {
  const std::string wild = "ld.global.f32 %f2, [%rd6];";
  const std::string text = accessing(
      "and.b32 %r2, %r1, 3;\nadd.u32 %r2, %r2, 2;\nmov.u32 %r3, 0;\nmov.f32 %f3, 0f00000000;\n"
      "AGAIN:\nld.global.u32 %r4, [%rd3];\nmul.wide.u32 %rd6, %r4, 4;\nadd.s64 %rd6, %rd6, %rd1;\n" +
      wild +
      "\nadd.f32 %f3, %f3, %f2;\nadd.u32 %r3, %r3, 1;\nadd.s64 %rd3, %rd3, 4;\nsetp.lt.u32 %p1, %r3, %r2;\n"
      "@%p1 bra AGAIN;\nst.global.f32 [%rd1], %f3;");
  const CUdeviceptr places = allocate(4096);
  ASSERT_EQ(cuMemsetD32_v2(places, 0, 1024), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32_v2(places + 40 * 4, 0x10000000, 1), CUDA_SUCCESS);
  const auto before = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find(wild)), '\n');
  const std::string where = "PTX line " + std::to_string(before + 1) + ",";
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, text, 1, 64, where.c_str(), places);
}

TEST_F(FaultTest, AWildAccessBehindABarrierNamesItsWarp) {
  const std::string text =
      accessing("bar.sync 0;\nsetp.ne.u32 %p1, %r1, 70;\n@%p1 bra DONE;\nst.global.u32 [%rd1], %r1;\nDONE:");
  expectSticky(CUDA_ERROR_ILLEGAL_ADDRESS, text, 1, 96, "warp 2, threads? \\[(64|70),0,0\\]", CUdeviceptr{0x10});
}

TEST_F(FaultTest, AnEndlessKernelIsNamedWhereItStops) {
  if (!signalsComeAtOnce()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  expectSticky(CUDA_ERROR_LAUNCH_TIMEOUT,
               module(entry("kernel", {}, "mov.u32 %r1, 0;\nL:\nadd.u32 %r1, %r1, 1;\nbra L;\n")), 2, 64,
               "stopped in block \\[[01],0,0\\], warp [01], threads? \\[[0-9]+,0,0\\]");
}

TEST_F(FaultTest, AnEndlessKernelTimesOut) {
  if (!signalsComeAtOnce()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  expectSticky(CUDA_ERROR_LAUNCH_TIMEOUT,
               module(entry("kernel", {}, "mov.u32 %r1, 0;\nL:\nadd.u32 %r1, %r1, 1;\nbra L;\n")), 8, 64,
               "VERDIGRIS_LAUNCH_TIMEOUT");
}

TEST_F(FaultTest, AnEndlessWaitForMemoryTimesOut) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer delays signals, and the limit is over before the loop counts as waiting";
#endif
  expectSticky(CUDA_ERROR_LAUNCH_TIMEOUT,
               module(entry("kernel", {".u64"},
                            "ld.param.u64 %rd1, [p0];\nL:\nld.volatile.global.u32 %r1, [%rd1];\n"
                            "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n")),
               8, 64, "waiting: block \\[[0-7],0,0\\]: warps [01](,1)? in loops that ask memory \\(PTX line [0-9]+\\)",
               allocate(4));
}

// The log says who waits long before VERDIGRIS_LAUNCH_TIMEOUT ends the kernel.
class StuckTest : public FaultTest {
 protected:
  void SetUp() override {
    setenv("VERDIGRIS_STUCK_AFTER", "0.2", 1);  // read by the process of the death test
    FaultTest::SetUp();
  }
};

// Block 0 waits for block 1 and that for block 0: nobody is left who could set the flags.
TEST_F(StuckTest, BlocksThatOnlyWaitForEachOtherAreNamed) {
  if (!signalsComeAtOnce()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  const std::string text =
      module(entry("kernel", {".u64"},
                   "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                   "add.s64 %rd3, %rd1, %rd2;\nL:\nld.volatile.global.u32 %r2, [%rd3];\nsetp.eq.u32 %p1, %r2, 0;\n"
                   "@%p1 bra L;\nxor.b32 %r3, %r1, 1;\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
                   "st.volatile.global.u32 [%rd5], 1;\n"));
  expectSticky(CUDA_ERROR_LAUNCH_TIMEOUT, text, 2, 32,
               "may be stuck: for [0-9]+\\.[0-9] s.*waiting: block \\[[01],0,0\\]: warps 0 in loops that ask memory "
               "\\(PTX line [0-9]+\\).*VERDIGRIS_LAUNCH_TIMEOUT",
               allocate(8));
}

// What comes in time is no reason to say anything.
TEST_F(StuckTest, AKernelThatTheHostLetsGoOnEndsWell) {
  const std::string text = module(entry("kernel", {".u64"},
                                        "ld.param.u64 %rd1, [p0];\nL:\nld.volatile.global.u32 %r1, [%rd1];\n"
                                        "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nst.global.u32 [%rd1+4], 7;\n"));
  uint32_t* words = nullptr;
  ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&words), 8, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
  words[0] = words[1] = 0;
  ASSERT_EQ(launch(function(text), 1, 32, reinterpret_cast<CUdeviceptr>(words)), CUDA_SUCCESS);
  __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words[1], 7u);
  EXPECT_EQ(cuMemFreeHost(words), CUDA_SUCCESS);
}

TEST_F(FaultTest, AnEndlessChainOfBarriersTimesOut) {
  if (!signalsComeAtOnce()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  expectSticky(CUDA_ERROR_LAUNCH_TIMEOUT, module(entry("kernel", {}, "L:\nbar.sync 0;\nbra L;\n")), 2, 128,
               "VERDIGRIS_LAUNCH_TIMEOUT");
}

std::string withCall(const std::string& declaration, const std::string& data, const std::string& body) {
  return module(declaration + data + entry("kernel", {".u64"}, body));
}

TEST_F(FaultTest, AFailedAssertionSaysWhere) {
  const std::string text = withCall(
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n",
      ".global .align 1 .b8 message[6] = {120, 32, 62, 32, 48, 0};\n"
      ".global .align 1 .b8 file[8] = {102, 105, 108, 101, 46, 99, 117, 0};\n"
      ".global .align 1 .b8 name[5] = {115, 104, 111, 119, 0};\n",
      "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 33;\n@%p1 bra DONE;\n"
      "{\n.param .b64 a0; .param .b64 a1; .param .b32 a2; .param .b64 a3; .param .b64 a4;\n"
      "mov.u64 %rd2, message;\nst.param.b64 [a0], %rd2;\nmov.u64 %rd3, file;\nst.param.b64 [a1], %rd3;\n"
      "mov.u32 %r2, 42;\nst.param.b32 [a2], %r2;\nmov.u64 %rd4, name;\nst.param.b64 [a3], %rd4;\n"
      "mov.u64 %rd5, 1;\nst.param.b64 [a4], %rd5;\ncall __assertfail, (a0, a1, a2, a3, a4);\n}\nDONE:\n");
  expectSticky(CUDA_ERROR_ASSERT, text, 1, 64,
               "file.cu:42: show: block: \\[0,0,0\\], thread: \\[33,0,0\\] Assertion `x > 0` failed.", CUdeviceptr{0});
  expectSticky(CUDA_ERROR_ASSERT, text, 1, 64,
               "an assertion failed in block \\[0,0,0\\], warp 1, thread \\[33,0,0\\], PTX line [0-9]+",
               CUdeviceptr{0});
}

class PrintTest : public KernelTest {
 protected:
  // A kernel that prints "<thread> x\n" for each thread of block 0.
  CUfunction printer() {
    return function(withCall(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n",
        ".global .align 1 .b8 text[7] = {37, 100, 32, 37, 99, 10, 0};\n",
        ".local .align 8 .b8 depot[8];\n.reg .b64 %SP;\nmov.u64 %rd7, depot;\ncvta.local.u64 %SP, %rd7;\n"
        "mov.u32 %r1, %tid.x;\nst.u32 [%SP], %r1;\nmov.u32 %r2, 120;\nst.u32 [%SP+4], %r2;\n"
        "{\n.param .b64 a0; .param .b64 a1; .param .b32 back;\nmov.u64 %rd2, text;\ncvta.global.u64 %rd3, %rd2;\n"
        "st.param.b64 [a0], %rd3;\nst.param.b64 [a1], %SP;\ncall (back), vprintf, (a0, a1);\n"
        "ld.param.b32 %r3, [back];\n}\nld.param.u64 %rd1, [p0];\nst.global.u32 [%rd1], %r3;\n"));
  }
};

TEST_F(PrintTest, KernelsPrintInLaneOrderWhenTheHostSynchronises) {
  const CUfunction print = printer();
  const CUdeviceptr out = allocate(4);
  ::testing::internal::CaptureStdout();
  ASSERT_EQ(launch(print, 1, 40, out), CUDA_SUCCESS);
  std::printf("host\n");
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  std::fflush(stdout);
  std::string expected = "host\n";
  for (int i = 0; i < 40; ++i) expected += std::to_string(i) + " x\n";
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), expected);
  EXPECT_EQ(read(out, 1)[0], 2u);
}

TEST_F(PrintTest, AFullQueueKeepsTheLatestOutput) {
  ASSERT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1), CUDA_SUCCESS);
  size_t limit = 0;
  ASSERT_EQ(cuCtxGetLimit(&limit, CU_LIMIT_PRINTF_FIFO_SIZE), CUDA_SUCCESS);
  const CUfunction print = printer();
  const CUdeviceptr out = allocate(4);
  const unsigned blocks = static_cast<unsigned>(limit / (1024 * 5)) + 2;  // each prints more than 5 KiB
  ::testing::internal::CaptureStdout();
  ASSERT_EQ(run(print, blocks, 1024, out), CUDA_SUCCESS);
  std::fflush(stdout);
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_LE(said.size(), limit);
  EXPECT_GT(said.size(), limit / 2);
}

TEST_F(KernelTest, BadPtxIsRefusedWithALog) {
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule loaded = nullptr;
  const std::string bad = module(entry("kernel", {}, "add.u32 %r1, %nonsense;"));
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, bad.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log).find("line "), std::string::npos) << log;
  EXPECT_EQ(cuModuleLoadData(&loaded, ".version 99.0\n.target sm_75\n.address_size 64\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_NE(cuModuleLoadData(&loaded, module(entry("kernel", {}, ""), "sm_999").c_str()), CUDA_SUCCESS);
  EXPECT_NE(cuModuleLoadData(&loaded, "not PTX at all"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleLoadData(&loaded, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace kernels
