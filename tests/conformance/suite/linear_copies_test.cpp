// Copies of one row of bytes: cuMemcpy, HtoD, DtoH, DtoD, Peer, and their asynchronous forms.
#include "linear_copies.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "suite.h"

namespace {

constexpr size_t kSize = 10000, kMargin = 37;

class LinearCopies : public Device, public testing::WithParamInterface<LinearCopy> {
 protected:
  const LinearCopy& copy = GetParam();

  // A call of the function on a stream of its own, and its end awaited.
  CUresult run(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    if (!copy.async) return copy.call(to, from, bytes, nullptr);
    const Stream stream;
    const CUresult result = copy.call(to, from, bytes, stream);
    stream.synchronize();
    return result;
  }
  // What `to` holds after `bytes` of `from` went into the middle of it.
  static Bytes expected(Bytes to, const Bytes& from, size_t bytes) {
    memcpy(&to[kMargin], &from[kMargin], bytes);
    return to;
  }
};

std::string nameOfCopy(const testing::TestParamInfo<LinearCopy>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, LinearCopies, testing::ValuesIn(kLinearCopies), nameOfCopy);

TEST_P(LinearCopies, MoveExactlyTheBytesAskedFor) {
  PROVES(copy.rule(copy.result));
  if (!strncmp(copy.name, "cuMemcpyAsync", 13) || !strcmp(copy.name, "cuMemcpy")) PROVES(copy.rule("002"));
  for (Kind toKind : copy.to)
    for (Kind fromKind : copy.from)
      for (size_t bytes : {size_t{1}, size_t{64}, size_t{4099}, kSize - 2 * kMargin}) {
        SCOPED_TRACE(std::string(nameOf(fromKind)) + " to " + nameOf(toKind) + ", " + std::to_string(bytes));
        const Bytes before = pattern(kSize, 1), source = pattern(kSize, 2);
        const Place to(toKind, before), from(fromKind, source);
        ASSERT_OK(run(to.address() + kMargin, from.address() + kMargin, bytes));
        EXPECT_EQ(to.read(), expected(before, source, bytes));
        EXPECT_EQ(from.read(), source);
      }
}

TEST_P(LinearCopies, LargeOnesToo) {
  PROVES(copy.rule(copy.result));
  const size_t size = (size_t{5} << 20) + 3;
  const Place to(copy.to.front(), Bytes(size)), from(copy.from.front(), pattern(size, 3));
  ASSERT_OK(run(to.address(), from.address(), size));
  EXPECT_EQ(to.read(), pattern(size, 3));
}

TEST_P(LinearCopies, NoBytesAreNoCopy) {
  PROVES(copy.rule(copy.result));
  const Place to(copy.to.front(), pattern(64, 1)), from(copy.from.front(), pattern(64, 2));
  EXPECT_OK(run(to.address(), from.address(), 0));
  EXPECT_OK(run(0, 0, 0)) << "the addresses are not looked at";
  EXPECT_EQ(to.read(), pattern(64, 1));
}

TEST_P(LinearCopies, RangesThatLeaveTheAllocationAreRefused) {
  PROVES(copy.rule(copy.result));
  const Place to(copy.to.back(), pattern(4096, 1)), from(copy.from.back(), pattern(4096, 2));
  EXPECT_INVALID_VALUE(run(to.address(), from.address(), 4097)) << "one byte past the end";
  EXPECT_INVALID_VALUE(run(to.address(), from.address() + 4090, 8));
  EXPECT_INVALID_VALUE(run(to.address() + 4090, from.address(), 8));
  EXPECT_INVALID_VALUE(run(0, from.address(), 4));
  EXPECT_INVALID_VALUE(run(to.address(), 0, 4));
  EXPECT_EQ(to.read(), pattern(4096, 1)) << "a refused copy writes nothing";
}

// ---- Registered and unregistered host memory ----

class Straddling : public LinearCopies {};
std::vector<LinearCopy> straddlers() {
  std::vector<LinearCopy> list;
  for (const LinearCopy& copy : kLinearCopies)
    if (*copy.straddle) list.push_back(copy);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Of, Straddling, testing::ValuesIn(straddlers()), nameOfCopy);

TEST_P(Straddling, RegionsAreRefused) {
  PROVES(copy.rule(copy.straddle));
  void* const memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_OK(cuMemHostRegister(memory, 4096, 0));
  const Place device(Kind::Device, Bytes(8192));
  const bool toHost = copy.to.front() == Kind::Pageable && copy.from.front() == Kind::Device;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const auto both = [&](size_t bytes) {
    return toHost ? run(address, device.address(), bytes) : run(device.address(), address, bytes);
  };
  EXPECT_INVALID_VALUE(both(8192));
  EXPECT_OK(both(4096)) << "the registered page alone";
  EXPECT_OK(cuMemHostUnregister(memory));
  EXPECT_OK(both(8192)) << "wholly unregistered";
  munmap(memory, 8192);
}

// ---- When calls return ----

class SynchronousCopies : public LinearCopies {};
class AsynchronousCopies : public LinearCopies {};
std::vector<LinearCopy> copiesThat(bool async) {
  std::vector<LinearCopy> list;
  for (const LinearCopy& copy : kLinearCopies)
    if (copy.async == async) list.push_back(copy);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Of, SynchronousCopies, testing::ValuesIn(copiesThat(false)), nameOfCopy);
INSTANTIATE_TEST_SUITE_P(Of, AsynchronousCopies, testing::ValuesIn(copiesThat(true)), nameOfCopy);

// The exception of the synchronous forms: between device addresses the call comes back at once, and only the order of
// the default stream holds.
TEST_P(SynchronousCopies, WaitForEarlierWorkUnlessBothSidesAreDeviceMemory) {
  PROVES(copy.rule(copy.sync));
  const bool onDevice = copy.to.front() == Kind::Device && copy.from.front() == Kind::Device;
  const Stream blocking(CU_STREAM_DEFAULT);
  const Place to(copy.to.front(), Bytes(4096)), from(copy.from.front(), pattern(4096, 5));
  const double start = now();
  launchSpin(blocking, 0.2);
  ASSERT_OK(run(to.address(), from.address(), 4096));
  const double took = now() - start;
  if (onDevice) {
    DIFFERS(copy.rule(copy.sync), "between device addresses the call does not wait for the copy");
    EXPECT_LT(took, 0.15);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  } else if (!onDevice && copy.to.size() < 4) {
    EXPECT_GE(took, 0.19);
  }
  EXPECT_EQ(to.read(), pattern(4096, 5)) << "and what comes after it sees the copy";
}

TEST_P(SynchronousCopies, HostMemoryHoldsTheBytesOnReturn) {
  PROVES(copy.rule(copy.sync));
  // The last of a chain on the default stream: the host reads at once what the device has just made.
  const DeviceBuffer words(pattern(4096, 6)), next(4096);
  const Place to(copy.to.front(), Bytes(4096));
  launchIncrement(nullptr, next, words, 1024);
  if (copy.from.front() == Kind::Device) {
    ASSERT_OK(copy.call(to.address(), next, 4096, nullptr));
    EXPECT_EQ(to.read(), next.read());
  } else {  // the source may be overwritten at once
    const Place from(copy.from.front(), pattern(4096, 7));
    ASSERT_OK(copy.call(next, from.address(), 4096, nullptr));
    memset(from.host(), 0, 4096);
    EXPECT_EQ(next.read(), pattern(4096, 7));
  }
}

// With memory that the device reaches by itself: pageable memory is the exception (see PageableMemory).
TEST_P(AsynchronousCopies, ReturnBeforeTheWorkAheadOfThemIsDone) {
  PROVES(copy.rule(copy.sync), copy.rule(copy.order));
  const Kind toKind = copy.to.front() == Kind::Pageable && copy.to.size() < 4 ? Kind::Pinned : Kind::Device;
  const Kind fromKind = copy.from.front() == Kind::Pageable ? Kind::Pinned : Kind::Device;
  const Place to(toKind, pattern(4096, 1)), from(fromKind, pattern(4096, 2));
  const Stream stream;
  StreamBlock block(stream);
  ASSERT_OK(copy.call(to.address(), from.address(), 4096, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(to.read(), pattern(4096, 1)) << "not before what is queued ahead of it";
  block.release();
  stream.synchronize();
  EXPECT_EQ(to.read(), pattern(4096, 2));
}

TEST_P(AsynchronousCopies, ComeBetweenTheWorkBeforeAndAfterThemInTheirStream) {
  PROVES(copy.rule(copy.order));
  const Kind toKind = copy.to.front() == Kind::Pageable && copy.to.size() < 4 ? Kind::Pinned : Kind::Device;
  const Kind fromKind = copy.from.front() == Kind::Pageable ? Kind::Pinned : Kind::Device;
  const Place to(toKind, Bytes(4096)), from(fromKind, Bytes(4096));
  const DeviceBuffer after(4096);
  const Stream stream;
  launchSpin(stream, 0.01);
  ASSERT_OK(cuMemsetD8Async(from.address(), 0x5a, 4096, stream));
  ASSERT_OK(copy.call(to.address(), from.address(), 4096, stream));
  ASSERT_OK(cuMemcpyAsync(after, to.address(), 4096, stream));
  ASSERT_OK(cuMemsetD8Async(to.address(), 0x11, 4096, stream));
  stream.synchronize();
  EXPECT_EQ(after.read(), Bytes(4096, 0x5a));
  EXPECT_EQ(to.read(), Bytes(4096, 0x11));
}

TEST_P(AsynchronousCopies, OnTheDefaultStreamWaitForBlockingStreams) {
  PROVES(copy.rule(copy.fallback));
  const Kind toKind = copy.to.front() == Kind::Pageable && copy.to.size() < 4 ? Kind::Pinned : Kind::Device;
  const Kind fromKind = copy.from.front() == Kind::Pageable ? Kind::Pinned : Kind::Device;
  const Place to(toKind, pattern(4096, 1)), from(fromKind, pattern(4096, 2));
  const Stream blocking(CU_STREAM_DEFAULT);
  for (CUstream defaultStream : {CUstream{nullptr}, CU_STREAM_LEGACY}) {
    StreamBlock block(blocking);
    ASSERT_OK(copy.call(to.address(), from.address(), 4096, defaultStream));
    EXPECT_EQ(cuStreamQuery(defaultStream), CUDA_ERROR_NOT_READY);
    block.release();
    EXPECT_OK(cuStreamSynchronize(defaultStream));
    EXPECT_EQ(to.read(), pattern(4096, 2));
  }
  EXPECT_OK(copy.call(to.address(), from.address(), 4096, CU_STREAM_PER_THREAD));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

// ---- The exceptions for pageable memory ----

using PageableMemory = Device;

TEST_F(PageableMemory, SmallSourcesAreStagedSoThatTheCallReturnsAtOnce) {
  PROVES("MEMCPYHTODASYNC-003");
  const DeviceBuffer to(4096);
  const Stream stream;
  StreamBlock block(stream);
  Bytes source = pattern(4096, 4);
  ASSERT_OK(cuMemcpyHtoDAsync(to, source.data(), source.size(), stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  std::fill(source.begin(), source.end(), uint8_t{0});  // the driver has its own copy of it
  block.release();
  stream.synchronize();
  EXPECT_EQ(to.read(), pattern(4096, 4));
}

TEST_F(PageableMemory, DestinationsAreWaitedFor) {
  PROVES("MEMCPYDTOHASYNC-003");
  DIFFERS("MEMCPYDTOHASYNC-003", "to pageable memory the call returns when the copy is done");
  const DeviceBuffer from(pattern(4096, 4));
  const Stream stream;
  launchSpin(stream, 0.1);
  Bytes to(4096);
  ASSERT_OK(cuMemcpyDtoHAsync(to.data(), from, to.size(), stream));
  EXPECT_EQ(to, pattern(4096, 4));
  EXPECT_TRUE(stream.idle());
}

TEST_F(PageableMemory, HostToHostCopiesAreWaitedFor) {
  PROVES("MEMCPYASYNC-005");
  DIFFERS("MEMCPYASYNC-005", "between host addresses the call returns when the copy is done");
  const Stream stream;
  launchSpin(stream, 0.1);
  const Bytes from = pattern(4096, 4);
  Bytes to(4096);
  ASSERT_OK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to.data()), reinterpret_cast<CUdeviceptr>(from.data()), 4096,
                          stream));
  EXPECT_EQ(to, pattern(4096, 4));
}

// ---- Unified addressing and peers ----

using UnifiedCopies = Device;

TEST_F(UnifiedCopies, WorkBecauseTheDeviceSupportsUnifiedAddressing) {
  PROVES("MEMCPY-003", "MEMCPYASYNC-003");
  const DeviceBuffer to(64), from(pattern(64, 1));
  const bool unified = attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 1;
  EXPECT_EQ(cuMemcpy(to, from, 64) == CUDA_SUCCESS, unified);
  EXPECT_EQ(cuMemcpyAsync(to, from, 64, nullptr) == CUDA_SUCCESS, unified);
  EXPECT_EQ(to.read(), pattern(64, 1));
}

TEST_F(UnifiedCopies, AddressesSayMoreThanTheNameOfTheFunction) {
  PROVES("MEMCPYHTOD-001", "MEMCPYDTOH-001", "MEMCPYDTOD-001");
  const DeviceBuffer a(pattern(64, 1)), b(64);
  const PinnedBuffer pinned(pattern(64, 2));
  Bytes pageable(64);
  EXPECT_OK(cuMemcpyHtoD(b, reinterpret_cast<void*>(CUdeviceptr{a}), 64)) << "a device address as host address";
  EXPECT_EQ(b.read(), pattern(64, 1));
  EXPECT_OK(cuMemcpyDtoH(reinterpret_cast<void*>(CUdeviceptr{b}), pinned, 64)) << "both the other way round";
  EXPECT_EQ(b.read(), pattern(64, 2));
  EXPECT_INVALID_VALUE(cuMemcpyDtoD(b, reinterpret_cast<CUdeviceptr>(pageable.data()), 64)) << "pageable as device";
  EXPECT_INVALID_VALUE(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(pageable.data()), pinned.data(), 64));
}

TEST_F(UnifiedCopies, OverlappingRangesAreCopiedAsMemmoveDoes) {
  PROVES("MEMCPYDTOD-001");
  const DeviceBuffer buffer(pattern(4096, 1));
  EXPECT_OK(cuMemcpyDtoD(buffer + 100, buffer, 2000));
  Bytes model = pattern(4096, 1);
  memmove(&model[100], &model[0], 2000);
  EXPECT_EQ(buffer.read(), model);
}

TEST_F(UnifiedCopies, FreedMemoryIsRefused) {
  PROVES("MEMCPYDTOH-004", "MEMCPYDTOHASYNC-006");
  DeviceBuffer gone(size_t{64} << 20);
  const CUdeviceptr address = gone;
  ASSERT_OK(cuMemFree(gone.release()));
  Bytes host(4);
  EXPECT_INVALID_VALUE(cuMemcpyDtoH(host.data(), address, 4));
  const Stream stream;
  EXPECT_INVALID_VALUE(cuMemcpyDtoHAsync(host.data(), address, 4, stream));
  stream.synchronize();
}

class TwoContexts : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    ASSERT_OK(cuCtxCreate(&other, nullptr, 0, device));
    ASSERT_OK(cuMemAlloc(&there, 4096));
    ASSERT_OK(cuCtxPopCurrent(nullptr));
    ASSERT_OK(cuMemAlloc(&here, 4096));
    writeDevice(here, pattern(4096, 1));
  }
  void TearDown() override {
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuMemFree(here));
    EXPECT_OK(cuCtxDestroy(other));
    checksMemory_ = false;  // a created context leaves caches of the driver behind
    Device::TearDown();
  }
  void expectCopied() {
    EXPECT_EQ(readDevice(there, 4096), pattern(4096, 1));
    EXPECT_OK(cuMemsetD8(there, 0, 4096));
  }
  CUcontext other = nullptr;
  CUdeviceptr here = 0, there = 0;
};

TEST_F(TwoContexts, OfOneDeviceCopyToEachOther) {
  PROVES("MEMCPYPEER-001", "MEMCPYPEERASYNC-001");
  EXPECT_OK(cuMemcpyPeer(there, other, here, context, 4096));
  expectCopied();
  const Stream stream;
  EXPECT_OK(cuMemcpyPeerAsync(there, other, here, context, 4096, stream));
  stream.synchronize();
  expectCopied();
}

// The manual says that the contexts name the owners. Under unified addressing the addresses do that, and the driver
// takes any live contexts, and none.
TEST_F(TwoContexts, MayBeNamedTheWrongWayRound) {
  PROVES("MEMCPYPEER-002", "MEMCPYPEERASYNC-002");
  DIFFERS("MEMCPYPEER-002", "the contexts are not compared with the owners of the memory");
  DIFFERS("MEMCPYPEERASYNC-002", "the contexts are not compared with the owners of the memory");
  const Stream stream;
  EXPECT_OK(cuMemcpyPeer(there, context, here, other, 4096));
  expectCopied();
  EXPECT_OK(cuMemcpyPeer(there, nullptr, here, nullptr, 4096));
  expectCopied();
  EXPECT_OK(cuMemcpyPeerAsync(there, context, here, other, 4096, stream));
  stream.synchronize();
  expectCopied();
}

TEST_F(TwoContexts, NeedOneOfThemCurrent) {
  PROVES("MEMCPYPEER-001");
  ASSERT_OK(cuCtxPopCurrent(nullptr));
  EXPECT_EQ(cuMemcpyPeer(there, other, here, context, 4096), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuCtxPushCurrent(other));
  EXPECT_OK(cuMemcpyPeer(there, other, here, context, 4096));
  ASSERT_OK(cuCtxSetCurrent(context));
  expectCopied();
}

}  // namespace
