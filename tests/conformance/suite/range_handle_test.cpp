// Handles of address ranges: cuMemGetHandleForAddressRange.
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "virtual_objects.h"

namespace {

constexpr CUmemRangeHandleType kDmaBuf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
constexpr size_t kGranule = kVirtualGranule;

CUmemAllocationProp exportable() { return deviceAllocation(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR); }

// The result for a range; the descriptor is closed when `descriptor` is null.
CUresult handleOf(CUdeviceptr start, size_t size, unsigned long long flags = 0, int* descriptor = nullptr) {
  int made = -1;
  const CUresult result = cuMemGetHandleForAddressRange(&made, start, size, kDmaBuf, flags);
  EXPECT_TRUE(isDocumented("MEMRANGEHANDLE-016", result));
  if (result == CUDA_SUCCESS) {
    EXPECT_GE(made, 0);
  }
  if (descriptor) {
    *descriptor = made;
  } else if (result == CUDA_SUCCESS) {
    EXPECT_EQ(close(made), 0);
  }
  return result;
}

class RangeHandle : public Device {
 protected:
  // What a good request is answered: the attribute says.
  CUresult good() const {
    return attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
};

TEST_F(RangeHandle, AnAllocationGivesADescriptor) {
  PROVES("MEMRANGEHANDLE-001", "MEMRANGEHANDLE-002", "MEMRANGEHANDLE-003", "MEMRANGEHANDLE-006", "MEMRANGEHANDLE-016");
  const DeviceBuffer memory(2 * kGranule);
  struct {
    int descriptor = -1, guard = 0x5a5a5a5a;
  } out;
  ASSERT_EQ(cuMemGetHandleForAddressRange(&out.descriptor, memory, 2 * kGranule, kDmaBuf, 0), good());
  EXPECT_EQ(out.guard, 0x5a5a5a5a) << "an int and no more";
  if (good() != CUDA_SUCCESS) return;
  struct stat status;
  EXPECT_EQ(fstat(out.descriptor, &status), 0);
  EXPECT_EQ(close(out.descriptor), 0);
}

TEST_F(RangeHandle, PartsOfAnAllocationDoToo) {
  PROVES("MEMRANGEHANDLE-001");
  const DeviceBuffer memory(2 * kGranule);
  EXPECT_EQ(handleOf(memory, kGranule), good());
  EXPECT_EQ(handleOf(memory + 65536, 4096), good());
}

TEST_F(RangeHandle, RangesAreOfWholePagesInsideMemoryOfTheDevice) {
  PROVES("MEMRANGEHANDLE-004", "MEMRANGEHANDLE-005");
  const DeviceBuffer memory(2 * kGranule);
  EXPECT_INVALID_VALUE(handleOf(memory + 1, 4096));
  EXPECT_INVALID_VALUE(handleOf(memory, 100));
  EXPECT_INVALID_VALUE(handleOf(memory, 0));
  EXPECT_INVALID_VALUE(handleOf(0, 4096));
  if (good() == CUDA_SUCCESS) {
    EXPECT_INVALID_VALUE(handleOf(memory, 2 * kGranule + 65536));
  }
}

TEST_F(RangeHandle, MemoryOfTheHostAndManagedMemoryGiveNone) {
  PROVES("MEMRANGEHANDLE-008");
  const ManagedBuffer managed(kGranule);
  EXPECT_INVALID_VALUE(handleOf(managed, kGranule));
  if (attribute(CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED)) GTEST_SKIP() << "page-locked memory gives one here";
  const PinnedBuffer pinned(kGranule);
  EXPECT_INVALID_VALUE(handleOf(pinned, 65536));
}

TEST_F(RangeHandle, MappedMemoryGivesOneWhenNoHoleIsLeft) {
  PROVES("MEMRANGEHANDLE-006", "MEMRANGEHANDLE-007");
  const Reservation range(2 * kGranule);
  const PhysicalHandle memory(kGranule, exportable());
  EXPECT_INVALID_VALUE(handleOf(range, kGranule)) << "nothing is mapped";
  ASSERT_OK(cuMemMap(range, kGranule, 0, memory, 0));
  ASSERT_OK(allow(range, kGranule));
  EXPECT_EQ(handleOf(range, kGranule), good());
  if (good() == CUDA_SUCCESS) {
    EXPECT_INVALID_VALUE(handleOf(range, 2 * kGranule));
  }
}

// Where a device has dma-bufs but the system beneath an emulated one cannot join two objects: not supported.
TEST_F(RangeHandle, MappingsNeedNotBeAlike) {
  PROVES("MEMRANGEHANDLE-011");
  DIFFERS("MEMRANGEHANDLE-011", "a range over allocations of different properties is accepted");
  const Reservation range(2 * kGranule);
  const PhysicalHandle one, other(kGranule, exportable());
  ASSERT_OK(cuMemMap(range.at(0), kGranule, 0, one, 0));
  ASSERT_OK(cuMemMap(range.at(1), kGranule, 0, other, 0));
  ASSERT_OK(allow(range, 2 * kGranule));
  EXPECT_NE(handleOf(range, 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RangeHandle, ADescriptorIsTiedToWhatWasMappedThen) {
  PROVES("MEMRANGEHANDLE-012");
  if (good() != CUDA_SUCCESS) GTEST_SKIP() << "no dma-bufs";
  const Reservation range(kGranule);
  const PhysicalHandle first(kGranule, exportable()), second(kGranule, exportable());
  int before = -1, after = -1;
  ASSERT_OK(cuMemMap(range, kGranule, 0, first, 0));
  ASSERT_OK(handleOf(range, kGranule, 0, &before));
  ASSERT_OK(cuMemUnmap(range, kGranule));
  ASSERT_OK(cuMemMap(range, kGranule, 0, second, 0));
  ASSERT_OK(handleOf(range, kGranule, 0, &after));
  struct stat old, now;
  ASSERT_EQ(fstat(before, &old), 0);
  ASSERT_EQ(fstat(after, &now), 0);
  EXPECT_NE(old.st_ino, now.st_ino) << "another object";
  close(before);
  close(after);
}

TEST_F(RangeHandle, FlagsAreNoneOrPcie) {
  PROVES("MEMRANGEHANDLE-013", "MEMRANGEHANDLE-015");
  const DeviceBuffer memory(kGranule);
  EXPECT_INVALID_VALUE(handleOf(memory, kGranule, 2));
  EXPECT_INVALID_VALUE(handleOf(memory, kGranule, 0x80));
  EXPECT_EQ(handleOf(memory, kGranule, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(RangeHandle, NullAndUnknownTypesAreRefused) {
  PROVES("MEMRANGEHANDLE-002");
  const DeviceBuffer memory(kGranule);
  int descriptor = -1;
  EXPECT_INVALID_VALUE(cuMemGetHandleForAddressRange(nullptr, memory, kGranule, kDmaBuf, 0));
  for (int type : {0, 2})
    EXPECT_INVALID_VALUE(
        cuMemGetHandleForAddressRange(&descriptor, memory, kGranule, static_cast<CUmemRangeHandleType>(type), 0));
  EXPECT_EQ(descriptor, -1);
}

TEST_F(RangeHandle, AnOpenDescriptorDoesNotKeepMemoryFromBeingFreed) {
  PROVES("MEMRANGEHANDLE-012");
  if (good() != CUDA_SUCCESS) GTEST_SKIP() << "no dma-bufs";
  checksMemory_ = false;
  DeviceBuffer memory(kGranule);
  int descriptor = -1;
  ASSERT_OK(handleOf(memory, kGranule, 0, &descriptor));
  EXPECT_OK(cuMemFree(memory.release()));
  struct stat status;
  EXPECT_EQ(fstat(descriptor, &status), 0);
  close(descriptor);
}

}  // namespace
