// Linear device memory: cuMemAlloc, cuMemFree, cuMemGetAddressRange, cuMemGetInfo.
#include "suite.h"

using LinearMemory = Device;

TEST_F(LinearMemory, AllocationsOfNothingAreRefused) {
  PROVES("MEMALLOC-004");
  CUdeviceptr p = 0;
  EXPECT_INVALID_VALUE(cuMemAlloc(&p, 0));
}
