// Memory of the host that is page-locked: every GPU of the process sees it, whichever context asked for it.
#include <sys/mman.h>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kPage = 4096;

struct HostMemory : ApiTest {
  static void expectSeen(const void* at, bool seen, const char* what) {
    for (const uint32_t gpu : {0u, 1u}) EXPECT_EQ(fakeDriver().canWrite(gpu, at), seen) << what << ", GPU " << gpu;
  }
};

TEST_F(HostMemory, ThatIsAllocatedIsSeenByAllGpus) {
  for (const CUcontext current : {context, otherContext}) {
    OK(cuCtxSetCurrent(current));
    for (const size_t bytes : {size_t{100}, kPage, size_t{1} << 20, size_t{40} << 20}) {
      void* memory = nullptr;
      OK(cuMemHostAlloc(&memory, bytes, 0));
      expectSeen(memory, true, "the first byte");
      expectSeen(static_cast<char*>(memory) + bytes - 1, true, "the last byte");
      OK(cuMemFreeHost(memory));
    }
  }
}

TEST_F(HostMemory, ThatIsRegisteredIsSeenByAllGpusUntilItIsNoMore) {
  constexpr size_t kBytes = 8 * kPage;
  auto* const memory = static_cast<char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (const CUcontext current : {context, otherContext}) {
    OK(cuCtxSetCurrent(current));
    OK(cuMemHostRegister(memory, 2 * kPage, 0));
    OK(cuMemHostRegister(memory + 2 * kPage, 3 * kPage + 100, 0));  // shares a page with the next
    OK(cuMemHostRegister(memory + 5 * kPage + 100, 100, 0));
    for (size_t page = 0; page < 6; ++page) expectSeen(memory + page * kPage, true, "registered");
    expectSeen(memory + 6 * kPage, false, "behind");
    OK(cuMemHostUnregister(memory + 2 * kPage));
    for (size_t page = 0; page < 6; ++page)
      expectSeen(memory + page * kPage, page < 2 || page == 5, "the middle is gone");
    OK(cuMemHostUnregister(memory));
    OK(cuMemHostUnregister(memory + 5 * kPage + 100));
    for (size_t page = 0; page < 6; ++page) expectSeen(memory + page * kPage, false, "all are gone");
  }
  munmap(memory, kBytes);
}

// What NCCL shares between the processes of a host.
TEST_F(HostMemory, OfANodeIsSeenByAllGpusWhereItIsMapped) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  size_t granularity = 0;
  OK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr at = 0;
  OK(cuMemCreate(&handle, granularity, &properties, 0));
  OK(cuMemAddressReserve(&at, granularity, 0, 0, 0));
  OK(cuMemMap(at, granularity, 0, handle, 0));
  const CUmemAccessDesc access[] = {{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                                    {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  OK(cuMemSetAccess(at, granularity, access, 2));
  expectSeen(reinterpret_cast<void*>(at), true, "mapped");
  OK(cuMemUnmap(at, granularity));
  OK(cuMemAddressFree(at, granularity));
  OK(cuMemRelease(handle));
}

}  // namespace
}  // namespace vg::testing
