// The suite's own promises: what a test of the rules may rely on.
#include "suite.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

using Frame = Device;

TEST_F(Frame, ABlockedStreamIsBusyUntilReleased) {
  Stream stream;
  StreamBlock block(stream);
  EXPECT_FALSE(stream.idle());
  block.release();
  stream.synchronize();
  EXPECT_TRUE(stream.idle());
}

TEST_F(Frame, ASpinningKernelTakesItsTime) {
  Stream stream;
  const double start = now();
  launchSpin(stream, 0.05);
  stream.synchronize();
  EXPECT_GE(now() - start, 0.045);
}

TEST_F(Frame, KernelsReachDeviceMemory) {
  DeviceBuffer words(pattern(4096)), next(4096), one(4);
  launchIncrement(nullptr, next, words, 1024);
  launchStore(nullptr, words, 77);
  launchLoad(nullptr, words, one);
  const Bytes before = pattern(4096), after = next.read();
  for (size_t i = 0; i < 4096; i += 4) {
    uint32_t a, b;
    memcpy(&a, &before[i], 4);
    memcpy(&b, &after[i], 4);
    ASSERT_EQ(a + 1, b) << "word " << i / 4;
  }
  EXPECT_EQ(one.read(), (Bytes{77, 0, 0, 0}));
}

TEST_F(Frame, AKernelWaitsForAFlagInMappedHostMemory) {
  PinnedBuffer flag(4);
  memset(flag.data(), 0, 4);
  Stream stream;
  launchWaitForFlag(stream, flag);
  EXPECT_FALSE(stream.idle());
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(flag.data())).store(1);
  stream.synchronize();
}

TEST_F(Frame, TwinsAreReachedByTheirExportedNames) {
  DeviceBuffer from(pattern(64)), to(64);
  EXPECT_OK(entry<decltype(cuMemcpy)>("cuMemcpy_ptds")(to, from, 64));
  EXPECT_EQ(to.read(), pattern(64));
}

using FrameFault = DeviceFault;

TEST_F(FrameFault, ATrapStaysInItsProcess) {
  launchStore(nullptr, 0, 1);
  EXPECT_NE(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST(FrameIsolated, NothingIsInitialised) {
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAlloc(&p, 64), CUDA_ERROR_NOT_INITIALIZED);
}

// What tests may do to the run, for conformance.frame: run only when asked for by name.
TEST(DISABLED_SelfTest, First) { PROVES("MEMALLOC-001"); }
TEST(DISABLED_SelfTest, SecondCrashes) {
  PROVES("MEMALLOC-002");
  raise(SIGSEGV);
}
TEST(DISABLED_SelfTest, ThirdHangs) { pause(); }
TEST(DISABLED_SelfTest, FourthNamesNoRule) { PROVES("MEMALLOC-999"); }
TEST(DISABLED_SelfTest, FifthIsSkipped) { GTEST_SKIP() << "for a reason"; }
TEST(DISABLED_SelfTest, SixthEndsItsProcess) { _exit(3); }
TEST(DISABLED_SelfTest, SeventhFails) { EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS); }
TEST(DISABLED_SelfTest, LastDiffers) { DIFFERS("MEMALLOC-003", "something\telse"); }

using DISABLED_SelfTestOnDevice = Device;

TEST_F(DISABLED_SelfTestOnDevice, AnErrorThatIsLeftBehind) { launchStore(nullptr, 0, 1); }
TEST_F(DISABLED_SelfTestOnDevice, DoesNotReachTheNextTest) { const DeviceBuffer buffer(64); }
TEST_F(DISABLED_SelfTestOnDevice, MemoryThatIsLeftBehind) {
  CUdeviceptr p = 0;
  EXPECT_OK(cuMemAlloc(&p, size_t{1} << 30));
}
