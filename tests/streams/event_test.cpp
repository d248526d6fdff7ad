// Events: what they capture, their times, their errors.
#include "fixture.h"

namespace {

class EventTest : public StreamTest {
 protected:
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent made = nullptr;
    EXPECT_OK(cuEventCreate(&made, flags));
    events.push_back(made);
    return made;
  }
  void TearDown() override {
    for (CUevent made : events) EXPECT_OK(cuEventDestroy(made));
    StreamTest::TearDown();
  }
  std::vector<CUevent> events;
};

TEST_F(EventTest, AnEventIsReadyWhenTheWorkBeforeItIsDone) {
  CUstream stream = create();
  CUevent before = event(), after = event(CU_EVENT_DISABLE_TIMING);
  EXPECT_OK(cuEventRecord(before, stream));
  Gate gate(stream);
  EXPECT_OK(cuEventRecord(after, stream));
  EXPECT_OK(cuEventQuery(before));
  EXPECT_OK(cuEventSynchronize(before));
  EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_OK(cuEventSynchronize(after));
  EXPECT_OK(cuEventQuery(after));
}

TEST_F(EventTest, AnEventThatWasNeverRecordedIsReady) {
  CUevent e = event();
  EXPECT_OK(cuEventQuery(e));
  EXPECT_OK(cuEventSynchronize(e));
  EXPECT_OK(cuStreamWaitEvent(create(), e, 0));
}

TEST_F(EventTest, AStreamWaitsForAnEventOfAnother) {
  CUstream one = create(), two = create(CU_STREAM_NON_BLOCKING);
  CUevent e = event();
  Gate gate(one);
  EXPECT_OK(cuEventRecord(e, one));
  EXPECT_OK(cuStreamWaitEvent(two, e, 0));
  Mark mark(two);
  settle();
  EXPECT_FALSE(mark.passed());
  gate.open();
  EXPECT_OK(cuStreamSynchronize(two));
  EXPECT_TRUE(mark.passed());
}

TEST_F(EventTest, AWaitMeansTheRecordThatWasLastWhenItWasIssued) {
  CUstream one = create(), two = create(), three = create();
  CUevent e = event();
  EXPECT_OK(cuEventRecord(e, one));
  EXPECT_OK(cuStreamWaitEvent(two, e, 0));
  Gate gate(three);
  EXPECT_OK(cuEventRecord(e, three));
  Mark mark(two);
  EXPECT_OK(cuStreamSynchronize(two));
  EXPECT_TRUE(mark.passed());
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
}

TEST_F(EventTest, AnEventOfTheLegacyStreamWaitsForBlockingStreams) {
  for (unsigned flags : {CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING}) {
    CUstream stream = create();
    CUevent e = event(flags);
    Gate gate(stream);
    EXPECT_OK(cuEventRecord(e, nullptr));
    EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_OK(cuEventSynchronize(e));
    EXPECT_OK(cuStreamQuery(stream));
  }
}

TEST_F(EventTest, AnEventMayBeDestroyedOrRecordedAgainBeforeItIsReached) {
  CUstream stream = create();
  Gate gate(stream);
  for (int i = 0; i < 100; ++i) {
    CUevent e = nullptr;
    ASSERT_OK(cuEventCreate(&e, CU_EVENT_DEFAULT));
    EXPECT_OK(cuEventRecord(e, stream));
    EXPECT_OK(cuEventRecord(e, stream));
    EXPECT_OK(cuEventDestroy(e));
    EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
  }
  gate.open();
  EXPECT_OK(cuStreamSynchronize(stream));
}

TEST_F(EventTest, ElapsedTimeIsTheTimeBetweenTheRecords) {
  CUstream stream = create();
  CUevent start = event(), end = event();
  EXPECT_OK(cuEventRecord(start, stream));
  EXPECT_OK(cuLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(30ms); }, nullptr));
  EXPECT_OK(cuEventRecord(end, stream));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuEventSynchronize(end));
  ASSERT_OK(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 29.f);
  EXPECT_LT(milliseconds, 3000.f);
  float backwards = 0;
  ASSERT_OK(cuEventElapsedTime(&backwards, end, start));
  EXPECT_FLOAT_EQ(backwards, -milliseconds);
}

TEST_F(EventTest, ElapsedTimeIsRefusedWithoutTimesOrRecords) {
  CUevent timed = event(), never = event(), untimed = event(CU_EVENT_DISABLE_TIMING);
  EXPECT_OK(cuEventRecord(timed, nullptr));
  EXPECT_OK(cuEventRecord(untimed, nullptr));
  float milliseconds;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, never), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, never, timed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(nullptr, timed, timed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuEventElapsedTime(&milliseconds, timed, timed));
  EXPECT_EQ(milliseconds, 0.f);
}

TEST_F(EventTest, BadArgumentsAreRefused) {
  CUevent made = nullptr;
  CUevent good = event();
  CUstream stream = create();
  EXPECT_EQ(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&made, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&made, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecord(nullptr, stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(reinterpret_cast<CUevent>(0x1234), stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(reinterpret_cast<CUevent>(stream), stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecordWithFlags(good, stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecordWithFlags(good, stream, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamWaitEvent(stream, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(stream, good, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventTest, EventsCrossContextsAndDevices) {
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  for (int other = 0; other < count && other < 2; ++other) {
    CUstream here = create();
    CUevent e = event();
    Gate gate(here);
    EXPECT_OK(cuEventRecord(e, here));
    CUcontext second = nullptr;
    CUstream there = nullptr;
    ASSERT_OK(cuCtxCreate(&second, nullptr, 0, other));
    ASSERT_OK(cuStreamCreate(&there, CU_STREAM_DEFAULT));
    EXPECT_EQ(cuEventRecord(e, there), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    EXPECT_OK(cuStreamWaitEvent(there, e, 0));
    Mark mark(there);
    settle();
    EXPECT_FALSE(mark.passed());
    gate.open();
    EXPECT_OK(cuStreamSynchronize(there));
    EXPECT_TRUE(mark.passed());
    CUevent own = nullptr;
    ASSERT_OK(cuEventCreate(&own, 0));
    EXPECT_OK(cuCtxDestroy(second));
    EXPECT_EQ(cuEventQuery(own), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_NE(cuStreamQuery(there), CUDA_SUCCESS);
    EXPECT_OK(cuCtxSetCurrent(context));
  }
}

}  // namespace
