// What calls do to a capture: those that end it, those that leave it alone, and addresses that are looked at only when
// the graph is made executable.
#include "fixture.h"

namespace {

constexpr CUdeviceptr kWild = 0x123456789000;

class CaptureRules : public GraphTest {
 protected:
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_OK(cuStreamBeginCapture(stream, mode));
  }
  CUstreamCaptureStatus status() {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(cuStreamIsCapturing(stream, &status));
    return status;
  }
  // Its captures are in the way of the legacy stream, unlike those of the fixture's.
  void useBlockingStream() {
    ASSERT_OK(cuStreamDestroy(stream));
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  }
  // Begins, calls, and expects that the capture is over.
  template <class Ask>
  void refuses(Ask ask, CUresult expected) {
    begin();
    EXPECT_EQ(ask(), expected);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CUgraph none = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(none, nullptr);
  }
  CUgraph end() {
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph made = nullptr;
    EXPECT_OK(cuStreamEndCapture(stream, &made));
    return made;
  }
};

TEST_F(CaptureRules, QuestionsAboutACapturingStreamEndTheCapture) {
  unsigned long long id;
  CUdevice on;
  int priority;
  refuses([&] { return cuStreamGetId(stream, &id); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refuses([&] { return cuStreamGetDevice(stream, &on); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  useBlockingStream();
  refuses([&] { return cuStreamGetPriority(nullptr, &priority); }, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph none = nullptr;
  refuses([&] { return cuStreamEndCapture(nullptr, &none); }, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  refuses([&] { return cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED); },
          CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_OK(cuStreamGetId(stream, &id));
  EXPECT_OK(cuStreamGetDevice(stream, &on));
}

// As an H200 answered random calls: they are allowed while the capture goes on.
TEST_F(CaptureRules, OtherQuestionsAreAnsweredUntilTheCaptureIsOver) {
  int priority;
  CUcontext context;
  CUstreamAttrValue value{};
  const CUstreamAttrValue noDomain{};
  const auto ask = [&](CUstream of, CUresult expected) {
    EXPECT_EQ(cuStreamGetPriority(of, &priority), expected);
    EXPECT_EQ(cuStreamGetCtx(of, &context), expected);
    EXPECT_EQ(cuStreamGetAttribute(of, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), expected);
    EXPECT_EQ(cuStreamSetAttribute(of, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &noDomain), expected);
    EXPECT_EQ(cuStreamCopyAttributes(of, of), expected);
  };
  begin();
  ask(stream, CUDA_SUCCESS);
  EXPECT_OK(cuGraphDestroy(end()));
  begin();
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ask(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamGetAttribute(stream, static_cast<CUstreamAttrID>(12), &value),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph none = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ask(stream, CUDA_SUCCESS);
  useBlockingStream();
  refuses([&] { return cuStreamGetCtx(nullptr, &context); }, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  refuses([&] { return cuStreamCopyAttributes(nullptr, nullptr); }, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

TEST_F(CaptureRules, DependenciesOfNoCaptureAreRefusedForThat) {
  const unsigned noFlags = 2;
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, noFlags), CUDA_ERROR_ILLEGAL_STATE);
  begin();
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, noFlags), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(end()));
}

TEST_F(CaptureRules, ExecutablesAndPoolsAreNotMadeBesideACapture) {
  CUgraphExec exec = nullptr;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  refuses([&] { return cuGraphInstantiate(&exec, graph, 0); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refuses([&] { return cuMemPoolCreate(&pool, &props); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refuses([&] { return cuGraphLaunch(nullptr, stream); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refuses([&] { return cuGraphUpload(nullptr, stream); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cuMemPoolCreate(&pool, &props));
  EXPECT_OK(cuGraphDestroy(end()));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuMemPoolDestroy(pool));
}

TEST_F(CaptureRules, WhatMeansNothingLeavesTheCaptureAlone) {
  CUevent fresh;
  ASSERT_OK(cuEventCreate(&fresh, 0));
  begin();
  EXPECT_OK(cuStreamWaitEvent(stream, fresh, 0));
  EXPECT_OK(cuMemFreeAsync(0, stream));
  EXPECT_NE(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), CUDA_SUCCESS);
  CUgraph made = end();
  size_t count = 1;
  EXPECT_OK(cuGraphGetNodes(made, nullptr, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_OK(cuGraphDestroy(made));
  EXPECT_OK(cuEventDestroy(fresh));
}

TEST_F(CaptureRules, WildAddressesAreSeenWhenTheGraphIsInstantiated) {
  CUgraphExec exec = nullptr;
  begin();
  EXPECT_OK(cuMemsetD8Async(kWild, 1, 64, stream));
  CUgraph made = end();
  EXPECT_INVALID(cuGraphInstantiate(&exec, made, 0));
  EXPECT_OK(cuGraphDestroy(made));
  begin();
  EXPECT_OK(cuStreamWriteValue32(stream, kWild, 1, 0));
  EXPECT_INVALID(cuStreamWriteValue32(stream, kWild + 1, 1, 0));
  made = end();
  EXPECT_OK(cuGraphInstantiate(&exec, made, 0));  // a real driver looks at those of memory operations when they run
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(made));
}

TEST_F(CaptureRules, AGraphThatWasGivenStaysWhenNobodyAsksForIt) {
  const CUdeviceptr memory = allocate(4);
  ASSERT_OK(cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(cuMemsetD32Async(memory, 7, 1, stream));
  EXPECT_OK(cuStreamEndCapture(stream, nullptr));
  size_t count = 0;
  EXPECT_OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
}

TEST_F(CaptureRules, BodiesOfConditionalsAreCapturedInto) {
  const CUdeviceptr memory = allocate(4);
  const CUgraph body = addBody(graph);
  ASSERT_OK(cuStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(cuMemsetD32Async(memory, 7, 1, stream));
  EXPECT_OK(cuStreamEndCapture(stream, nullptr));
  CUgraphExec exec = instantiate(graph);
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  uint32_t word = 0;
  EXPECT_OK(cuMemcpyDtoH(&word, memory, sizeof word));
  EXPECT_EQ(word, 7u);
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// The vendor's driver (H100, 580.159.04) takes the body away, and crashes when the graph is instantiated.
TEST_F(CaptureRules, ACaptureThatFailsLeavesItsNodeTheBody) {
  const CUgraph body = addBody(graph);
  ASSERT_OK(cuStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream, nullptr), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  size_t count = 1;
  EXPECT_OK(cuGraphGetNodes(body, nullptr, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_OK(cuGraphExecDestroy(instantiate(graph)));
}

}  // namespace
