#include "device_fixture.h"

#include "evidence.h"
#include "results.h"

namespace suite {
namespace {

// Modules, stacks and the driver's own tables come and go with the first use of a feature, and the driver keeps what
// managed memory was moved to for a while; only a leak that is larger shows.
constexpr size_t kSlack = size_t{512} << 20;

size_t freeMemory() {
  size_t free = 0, total = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  return free;
}

}  // namespace

CUdevice Device::device = 0;
CUcontext Device::context = nullptr;

int Device::attribute(CUdevice_attribute which) {
  int value = 0;
  EXPECT_OK(cuDeviceGetAttribute(&value, which, device)) << "attribute " << which;
  return value;
}

void Device::SetUp() {
  ASSERT_OK(cuInit(0));
  if (!context) {
    ASSERT_OK(cuDeviceGet(&device, 0));
    ASSERT_OK(cuDevicePrimaryCtxRetain(&context, device));
  }
  CUcontext leftBehind = nullptr;  // by a test that failed between push and pop
  while (cuCtxPopCurrent(&leftBehind) == CUDA_SUCCESS) continue;
  ASSERT_OK(cuCtxSetCurrent(context));
  freeBefore_ = freeMemory();
}

void Device::TearDown() {
  const CUresult current = cuCtxSetCurrent(context);
  const CUresult drained = cuCtxSynchronize();
  EXPECT_OK(current);
  EXPECT_OK(drained) << "the test left the device in error";
  if (current != CUDA_SUCCESS || drained != CUDA_SUCCESS) return leaveProcessAfterThisTest();
  if (checksMemory_) {
    EXPECT_GE(freeMemory() + kSlack, freeBefore_) << "device memory did not come back";
  }
}

}  // namespace suite
