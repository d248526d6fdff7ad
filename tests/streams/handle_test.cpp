// Streams as objects: handles, flags, priorities, attributes.
#include <set>

#include "fixture.h"

namespace {

using HandleTest = StreamTest;

TEST_F(HandleTest, FlagsAndPrioritiesAreKept) {
  CUstream stream = nullptr;
  for (const auto& [asked, given] : {std::pair{0, 0}, {-3, -3}, {-5, -5}, {-100, -5}, {100, 0}}) {
    ASSERT_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked));
    int priority = 1;
    unsigned flags = 0;
    EXPECT_OK(cuStreamGetPriority(stream, &priority));
    EXPECT_OK(cuStreamGetFlags(stream, &flags));
    EXPECT_EQ(priority, given);
    EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
    EXPECT_OK(cuStreamDestroy(stream));
  }
  EXPECT_EQ(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(&stream, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HandleTest, DefaultStreamsHaveHandlesThatCannotBeDestroyed) {
  for (CUstream handle : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    unsigned flags = 9;
    int priority = 9;
    CUcontext owner = nullptr;
    CUdevice where = 9;
    EXPECT_OK(cuStreamGetFlags(handle, &flags));
    EXPECT_OK(cuStreamGetPriority(handle, &priority));
    EXPECT_OK(cuStreamGetCtx(handle, &owner));
    EXPECT_OK(cuStreamGetDevice(handle, &where));
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(priority, 0);
    EXPECT_EQ(owner, context);
    EXPECT_EQ(where, device);
    EXPECT_OK(cuStreamQuery(handle));
    EXPECT_EQ(cuStreamDestroy(handle), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(HandleTest, EveryStreamHasAnIdOfItsOwn) {
  std::set<unsigned long long> ids;
  unsigned long long legacy = 0, null = 0, id = 0;
  EXPECT_OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
  EXPECT_OK(cuStreamGetId(nullptr, &null));
  EXPECT_EQ(legacy, null);
  ids.insert(legacy);
  EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
  EXPECT_TRUE(ids.insert(id).second);
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
  }).join();
  EXPECT_TRUE(ids.insert(id).second);
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(cuStreamGetId(create(), &id));
    EXPECT_TRUE(ids.insert(id).second);
  }
}

TEST_F(HandleTest, StaleAndForeignHandlesAreRefused) {
  CUstream stale = nullptr;
  ASSERT_OK(cuStreamCreate(&stale, 0));
  ASSERT_OK(cuStreamDestroy(stale));
  CUevent event = nullptr;
  ASSERT_OK(cuEventCreate(&event, 0));
  int local = 0;
  for (CUstream handle : {stale, reinterpret_cast<CUstream>(0x1234), reinterpret_cast<CUstream>(event),
                          reinterpret_cast<CUstream>(&local), reinterpret_cast<CUstream>(context)}) {
    EXPECT_EQ(cuStreamQuery(handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamSynchronize(handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamDestroy(handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventRecord(event, handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamWaitEvent(handle, event, 0), CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(HandleTest, WithoutAContextThereIsNoDefaultStream) {
  CUstream stream = create();
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_CONTEXT);
  CUstream made = stream;
  EXPECT_EQ(cuStreamCreate(&made, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(made, nullptr);
  EXPECT_OK(cuStreamQuery(stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  ASSERT_OK(cuCtxSetCurrent(context));
}

TEST_F(HandleTest, AttributesAreKeptAndCopied) {
  CUstream one = create(), two = create();
  CUstreamAttrValue value = {};
  EXPECT_OK(cuStreamGetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_EQ(static_cast<int>(value.syncPolicy), -1);  // the context's
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  EXPECT_OK(cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_OK(cuStreamCopyAttributes(two, one));
  value = {};
  EXPECT_OK(cuStreamGetAttribute(two, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_EQ(value.syncPolicy, CU_SYNC_POLICY_YIELD);
  for (const auto& [wanted, kept] : {std::pair{-1, -1}, {-9, -5}, {3, 0}}) {  // as recorded
    int priority = 1;
    value = {};
    value.priority = wanted;
    EXPECT_OK(cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    EXPECT_OK(cuStreamGetPriority(one, &priority));
    EXPECT_EQ(priority, kept);
  }
  CUstream urgent = nullptr;
  int priority = 1;
  ASSERT_OK(cuStreamCreateWithPriority(&urgent, 0, -3));
  EXPECT_OK(cuStreamCopyAttributes(two, urgent));
  EXPECT_OK(cuStreamGetPriority(two, &priority));
  EXPECT_EQ(priority, -3);
  EXPECT_OK(cuStreamDestroy(urgent));
  value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
  EXPECT_EQ(cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_ERROR_INVALID_VALUE);
  value = {};
  value.accessPolicyWindow.hitRatio = 2;
  EXPECT_EQ(cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value), CUDA_ERROR_INVALID_VALUE);
  value = {};
  value.memSyncDomainMap = {0, 4};  // an H200 has four
  EXPECT_EQ(cuStreamSetAttribute(one, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetAttribute(one, static_cast<CUstreamAttrID>(99), &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HandleTest, NothingIsCapturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_OK(cuStreamIsCapturing(create(), &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_OK(cuStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(create(), &graph), CUDA_ERROR_ILLEGAL_STATE);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_F(HandleTest, StreamsOfADestroyedContextAreGone) {
  CUcontext second = nullptr;
  CUstream stream = nullptr;
  unsigned long long before = 0, after = 0;
  ASSERT_OK(cuCtxCreate(&second, nullptr, 0, device));
  ASSERT_OK(cuStreamCreate(&stream, 0));
  EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &before));
  Gate gate(stream);
  Mark mark(stream);
  std::thread opener([&] {
    settle();
    gate.open();
  });
  EXPECT_OK(cuCtxDestroy(second));  // waits for its work
  opener.join();
  EXPECT_TRUE(mark.passed());
  EXPECT_NE(cuStreamQuery(stream), CUDA_SUCCESS);
  ASSERT_OK(cuCtxCreate(&second, nullptr, 0, device));
  EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &after));
  EXPECT_NE(before, after);
  EXPECT_OK(cuCtxDestroy(second));
  ASSERT_OK(cuCtxSetCurrent(context));
}

}  // namespace
