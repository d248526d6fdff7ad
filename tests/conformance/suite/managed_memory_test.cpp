// cuMemAllocManaged: one address for the host and every device, promised rather than had.
#include <thread>

#include "managed_objects.h"
#include "suite.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

using ManagedMemory = Device;

bool isManaged(CUdeviceptr address) {
  unsigned managed = 0;
  EXPECT_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
  return managed;
}

TEST_F(ManagedMemory, EveryByteOfAnAllocationHoldsWhatIsWritten) {
  PROVES("MEMALLOCMANAGED-001");
  for (size_t size : {size_t{1}, size_t{3}, size_t{4097}, 3 * kMiB + 5}) {
    const ManagedBuffer buffer(size), neighbour(size);
    ASSERT_NE(CUdeviceptr{buffer}, 0u);
    writeDevice(buffer, pattern(size, 1));
    writeDevice(neighbour, pattern(size, 2));
    EXPECT_EQ(readDevice(buffer, size), pattern(size, 1)) << size << " bytes";
    EXPECT_TRUE(isManaged(buffer + size - 1));
    CUdeviceptr base = 0;
    size_t found = 0;
    EXPECT_OK(cuMemGetAddressRange(&base, &found, buffer + size - 1));
    EXPECT_EQ(base, CUdeviceptr{buffer});
    EXPECT_EQ(found, size);
  }
}

TEST_F(ManagedMemory, IsHadWhereTheAttributeSaysSo) {
  PROVES("MEMALLOCMANAGED-003");
  CUdeviceptr p = 0;
  const CUresult result = cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
  EXPECT_EQ(result, attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cuMemFree(p));
}

TEST_F(ManagedMemory, IsAlignedTo512Bytes) {
  PROVES("MEMALLOCMANAGED-004");
  const ManagedBuffer first(1), second(1), third(1000);
  for (CUdeviceptr p : {CUdeviceptr{first}, CUdeviceptr{second}, CUdeviceptr{third}}) EXPECT_EQ(p % 512, 0u);
}

TEST_F(ManagedMemory, NothingAndNowhereAreRefused) {
  PROVES("MEMALLOCMANAGED-006", "MEMALLOCMANAGED-040");
  CUdeviceptr p = 0;
  const CUresult nothing = cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL);
  EXPECT_INVALID_VALUE(nothing);
  EXPECT_TRUE(isDocumented("MEMALLOCMANAGED-040", nothing));
  EXPECT_INVALID_VALUE(cuMemAllocManaged(&p, 0, 0));
  EXPECT_INVALID_VALUE(cuMemAllocManaged(nullptr, 64, CU_MEM_ATTACH_GLOBAL));
}

TEST_F(ManagedMemory, MoreThanThereAreAddressesIsOutOfMemory) {
  PROVES("MEMALLOCMANAGED-040");
  for (size_t size : {size_t{1} << 47, SIZE_MAX}) {
    CUdeviceptr p = 0;
    const CUresult result = cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL);
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY) << size;
    EXPECT_TRUE(isDocumented("MEMALLOCMANAGED-040", result));
  }
  const ManagedBuffer after(64);
}

TEST_F(ManagedMemory, NeedsACurrentContext) {
  PROVES("MEMALLOCMANAGED-040");
  CUdeviceptr p = 0;
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  const CUresult result = cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
  ASSERT_OK(cuCtxSetCurrent(context));
  EXPECT_EQ(result, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_TRUE(isDocumented("MEMALLOCMANAGED-040", result));
}

TEST_F(ManagedMemory, TheHostReadsAndWritesItThroughTheSameAddress) {
  PROVES("MEMALLOCMANAGED-007");
  const ManagedBuffer buffer(3 * kMiB);
  const Bytes content = pattern(buffer.size(), 3);
  std::thread([&] { std::copy(content.begin(), content.end(), buffer.data()); }).join();  // it has no context
  EXPECT_EQ(readDevice(buffer, buffer.size()), content);
  launchIncrement(nullptr, buffer, buffer, buffer.size() / 4);
  ASSERT_OK(cuCtxSynchronize());
  const auto* const words = reinterpret_cast<const uint32_t*>(content.data());
  size_t wrong = 0;
  for (size_t i = 0; i < buffer.size() / 4; ++i) wrong += wordAt(buffer + 4 * i) != words[i] + 1;
  EXPECT_EQ(wrong, 0u);
}

TEST_F(ManagedMemory, EveryDeviceThatSupportsItUsesTheSameAddress) {
  PROVES("MEMALLOCMANAGED-008", "MEMALLOCMANAGED-012");
  const ManagedBuffer buffer(4096);
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  for (int i = 0; i < count; ++i) {
    int supported = 0;
    CUcontext other = nullptr;
    ASSERT_OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, i));
    if (!supported) continue;
    ASSERT_OK(cuDevicePrimaryCtxRetain(&other, i));
    ASSERT_OK(cuCtxSetCurrent(other));
    launchStore(nullptr, buffer, 100 + i);
    EXPECT_OK(cuCtxSynchronize());
    EXPECT_EQ(wordAt(buffer), 100u + i) << "device " << i;
    ASSERT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuDevicePrimaryCtxRelease(i));
  }
}

TEST_F(ManagedMemory, GlobalMemoryIsForEveryStream) {
  PROVES("MEMALLOCMANAGED-012");
  const ManagedBuffer buffer(4096, CU_MEM_ATTACH_GLOBAL);
  const Stream blocking(CU_STREAM_DEFAULT), other;
  unsigned value = 10;
  for (CUstream stream :
       {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, CUstream{blocking}, CUstream{other}}) {
    launchStore(stream, buffer, ++value);
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(wordAt(buffer), value);
  }
}

TEST_F(ManagedMemory, FlagsAreGlobalOrHost) {
  PROVES("MEMALLOCMANAGED-011");
  for (unsigned flags : {0u, 3u, 4u, 5u, 0x80u}) {
    CUdeviceptr p = 0;
    EXPECT_INVALID_VALUE(cuMemAllocManaged(&p, 64, flags)) << flags;
  }
  const ManagedBuffer global(64, CU_MEM_ATTACH_GLOBAL), host(64, CU_MEM_ATTACH_HOST);
  EXPECT_NE(CUdeviceptr{global}, CUdeviceptr{host});
}

// Destroying the stream must leave the memory to all streams again.
TEST_F(ManagedMemory, AStreamThatIsDestroyedTakesItsAssociationAlong) {
  PROVES("MEMALLOCMANAGED-015", "ATTACH-024");
  const ManagedBuffer buffer(4096);
  {
    const Stream owner;
    EXPECT_OK(cuStreamAttachMemAsync(owner, buffer, 0, CU_MEM_ATTACH_SINGLE));
    owner.synchronize();
  }
  const Stream other;
  launchStore(other, buffer, 77);
  other.synchronize();
  EXPECT_EQ(wordAt(buffer), 77u);
}

// cuStreamDestroy returns while the stream works; what it works on stays usable until it has finished.
TEST_F(ManagedMemory, DestroyingABusyStreamWaitsForNothing) {
  PROVES("MEMALLOCMANAGED-017", "ATTACH-026");
  const ManagedBuffer buffer(4096);
  const PinnedBuffer flag(Bytes(4), CU_MEMHOSTALLOC_DEVICEMAP);
  wordAt(buffer) = 0;
  CUstream owner = nullptr;
  ASSERT_OK(cuStreamCreate(&owner, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cuStreamAttachMemAsync(owner, buffer, 0, CU_MEM_ATTACH_SINGLE));
  launchWaitForFlag(owner, flag);
  launchStore(owner, buffer, 5);
  EXPECT_OK(cuStreamDestroy(owner));
  EXPECT_EQ(wordAt(buffer), 0u) << "it waited";
  wordAt(flag) = 1;
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(wordAt(buffer), 5u);
}

TEST_F(ManagedMemory, ManagedVariablesAreForEveryStream) {
  PROVES("MEMALLOCMANAGED-016");
  const ManagedVariable variable;
  EXPECT_EQ(variable.size(), 4u);
  EXPECT_TRUE(isManaged(variable));
  EXPECT_EQ(variable.value(), 41u);
  const Stream first, second;
  variable.increment(first);
  first.synchronize();
  variable.increment(second);
  second.synchronize();
  EXPECT_EQ(variable.value(), 43u);
}

TEST_F(ManagedMemory, IsReleasedByCuMemFree) {
  PROVES("MEMALLOCMANAGED-018");
  CUdeviceptr p = 0, base = 0;
  size_t size = 0;
  ASSERT_OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
  EXPECT_INVALID_VALUE(cuMemFree(p + 512)) << "inside";
  EXPECT_OK(cuMemFree(p));
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, p), CUDA_ERROR_NOT_FOUND);
  EXPECT_INVALID_VALUE(cuMemFree(p)) << "twice";
}

// Far more than the device has; touched at both ends only.
TEST_F(ManagedMemory, MoreThanTheDeviceHasIsPromised) {
  PROVES("MEMALLOCMANAGED-019");
  if (!attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) GTEST_SKIP() << "the device holds all it promises";
  size_t free = 0, total = 0;
  ASSERT_OK(cuMemGetInfo(&free, &total));
  const ManagedBuffer buffer(total + 64 * kMiB);
  const CUdeviceptr last = buffer + buffer.size() - 4;
  launchStore(nullptr, buffer, 1);
  launchStore(nullptr, last, 2);
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(wordAt(buffer), 1u);
  EXPECT_EQ(wordAt(last), 2u);
}

TEST_F(ManagedMemory, TakesNoDeviceMemoryUntilItIsTouched) {
  PROVES("MEMALLOCMANAGED-021");
  if (!attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) GTEST_SKIP() << "it may be populated at once";
  size_t before = 0, after = 0, total = 0;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  const ManagedBuffer buffer(64 * kMiB);
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, 0u);
}

int rangeAttribute(CUmem_range_attribute which, CUdeviceptr address, size_t bytes) {
  int value = -77;
  EXPECT_OK(cuMemRangeGetAttribute(&value, sizeof value, which, address, bytes));
  return value;
}

TEST_F(ManagedMemory, AdviceIsTakenAndToldPageByPage) {
  PROVES("MEMALLOCMANAGED-024");
  constexpr size_t kHalf = 4 * kMiB;
  const ManagedBuffer buffer(2 * kHalf);
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, device}, host{CU_MEM_LOCATION_TYPE_HOST, 0};
  const auto preferred = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
  EXPECT_EQ(rangeAttribute(preferred, buffer, 2 * kHalf), CU_DEVICE_INVALID);
  EXPECT_OK(cuMemAdvise(buffer, kHalf, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
  EXPECT_OK(cuMemAdvise(buffer + kHalf, kHalf, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  EXPECT_EQ(rangeAttribute(preferred, buffer, kHalf), device);
  EXPECT_EQ(rangeAttribute(preferred, buffer + kHalf, kHalf), CU_DEVICE_CPU);
  EXPECT_EQ(rangeAttribute(preferred, buffer, 2 * kHalf), CU_DEVICE_INVALID) << "the halves differ";
  EXPECT_OK(cuMemAdvise(buffer + 100, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  const auto readMostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
  EXPECT_EQ(rangeAttribute(readMostly, buffer + 4095, 1), 1);
  EXPECT_EQ(rangeAttribute(readMostly, buffer + 4096, 1), 0);
  EXPECT_INVALID_VALUE(cuMemAdvise(buffer, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  EXPECT_INVALID_VALUE(cuMemAdvise(buffer, 2 * kHalf + 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  const DeviceBuffer plain(4096);
  EXPECT_INVALID_VALUE(cuMemAdvise(plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
}

TEST_F(ManagedMemory, PrefetchesMoveItAndKeepItsContent) {
  PROVES("MEMALLOCMANAGED-025");
  const ManagedBuffer buffer(4 * kMiB);
  const Stream stream;
  const Bytes content = pattern(buffer.size(), 5);
  writeDevice(buffer, content);
  const auto last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
  for (const CUmemLocation place :
       {CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device}, CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}}) {
    EXPECT_OK(cuMemPrefetchAsync(buffer, buffer.size(), place, 0, stream));
    stream.synchronize();
    const bool host = place.type == CU_MEM_LOCATION_TYPE_HOST;
    EXPECT_EQ(rangeAttribute(last, buffer, buffer.size()), host ? CU_DEVICE_CPU : device);
    EXPECT_EQ(readDevice(buffer, buffer.size()), content);
  }
  EXPECT_INVALID_VALUE(cuMemPrefetchAsync(buffer, 0, {CU_MEM_LOCATION_TYPE_DEVICE, device}, 0, stream));
  EXPECT_INVALID_VALUE(cuMemPrefetchAsync(buffer, 4096, {CU_MEM_LOCATION_TYPE_INVALID, 0}, 0, stream));
  EXPECT_EQ(cuMemPrefetchAsync(buffer, 4096, {CU_MEM_LOCATION_TYPE_DEVICE, 99}, 0, stream), CUDA_ERROR_INVALID_DEVICE);
}

TEST(ManagedMemoryIsolated, BeforeInitialisationItSaysNotInitialised) {
  PROVES("MEMALLOCMANAGED-040");
  CUdeviceptr p = 0;
  const CUresult result = cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
  EXPECT_EQ(result, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_TRUE(isDocumented("MEMALLOCMANAGED-040", result));
}

using ManagedMemoryFault = DeviceFault;

TEST_F(ManagedMemoryFault, AllocatingMayHandBackTheErrorOfAnEarlierLaunch) {
  PROVES("MEMALLOCMANAGED-041");
  launchStore(nullptr, 0, 1);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
