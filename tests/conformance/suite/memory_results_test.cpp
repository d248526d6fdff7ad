// Which results the functions of linear memory, copies and fills give: the documented sets, the order of the checks
// before the arguments are looked at, and errors of earlier work.
#include "memory_calls.h"
#include "suite.h"

namespace {

std::string nameOf(const testing::TestParamInfo<MemoryCall>& info) { return info.param.name; }

class MemoryResults : public Device, public testing::WithParamInterface<MemoryCall> {};

TEST_P(MemoryResults, AreAmongTheDocumentedOnes) {
  const MemoryCall& call = GetParam();
  PROVES(call.resultsRule);
  MemoryWorld world;
  const CUresult good = call.good(world), bad = call.bad(world);
  EXPECT_OK(good);
  EXPECT_EQ(bad, call.badAnswer);
  EXPECT_TRUE(isDocumented(call.resultsRule, good));
  EXPECT_TRUE(isDocumented(call.resultsRule, bad));
  EXPECT_OK(cuCtxSynchronize()) << "a refused call leaves no error";
}

TEST_P(MemoryResults, WithoutACurrentContext) {
  const MemoryCall& call = GetParam();
  PROVES(call.resultsRule);
  MemoryWorld world;
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  const CUresult result = call.good(world);
  ASSERT_OK(cuCtxSetCurrent(context));
  EXPECT_EQ(result, call.needsContext ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
  EXPECT_TRUE(isDocumented(call.resultsRule, result));
}

INSTANTIATE_TEST_SUITE_P(Of, MemoryResults, testing::ValuesIn(kMemoryCalls), nameOf);

TEST(MemoryResultsIsolated, BeforeInitialisationAllSayNotInitialised) {
  PROVES("MEMALLOC-005", "MEMALLOCPITCH-012", "MEMFREE-012", "MEMADDRRANGE-006", "MEMGETINFO-008", "DEVBYPCI-006",
         "DEVPCIID-005", "MEMCPYHTOD-004", "MEMCPYDTOH-004", "MEMCPYDTOD-003", "MEMCPY-006", "MEMSETD8-004");
  CUdeviceptr p = 0;
  CUdevice device = 0;
  size_t n = 0;
  char text[32];
  EXPECT_EQ(cuMemAlloc(&p, 0), CUDA_ERROR_NOT_INITIALIZED) << "it wins over a bad size";
  EXPECT_EQ(cuMemAllocPitch(&p, &n, 4, 4, 4), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemFree(0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemGetAddressRange(&p, &n, 4096), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemGetInfo(&n, &n), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "0000:00:00.0"), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuDeviceGetPCIBusId(text, sizeof text, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemcpyHtoD(4096, text, 4), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemcpyDtoH(text, 4096, 4), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemcpyDtoD(4096, 8192, 4), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemcpy(4096, 8192, 4), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemsetD8(4096, 0, 4), CUDA_ERROR_NOT_INITIALIZED);
}

// One faulty launch, then every function once: a process for each would say no more.
class EarlierFault : public DeviceFault {};

TEST_F(EarlierFault, EveryMemoryFunctionHandsBackTheErrorOfAnEarlierLaunch) {
  MemoryWorld world;
  launchStore(nullptr, 0, 1);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  for (const MemoryCall& call : kMemoryCalls) {
    PROVES(call.earlierRule);
    const CUresult result = call.good(world);
    EXPECT_EQ(result, call.seesEarlier ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS) << call.name;
  }
}

}  // namespace
