// cuDeviceRegisterAsyncNotification and its end. No recorded device ever sent a notification, not even when an
// allocation was refused, so what a callback sees cannot be tested.
#include "documented.h"
#include "suite.h"

namespace {

void neverCalled(CUasyncNotificationInfo*, void* data, CUasyncCallbackHandle) { ++*static_cast<int*>(data); }

class Notifications : public Device {
 protected:
  int calls_ = 0;
};

TEST_F(Notifications, EachRegistrationHasAHandleOfItsOwn) {
  PROVES("ASYNCREG-001", "ASYNCREG-002", "ASYNCUNREG-001", "ASYNCUNREG-002");
  CUasyncCallbackHandle first = nullptr, second = nullptr;
  ASSERT_OK(cuDeviceRegisterAsyncNotification(device, neverCalled, &calls_, &first));
  ASSERT_OK(cuDeviceRegisterAsyncNotification(device, neverCalled, &calls_, &second));
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(first, second);
  EXPECT_OK(cuDeviceUnregisterAsyncNotification(device, second));
  EXPECT_OK(cuDeviceUnregisterAsyncNotification(device, first));
}

TEST_F(Notifications, ResultsAreTheDocumentedOnes) {
  PROVES("ASYNCREG-010", "ASYNCUNREG-004");
  CUasyncCallbackHandle handle = nullptr;
  const CUresult noCallback = cuDeviceRegisterAsyncNotification(device, nullptr, nullptr, &handle);
  EXPECT_INVALID_VALUE(noCallback);
  const CUresult noDevice = cuDeviceRegisterAsyncNotification(77, neverCalled, nullptr, &handle);
  EXPECT_EQ(noDevice, CUDA_ERROR_INVALID_DEVICE);
  for (CUresult result : {noCallback, noDevice}) EXPECT_TRUE(isDocumented("ASYNCREG-010", result));
  const CUresult noHandle = cuDeviceUnregisterAsyncNotification(device, nullptr);
  EXPECT_INVALID_VALUE(noHandle);
  EXPECT_TRUE(isDocumented("ASYNCUNREG-004", noHandle));
}

TEST_F(Notifications, ARefusedAllocationSendsNone) {
  PROVES("ASYNCREG-001");
  CUasyncCallbackHandle handle = nullptr;
  ASSERT_OK(cuDeviceRegisterAsyncNotification(device, neverCalled, &calls_, &handle));
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuDeviceUnregisterAsyncNotification(device, handle));
  EXPECT_EQ(calls_, 0);
}

class NotificationsFault : public DeviceFault {};

TEST_F(NotificationsFault, AnErrorOfTheDeviceMayBeReported) {
  PROVES("ASYNCREG-011", "ASYNCUNREG-005");
  ASSERT_OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  const CUresult error = cuCtxSynchronize();
  ASSERT_NE(error, CUDA_SUCCESS);
  CUasyncCallbackHandle handle = nullptr;
  int calls = 0;
  const CUresult made = cuDeviceRegisterAsyncNotification(device, neverCalled, &calls, &handle);
  EXPECT_TRUE(made == CUDA_SUCCESS || made == error) << made;
  if (made != CUDA_SUCCESS) return;
  const CUresult ended = cuDeviceUnregisterAsyncNotification(device, handle);
  EXPECT_TRUE(ended == CUDA_SUCCESS || ended == error) << ended;
}

}  // namespace
