// Host memory that turns out not to be there, or not writable, in the middle of a copy: an error, never the end of the
// process. The recorded driver answers for locked memory; what it does with pageable memory is not recorded.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "device_test.h"

namespace {

constexpr size_t kPage = 4096, kLarge = size_t{9} << 20;  // large: copied by several threads
constexpr size_t kSizes[] = {2 * kPage, size_t{1} << 20, kLarge};

CUdeviceptr unified(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// Takes memory away and lets nobody else map something there: a file without bytes takes its place.
bool takeAway(void* start, size_t bytes) {
  static const int empty = memfd_create("empty", MFD_CLOEXEC);
  return mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty, 0) == start;
}

class HostFaultTest : public DeviceTest {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    DeviceTest::SetUp();
    device_ = allocate(kLarge);
    host_ = static_cast<char*>(mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(host_, 5, kLarge);
  }
  void TearDown() override {
    munmap(host_, kLarge);
    DeviceTest::TearDown();
  }
  // The last page of the first `bytes` is no memory any more.
  void cut(size_t bytes) { munmap(host_ + bytes - kPage, kPage); }
  // The context and its streams are as they were.
  void expectUnharmed() {
    char back[64];
    EXPECT_OK(cuMemsetD8(device_, 9, sizeof back));
    EXPECT_OK(cuMemcpyDtoH(back, device_, sizeof back));
    EXPECT_EQ(back[63], 9);
    EXPECT_OK(cuCtxSynchronize());
  }
  // Runs `body` in a process of its own, since what it does sticks to the process; it ends with 0 when all is right.
  template <class Body>
  void inOwnProcess(Body body) {
    EXPECT_EXIT(_exit(body() ? 0 : 1), testing::ExitedWithCode(0), "");
  }

  CUdeviceptr device_ = 0;
  char* host_ = nullptr;
};

TEST_F(HostFaultTest, PageableSourcesThatAreNotThereAreInvalid) {
  for (const size_t bytes : kSizes) {
    cut(bytes);
    EXPECT_INVALID(cuMemcpyHtoD(device_, host_, bytes)) << bytes;
    EXPECT_INVALID(cuMemcpyHtoDAsync(device_, host_, bytes, nullptr)) << bytes;
    EXPECT_INVALID(cuMemcpy(device_, unified(host_), bytes)) << bytes;
    EXPECT_INVALID(cuMemcpyHtoD(device_, host_ + bytes - kPage, 4));
    expectUnharmed();
  }
}

TEST_F(HostFaultTest, PageableDestinationsThatCannotBeWrittenAreInvalid) {
  for (const size_t bytes : kSizes) {
    mprotect(host_ + bytes - kPage, kPage, PROT_READ);
    EXPECT_INVALID(cuMemcpyDtoH(host_, device_, bytes)) << bytes;
    EXPECT_INVALID(cuMemcpyDtoHAsync(host_, device_, bytes, nullptr)) << bytes;
    EXPECT_EQ(host_[bytes - 1], 5) << "read-only memory of the application stays as it is";
    mprotect(host_ + bytes - kPage, kPage, PROT_NONE);
    EXPECT_INVALID(cuMemcpyDtoH(host_, device_, bytes)) << bytes;
    mprotect(host_ + bytes - kPage, kPage, PROT_READ | PROT_WRITE);
    expectUnharmed();
  }
}

TEST_F(HostFaultTest, PageableMemoryBehindOtherWorkIsInvalidToo) {
  static std::atomic<bool> go;
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  cut(2 * kPage);
  go = false;
  ASSERT_OK(cuLaunchHostFunc(
      stream,
      [](void*) {
        while (!go) usleep(100);
      },
      nullptr));
  EXPECT_INVALID(cuMemcpyHtoDAsync(device_, host_, 2 * kPage, stream)) << "set aside in the call";
  go = true;
  ASSERT_OK(cuLaunchHostFunc(
      stream, [](void*) { usleep(20000); }, nullptr));
  EXPECT_INVALID(cuMemcpyDtoHAsync(host_, device_, 2 * kPage, stream)) << "waits for the stream";
  EXPECT_OK(cuStreamDestroy(stream));
  expectUnharmed();
}

TEST_F(HostFaultTest, RowsOfPageableMemoryAreInvalidWhereTheyEnd) {
  cut(64 * kPage);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host_;
  copy.srcPitch = kPage;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device_;
  copy.dstPitch = 100;
  copy.WidthInBytes = 100;
  copy.Height = 64;
  EXPECT_INVALID(cuMemcpy2D(&copy));
  EXPECT_INVALID(cuMemcpy2DAsync(&copy, nullptr));
  copy.Height = 63;
  EXPECT_OK(cuMemcpy2D(&copy));
  expectUnharmed();
}

TEST_F(HostFaultTest, AFileThatBecameShorterIsInvalid) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 2 * kPage), 0);
  void* const mapped = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  EXPECT_INVALID(cuMemcpyHtoD(device_, mapped, 2 * kPage));
  EXPECT_INVALID(cuMemcpyDtoH(mapped, device_, 2 * kPage));
  munmap(mapped, 2 * kPage);
  close(file);
  expectUnharmed();
}

TEST_F(HostFaultTest, BatchesOfPageableMemoryAreInvalid) {
  cut(3 * kPage);
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr to[] = {device_}, from[] = {unified(host_ + kPage)};
  size_t bytes[] = {kPage + 1}, start = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  EXPECT_INVALID(cuMemcpyBatchAsync(to, from, bytes, 1, &attributes, &start, 1, stream));
  mprotect(host_, kPage, PROT_READ);
  from[0] = device_;
  to[0] = unified(host_);
  EXPECT_INVALID(cuMemcpyBatchAsync(to, from, bytes, 1, &attributes, &start, 1, stream));
  EXPECT_OK(cuStreamDestroy(stream));
  expectUnharmed();
}

// As questions.protected-mapping has it: a device does not notice the protection of the host's pages.
TEST_F(HostFaultTest, LockedMemoryIsReachedPastItsProtection) {
  ASSERT_OK(cuMemHostRegister(host_, kLarge, 0));
  for (const int protection : {PROT_READ, PROT_NONE}) {
    ASSERT_OK(cuMemsetD8(device_, protection ? 6 : 7, kLarge));
    mprotect(host_, kLarge, protection);
    EXPECT_OK(cuMemcpyDtoH(host_, device_, 64));
    EXPECT_OK(cuMemcpyDtoHAsync(host_ + kPage, device_, kLarge - kPage, nullptr));
    EXPECT_OK(cuCtxSynchronize());
    EXPECT_OK(cuMemsetD8(unified(host_) + 100, 1, 2));
    EXPECT_OK(cuMemcpyHtoD(device_, host_, kLarge));
    mprotect(host_, kLarge, PROT_READ | PROT_WRITE);
    EXPECT_EQ(host_[63], protection ? 6 : 7);
    EXPECT_EQ(host_[kPage], protection ? 6 : 7);
    EXPECT_EQ(host_[kLarge - 1], protection ? 6 : 7);
    EXPECT_EQ(host_[101], 1);
    EXPECT_EQ(read(device_ + 101, 1)[0], 1);
  }
  EXPECT_OK(cuMemHostUnregister(host_));
}

TEST_F(HostFaultTest, LockedMemoryThatIsGoneIsAnIllegalAddress) {
  for (const size_t bytes : kSizes) {
    inOwnProcess([&] {
      return !cuMemHostRegister(host_, bytes, 0) && takeAway(host_, bytes) &&
             cuMemcpyHtoD(device_, host_, bytes) == CUDA_ERROR_ILLEGAL_ADDRESS &&
             cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS;
    });
    inOwnProcess([&] {
      return !cuMemHostRegister(host_, bytes, 0) && takeAway(host_, bytes) &&
             (cuMemcpyDtoHAsync(host_, device_, bytes, nullptr), cuCtxSynchronize()) == CUDA_ERROR_ILLEGAL_ADDRESS;
    });
    inOwnProcess([&] {
      return !cuMemHostRegister(host_, bytes, 0) && takeAway(host_, bytes) &&
             (cuMemsetD8Async(unified(host_), 1, bytes, nullptr), cuCtxSynchronize()) == CUDA_ERROR_ILLEGAL_ADDRESS;
    });
  }
}

TEST_F(HostFaultTest, WordsOfStreamsThatAreGoneAreIllegalAddresses) {
  for (const bool waits : {false, true})
    inOwnProcess([&] {
      if (cuMemHostRegister(host_, kPage, 0) || !takeAway(host_, kPage)) return false;
      if (waits)
        (void)cuStreamWaitValue32(nullptr, unified(host_), 1, CU_STREAM_WAIT_VALUE_EQ);
      else
        (void)cuStreamWriteValue32(nullptr, unified(host_), 1, 0);
      return cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS;
    });
}

TEST_F(HostFaultTest, PageableMemoryOfAGraphThatIsGoneIsAnIllegalAddress) {
  inOwnProcess([&] {
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host_;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = device_;
    copy.WidthInBytes = 64;
    copy.Height = copy.Depth = 1;
    if (cuGraphCreate(&graph, 0) || cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context) ||
        cuGraphInstantiate(&exec, graph, 0))
      return false;
    if (!takeAway(host_, kPage)) return false;
    (void)cuGraphLaunch(exec, nullptr);
    return cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS;
  });
}

TEST_F(HostFaultTest, FaultsOfTheApplicationStayItsOwn) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { _exit(7); });
        CUstream stream;
        (void)cuStreamCreate(&stream, 0);  // puts our handler in front again
        munmap(host_, kPage);
        if (cuMemcpyHtoD(device_, host_, 64) != CUDA_ERROR_INVALID_VALUE) _exit(1);
        *static_cast<volatile char*>(host_) = 1;
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
