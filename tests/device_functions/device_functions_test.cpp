#include "cubin/device_functions.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "backend/device_side/device_output.h"
#include "kernels/fixture.h"

namespace vg {
namespace {

using backend::DeviceOutput;
using cubin::DeviceState;
using cubin::HeapHeader;

// One context whose module holds the functions and a kernel that calls them. The emulated device's memory is the
// host's.
class DeviceFunctions : public kernels::KernelTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    KernelTest::SetUp();
  }
  // A trap ends a process's use of its device, so it happens in one of its own.
  template <class Body>
  void inItsOwnProcess(const Body& body) {
    const auto whole = [&] {
      body();
      std::exit(HasFailure());
    };
    EXPECT_EXIT(whole(), ::testing::ExitedWithCode(0), "");
  }

  CUfunction with(const std::string& kernel) {
    module_ = load(std::string(cubin::deviceFunctionsPtx()) + kernel);
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module_, "kernel"), CUDA_SUCCESS);
    return found;
  }
  void setState(DeviceState state) {
    CUdeviceptr address = 0;
    size_t size = 0;
    ASSERT_EQ(cuModuleGetGlobal(&address, &size, module_, cubin::kDeviceState.data()), CUDA_SUCCESS);
    ASSERT_EQ(size, sizeof state);
    ASSERT_EQ(cuMemcpyHtoD(address, &state, sizeof state), CUDA_SUCCESS);
  }
  DeviceOutput makeOutput(size_t limit) {
    const size_t bytes = DeviceOutput::bytesFor(limit);
    const CUdeviceptr memory = allocate(bytes);
    setState({memory, 0, 0});
    return DeviceOutput(reinterpret_cast<std::byte*>(memory), bytes);
  }
  CUdeviceptr makeHeap(size_t bytes) {
    const CUdeviceptr memory = allocate(bytes);
    HeapHeader header;
    header.size = bytes;
    EXPECT_EQ(cuMemcpyHtoD(memory, &header, sizeof header), CUDA_SUCCESS);
    setState({0, memory, 0});
    return memory;
  }

  CUmodule module_ = nullptr;
};

// Prints with a packed buffer of the caller: p0 format, p1 arguments, p2 where each thread's result goes.
const std::string kPrints = kernels::entry("kernel", {".u64", ".u64", ".u64"}, R"(
  ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2];
  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd1; st.param.b64 [a], %rd2;
    call (r), vg_vprintf, (f, a); ld.param.b32 %r1, [r]; }
  mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r1;)");

struct Arguments {
  int32_t first;
  const char* text;
  double number;
  int32_t width, value;
  int64_t wide;
  const char* none;
  const char* last;
  int64_t behind;  // what the format asks for too much
};

TEST_F(DeviceFunctions, PrintWhatTheHostWouldPrint) {
  const CUfunction kernel = with(kPrints);
  DeviceOutput output = makeOutput(1 << 20);
  const Arguments arguments = {-7, "a text", 2.5, 6, 42, 1ll << 40, nullptr, "", 0};
  const CUdeviceptr results = allocate(4);
  const char format[] = "%d %s %.3f%% [%*x] %lld %s <%s>%c\n";
  ASSERT_EQ(run(kernel, 1, 1, format, &arguments, results), CUDA_SUCCESS);
  const DeviceOutput::Drained drained = output.drain();
  const std::string expected = "-7 a text 2.500% [    2a] 1099511627776 (null) <>";
  EXPECT_EQ(drained.printed.substr(0, expected.size()), expected);
  EXPECT_EQ(read(results, 1)[0], 9u);
  EXPECT_TRUE(drained.assertions.empty());
  EXPECT_TRUE(output.drain().printed.empty());
}

TEST_F(DeviceFunctions, EveryThreadsLineArrivesWhole) {
  const CUfunction kernel = with(kPrints);
  DeviceOutput output = makeOutput(1 << 20);
  const CUdeviceptr results = allocate(4 * 128);
  const int number = 12345;
  ASSERT_EQ(run(kernel, 16, 128, "line %d of many\n", &number, results), CUDA_SUCCESS);
  const std::string printed = output.drain().printed;
  const std::string line = "line 12345 of many\n";
  ASSERT_EQ(printed.size(), 16 * 128 * line.size());
  for (size_t at = 0; at < printed.size(); at += line.size()) ASSERT_EQ(printed.substr(at, line.size()), line);
}

TEST_F(DeviceFunctions, TheOldestLinesAreLostWhenTheRingIsFull) {
  const CUfunction kernel = with(kPrints);
  DeviceOutput output = makeOutput(1);
  const CUdeviceptr results = allocate(4 * 128);
  for (int round = 0; round < 100; ++round) ASSERT_EQ(run(kernel, 1, 128, "round %d\n", &round, results), CUDA_SUCCESS);
  const std::string printed = output.drain().printed;
  EXPECT_LT(printed.size(), size_t{64} << 10);
  EXPECT_GT(printed.size(), size_t{10} << 10);
  EXPECT_EQ(printed.rfind("round 99\n"), printed.size() - 9);
  EXPECT_EQ(printed.find("round 0\n"), std::string::npos);
  EXPECT_EQ(printed.compare(0, 6, "round "), 0);
  const int after = 100;
  ASSERT_EQ(run(kernel, 1, 1, "round %d\n", &after, results), CUDA_SUCCESS);
  EXPECT_EQ(output.drain().printed, "round 100\n");
}

TEST_F(DeviceFunctions, ConditionsAreWordsByHandle) {
  const CUfunction kernel = with(kernels::entry("kernel", {".u64", ".u32"}, R"(
    ld.param.u64 %rd1, [p0]; ld.param.u32 %r1, [p1];
    { .param .b64 h; .param .b32 v; st.param.b64 [h], %rd1; st.param.b32 [v], %r1;
      call vg_set_conditional, (h, v); })"));
  const CUdeviceptr values = allocate(64);
  ASSERT_EQ(run(kernel, 1, 1, uint64_t{2}, 5u), CUDA_SUCCESS);  // nowhere to put it
  setState({0, 0, values});
  ASSERT_EQ(run(kernel, 1, 1, uint64_t{3}, 7u), CUDA_SUCCESS);
  ASSERT_EQ(run(kernel, 1, 1, cubin::kMostConditions, 9u), CUDA_SUCCESS);  // names nothing
  const std::vector<uint32_t> found = read(values, 16);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i == 3 ? 7u : 0u) << i;
}

TEST_F(DeviceFunctions, WithoutMemoryNothingIsPrinted) {
  const CUfunction kernel = with(kPrints);
  const CUdeviceptr results = allocate(4);
  ASSERT_EQ(run(kernel, 1, 1, "text\n", "", results), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<int>(read(results, 1)[0]), -1);
}

TEST_F(DeviceFunctions, FailedAssertionsSayWhereAndEndTheGrid) {
  const CUfunction kernel = with(kernels::entry("kernel", {".u64", ".u64", ".u64"}, R"(
    mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 5; @%p1 ret;
    ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2];
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
      st.param.b64 [m], %rd1; st.param.b64 [f], %rd2; st.param.b32 [l], 77; st.param.b64 [n], %rd3;
      st.param.b64 [c], 1; call vg_assertfail, (m, f, l, n, c); })"));
  inItsOwnProcess([&] {
    DeviceOutput output = makeOutput(1 << 20);
    EXPECT_EQ(run(kernel, 1, 32, "a == b", "file.cu", "void f(int)"), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(output.drain().assertions,
              "file.cu:77: void f(int): block: [0,0,0], thread: [5,0,0] Assertion `a == b` failed.\n");
  });
}

// p0 where the addresses go, p1 bytes; every thread allocates.
const std::string kAllocates = kernels::entry("kernel", {".u64", ".u64"}, R"(
  ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
  { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd2; call (r), vg_malloc, (n); ld.param.b64 %rd3, [r]; }
  mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r2, %r3, %r4, %r1;
  mul.wide.u32 %rd4, %r2, 8; add.u64 %rd1, %rd1, %rd4; st.global.u64 [%rd1], %rd3;)");
// p0 addresses; every thread frees one.
const std::string kFrees = kernels::entry("release", {".u64"}, R"(
  ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
  mad.lo.u32 %r2, %r3, %r4, %r1; mul.wide.u32 %rd4, %r2, 8; add.u64 %rd1, %rd1, %rd4; ld.global.u64 %rd3, [%rd1];
  { .param .b64 a; st.param.b64 [a], %rd3; call vg_free, (a); })");

class DeviceHeap : public DeviceFunctions {
 protected:
  void SetUp() override {
    DeviceFunctions::SetUp();
    allocate_ = with(kAllocates + kFrees);
    ASSERT_EQ(cuModuleGetFunction(&release_, module_, "release"), CUDA_SUCCESS);
  }
  std::vector<uint64_t> pieces(CUdeviceptr list, size_t count) {
    std::vector<uint64_t> found(count);
    std::memcpy(found.data(), reinterpret_cast<const void*>(list), count * 8);
    return found;
  }

  CUfunction allocate_ = nullptr, release_ = nullptr;
};

TEST_F(DeviceHeap, PiecesAreAlignedApartAndWithin) {
  const CUdeviceptr heap = makeHeap(1 << 20), list = allocate(512 * 8);
  ASSERT_EQ(run(allocate_, 4, 128, list, uint64_t{100}), CUDA_SUCCESS);
  std::vector<uint64_t> all = pieces(list, 512);
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i] % 16, 0u);
    ASSERT_GE(all[i], heap + HeapHeader::kHeapStart);
    ASSERT_LE(all[i] + 100, heap + (1 << 20));
    if (i) {
      ASSERT_GE(all[i] - all[i - 1], 116u);
    }
  }
}

TEST_F(DeviceHeap, FreedPiecesAreUsedAgain) {
  makeHeap(1 << 20);
  const CUdeviceptr list = allocate(512 * 8);
  ASSERT_EQ(run(allocate_, 4, 128, list, uint64_t{1000}), CUDA_SUCCESS);
  const std::vector<uint64_t> first = pieces(list, 512);
  const std::set<uint64_t> known(first.begin(), first.end());
  EXPECT_EQ(known.size(), 512u);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(run(release_, 4, 128, list), CUDA_SUCCESS);
    ASSERT_EQ(run(allocate_, 4, 128, list, uint64_t{1000}), CUDA_SUCCESS);
    const std::vector<uint64_t> again = pieces(list, 512);
    ASSERT_EQ(std::set<uint64_t>(again.begin(), again.end()), known);
  }
}

TEST_F(DeviceHeap, WhatDoesNotFitIsNull) {
  makeHeap(64 << 10);
  const CUdeviceptr list = allocate(128 * 8);
  ASSERT_EQ(run(allocate_, 1, 128, list, uint64_t{1000}), CUDA_SUCCESS);
  const std::vector<uint64_t> some = pieces(list, 128);
  EXPECT_EQ(std::count(some.begin(), some.end(), 0u), 128 - 63);
  for (uint64_t size : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 62, ~uint64_t{0}}) {
    ASSERT_EQ(run(allocate_, 1, 1, list, size), CUDA_SUCCESS);
    EXPECT_EQ(pieces(list, 1)[0], 0u) << size;
  }
  ASSERT_EQ(run(release_, 1, 1, list), CUDA_SUCCESS) << "null may be freed";
}

TEST_F(DeviceHeap, FreeingTwiceEndsTheGrid) {
  makeHeap(64 << 10);
  const CUdeviceptr list = allocate(8);
  ASSERT_EQ(run(allocate_, 1, 1, list, uint64_t{10}), CUDA_SUCCESS);
  ASSERT_EQ(run(release_, 1, 1, list), CUDA_SUCCESS);
  inItsOwnProcess([&] { EXPECT_EQ(run(release_, 1, 1, list), CUDA_ERROR_LAUNCH_FAILED); });
}

}  // namespace
}  // namespace vg
