// Pools of video memory that other processes may share; here the other process is this one.
#include <unistd.h>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct SharedPools : ApiTest {
  static CUmemoryPool create() {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }
  static CUmemoryPool import(CUmemoryPool pool) {
    int descriptor = -1;
    EXPECT_EQ(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    CUmemoryPool imported = nullptr;
    void* const handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
    EXPECT_EQ(cuMemPoolImportFromShareableHandle(&imported, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    close(descriptor);
    return imported;
  }
  static CUdeviceptr allocate(CUmemoryPool pool, size_t bytes) {
    CUdeviceptr made = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&made, bytes, pool, nullptr), CUDA_SUCCESS);
    return made;
  }
  static CUresult pass(CUdeviceptr from, CUmemoryPool to, CUdeviceptr* imported) {
    CUmemPoolPtrExportData data;
    const CUresult exported = cuMemPoolExportPointer(&data, from);
    return exported ? exported : cuMemPoolImportPointer(imported, to, &data);
  }
  static uint32_t word(CUdeviceptr at) {
    uint32_t value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, at, sizeof value), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(SharedPools, AreVideoMemoryThatImportersMap) {
  const CUmemoryPool pool = create(), other = create();
  const CUdeviceptr first = allocate(pool, 6 * kMiB), small = allocate(pool, 600);
  EXPECT_TRUE(fakeDriver().sees(0, reinterpret_cast<void*>(first)));
  const CUmemoryPool imported = import(pool), another = import(other);
  const CUdeviceptr late = allocate(pool, 10 * kMiB);  // the pool has grown
  for (const CUdeviceptr own : {first, small, late}) {
    CUdeviceptr theirs = 0, again = 0;
    EXPECT_EQ(pass(own, another, &theirs), CUDA_ERROR_INVALID_VALUE);
    OK(pass(own, imported, &theirs));
    OK(pass(own, imported, &again));
    EXPECT_EQ(theirs, again);
    EXPECT_NE(theirs, own);
    OK(cuMemsetD32_v2(own, 11, 100));
    EXPECT_EQ(word(theirs + 396), 11u);
    OK(cuMemsetD32_v2(theirs, 12, 100));
    EXPECT_EQ(word(own), 12u);
    OK(cuMemFreeAsync(theirs, nullptr));
    OK(cuMemFreeAsync(own, nullptr));
  }
  OK(cuCtxSynchronize());
  for (const CUmemoryPool each : {imported, another, pool, other}) OK(cuMemPoolDestroy(each));
}

TEST_F(SharedPools, HandOutNothingThatOthersMayHave) {
  const CUmemoryPool pool = create(), imported = import(pool);
  const CUdeviceptr memory = allocate(pool, 2 * kMiB);
  OK(cuMemsetD32_v2(memory, 5, kMiB / 2));
  CUdeviceptr theirs;
  OK(pass(memory, imported, &theirs));
  OK(cuMemFreeAsync(memory, nullptr));
  OK(cuCtxSynchronize());
  const CUdeviceptr next = allocate(pool, 2 * kMiB);
  OK(cuMemsetD32_v2(next, 6, kMiB / 2));
  EXPECT_EQ(word(theirs), 5u);  // it is theirs for as long as they want it
  OK(cuMemFreeAsync(theirs, nullptr));
  OK(cuMemFreeAsync(next, nullptr));
  OK(cuCtxSynchronize());
  OK(cuMemPoolDestroy(imported));
  OK(cuMemPoolDestroy(pool));
}

TEST_F(SharedPools, TakeNothingThatIsNoPointer) {
  const CUmemoryPool pool = create(), imported = import(pool);
  CUmemPoolPtrExportData data{};
  CUdeviceptr theirs;
  EXPECT_EQ(cuMemPoolImportPointer(&theirs, imported, &data), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr memory = allocate(pool, 100);
  OK(cuMemPoolExportPointer(&data, memory));
  data.reserved[40] ^= 1;
  EXPECT_EQ(cuMemPoolImportPointer(&theirs, imported, &data), CUDA_ERROR_INVALID_VALUE);
  data.reserved[40] ^= 1;
  OK(cuMemFreeAsync(memory, nullptr));
  OK(cuCtxSynchronize());
  EXPECT_EQ(cuMemPoolImportPointer(&theirs, imported, &data), CUDA_ERROR_INVALID_VALUE);  // it has been freed
  OK(cuMemPoolDestroy(imported));
  OK(cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace vg::testing
