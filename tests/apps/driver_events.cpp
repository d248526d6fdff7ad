// Streams, events and host functions of the driver API, used from C++ with several threads on one stream.
#include <atomic>
#include <thread>
#include <vector>

#include "driver_check.h"

static void CUDA_CB count(void* data) { ++*static_cast<std::atomic<int>*>(data); }

int main() {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));

  CUstream stream;
  CUevent before, after;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&before, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&after, CU_EVENT_BLOCKING_SYNC));
  std::atomic<int> calls{0};
  CHECK(cuEventRecord(before, stream));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      CHECK(cuCtxSetCurrent(context));
      for (int round = 0; round < 100; ++round) CHECK(cuLaunchHostFunc(stream, count, &calls));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(cuEventRecord(after, stream));
  CHECK(cuEventSynchronize(after));
  EXPECT(calls == 400);
  CHECK(cuEventQuery(before));
  float milliseconds = -1;
  CHECK(cuEventElapsedTime(&milliseconds, before, after));
  EXPECT(milliseconds >= 0);
  CHECK(cuStreamQuery(stream));

  CHECK(cuEventDestroy(before));
  CHECK(cuEventDestroy(after));
  CHECK(cuStreamDestroy(stream));
  EXPECT_CODE(cuEventRecord(nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
