// Pools of one GPU that let another one in.
#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct PoolAccess : ApiTest {
  static bool seenByOther(CUdeviceptr at) { return fakeDriver().sees(1, reinterpret_cast<void*>(at)); }
  static CUmemoryPool create() {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }
  static CUdeviceptr allocate(CUmemoryPool pool, size_t bytes) {
    CUdeviceptr made = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&made, bytes, pool, nullptr), CUDA_SUCCESS);
    return made;
  }
  static CUresult let(CUmemoryPool pool, bool in) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                                 in ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE};
    return cuMemPoolSetAccess(pool, &access, 1);
  }
};

TEST_F(PoolAccess, IsOfWhatThePoolHasAndWillHaveUntilItIsTakenAway) {
  const CUmemoryPool pool = create(), closed = create();
  const CUdeviceptr early = allocate(pool, 4 * kMiB), small = allocate(pool, 100), other = allocate(closed, 100);
  EXPECT_FALSE(seenByOther(early));
  for (int round = 0; round < 2; ++round) {
    OK(let(pool, true));
    OK(let(pool, true));
    const CUdeviceptr late = allocate(pool, 8 * kMiB);
    for (const CUdeviceptr at : {early, small, late}) EXPECT_TRUE(seenByOther(at));
    EXPECT_FALSE(seenByOther(other));
    OK(let(pool, false));
    for (const CUdeviceptr at : {early, small, late}) EXPECT_FALSE(seenByOther(at));
    OK(cuMemFreeAsync(late, nullptr));
  }
  for (const CUdeviceptr at : {early, small, other}) OK(cuMemFreeAsync(at, nullptr));
  OK(cuMemPoolDestroy(pool));
  OK(cuMemPoolDestroy(closed));
}

TEST_F(PoolAccess, AndPeerAccessEndEachForItself) {
  const CUmemoryPool pool = create();
  const CUdeviceptr memory = allocate(pool, 4 * kMiB);
  OK(cuCtxSetCurrent(otherContext));
  OK(cuCtxEnablePeerAccess(context, 0));
  EXPECT_TRUE(seenByOther(memory));
  OK(let(pool, true));
  OK(cuCtxDisablePeerAccess(context));
  EXPECT_TRUE(seenByOther(memory));
  OK(cuCtxEnablePeerAccess(context, 0));
  OK(let(pool, false));
  EXPECT_TRUE(seenByOther(memory));
  OK(cuCtxDisablePeerAccess(context));
  EXPECT_FALSE(seenByOther(memory));
  OK(cuCtxSetCurrent(context));
  OK(cuMemFreeAsync(memory, nullptr));
  OK(cuMemPoolDestroy(pool));
}

TEST_F(PoolAccess, OfTheDefaultPoolIsOfThatAlone) {
  CUmemoryPool pool;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  const CUdeviceptr memory = allocate(pool, 4 * kMiB);
  CUdeviceptr plain;
  OK(cuMemAlloc_v2(&plain, 4 * kMiB));
  OK(let(pool, true));
  EXPECT_TRUE(seenByOther(memory));
  EXPECT_FALSE(seenByOther(plain));
  OK(let(pool, false));
  EXPECT_FALSE(seenByOther(memory));
  OK(cuMemFreeAsync(memory, nullptr));
  OK(cuMemFree_v2(plain));
}

TEST_F(PoolAccess, EndsWithThePoolWhichLeavesNothing) {
  const auto once = [] {
    const CUmemoryPool pool = create();
    OK(let(pool, true));
    const CUdeviceptr memory = allocate(pool, 6 * kMiB);
    EXPECT_TRUE(seenByOther(memory));
    OK(cuMemFreeAsync(allocate(pool, 100), nullptr));
    OK(cuMemPoolDestroy(pool));
    EXPECT_TRUE(seenByOther(memory));  // it lives until its last memory has gone
    OK(cuMemFreeAsync(memory, nullptr));
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(create()));  // looks at what streams have finished with
    EXPECT_FALSE(seenByOther(memory));
  };
  once();
  const uint64_t used = fakeDriver().usedMemory();
  const size_t ranges = fakeDriver().ranges();
  once();
  EXPECT_EQ(fakeDriver().usedMemory(), used);
  EXPECT_EQ(fakeDriver().ranges(), ranges);
}

}  // namespace
}  // namespace vg::testing
