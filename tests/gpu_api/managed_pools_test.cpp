// Pools of managed memory on devices that move it.
#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

struct ManagedPools : ApiTest {};

TEST_F(ManagedPools, AdviceEndsWithTheAllocation) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool;
  OK(cuMemPoolCreate(&pool, &properties));
  constexpr size_t kBytes = size_t{1} << 20;
  CUdeviceptr first, again;
  OK(cuMemAllocFromPoolAsync(&first, kBytes, pool, nullptr));
  OK(cuMemAdvise(first, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  OK(cuMemAdvise(first, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
  const auto page = [](CUdeviceptr at) { return fakeDriver().managedPage(reinterpret_cast<void*>(at)); };
  EXPECT_TRUE(page(first).readMostly);
  EXPECT_EQ(page(first).preferred, 0);
  OK(cuMemFreeAsync(first, nullptr));
  OK(cuMemAllocFromPoolAsync(&again, kBytes, pool, nullptr));
  ASSERT_EQ(again, first);
  EXPECT_FALSE(page(again).readMostly);
  EXPECT_EQ(page(again).preferred, FakeUvm::kNowhere);
  OK(cuMemFree_v2(again));
  OK(cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace vg::testing
