// Kernels reach every kind of memory that devices have, whoever else may have it.
#include "fixture.h"

namespace {

using namespace kernels;

class ReachTest : public KernelTest {
 protected:
  // Every element becomes its index.
  void expectReached(CUdeviceptr memory) {
    const CUfunction kernel =
        function(module(entry("kernel", {".u64"}, std::string(kIndices) + "mov.u32 %r5, %r2;\n" + kStore)));
    ASSERT_EQ(run(kernel, 16, 64, memory), CUDA_SUCCESS);
    const std::vector<uint32_t> seen = read(memory, 1024);
    for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(seen[i], i);
  }
};

TEST_F(ReachTest, PoolsThatCanBeShared) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&memory, 100000, pool, nullptr), CUDA_SUCCESS);
  expectReached(memory);
  ASSERT_EQ(cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

TEST_F(ReachTest, MappedMemoryThatCanBeExported) {
  constexpr size_t kBytes = 4 << 20;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle made = 0, imported = 0;
  CUdeviceptr at = 0;
  int descriptor = -1;
  ASSERT_EQ(cuMemCreate(&made, kBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemExportToShareableHandle(&descriptor, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  void* const handle = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
  ASSERT_EQ(cuMemImportFromShareableHandle(&imported, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&at, 2 * kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(at, kBytes, 0, made, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(at + kBytes, kBytes, 0, imported, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(at, 2 * kBytes, &access, 1), CUDA_SUCCESS);
  expectReached(at);
  EXPECT_EQ(read(at + kBytes, 1024), read(at, 1024));  // the same memory
  ASSERT_EQ(cuMemUnmap(at, 2 * kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressFree(at, 2 * kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(made), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(imported), CUDA_SUCCESS);
}

}  // namespace
