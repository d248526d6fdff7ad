// Stream capture: which calls become nodes, which end a capture, forks and joins over events, threads and modes. The
// manual's text on capture is not among the rules; what is asserted here was recorded from the driver.
#include <random>
#include <thread>

#include "suite.h"

namespace {

class Capture : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    (void)kernel("store");  // loaded before anything captures
  }

  void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED) {
    ASSERT_OK(cuStreamBeginCapture(stream, mode));
  }
  CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(cuStreamIsCapturing(stream, &status));
    return status;
  }
  // The graph of the capture; the test destroys it.
  CUgraph end(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_OK(cuStreamEndCapture(stream, &graph));
    return graph;
  }
  void expectEnd(CUstream stream, CUresult expected) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), expected);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  }
  void fill(CUstream stream, uint8_t value = 1) { EXPECT_OK(cuMemsetD8Async(memory_, value, 64, stream)); }

  // The types of the nodes in the order of the graph, and the number of edges.
  struct Shape {
    std::vector<CUgraphNodeType> types;
    size_t edges = 0;
    bool operator==(const Shape&) const = default;
  };
  Shape shapeOf(CUgraph graph) {
    size_t count = 0;
    Shape shape;
    EXPECT_OK(cuGraphGetNodes(graph, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    EXPECT_OK(cuGraphGetNodes(graph, nodes.data(), &count));
    for (CUgraphNode node : nodes) {
      shape.types.emplace_back();
      EXPECT_OK(cuGraphNodeGetType(node, &shape.types.back()));
    }
    EXPECT_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &shape.edges));
    return shape;
  }
  Shape endShape(CUstream stream) {
    CUgraph graph = end(stream);
    if (!graph) return {};
    const Shape shape = shapeOf(graph);
    EXPECT_OK(cuGraphDestroy(graph));
    return shape;
  }
  // The shape that one call makes of a capture of its own.
  template <class Call>
  Shape shapeOfCall(Call call) {
    begin(stream_);
    call();
    return endShape(stream_);
  }
  // `call` answers `expected` and the capture is invalidated, or goes on.
  template <class Call>
  void expectInCapture(CUstreamCaptureMode mode, CUresult expected, bool survives, Call call) {
    begin(stream_, mode);
    EXPECT_EQ(call(), expected);
    EXPECT_EQ(status(stream_), survives ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    if (survives) {
      EXPECT_OK(cuGraphDestroy(end(stream_)));
    } else {
      expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
  }

  const Stream stream_{CU_STREAM_DEFAULT}, other_{CU_STREAM_DEFAULT}, free_;
  const DeviceBuffer memory_{Bytes(4096)};
  const PinnedBuffer pinned_{Bytes(4096)};
  const Event captured_{CU_EVENT_DISABLE_TIMING}, back_{CU_EVENT_DISABLE_TIMING}, outside_;
};

void CUDA_CB nothing(void*) {}
void CUDA_CB nothingEither(CUstream, CUresult, void*) {}

TEST_F(Capture, WorkBecomesNodesOneAfterTheOther) {
  const auto single = [](CUgraphNodeType type) { return Shape{{type}, 0}; };
  Bytes pageable(64);
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemcpyHtoDAsync(memory_, pageable.data(), 64, stream_)); }),
            single(CU_GRAPH_NODE_TYPE_MEMCPY));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemcpyDtoHAsync(pinned_.data(), memory_, 64, stream_)); }),
            single(CU_GRAPH_NODE_TYPE_MEMCPY));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemcpyDtoDAsync(memory_, memory_ + 64, 64, stream_)); }),
            single(CU_GRAPH_NODE_TYPE_MEMCPY));
  EXPECT_EQ(shapeOfCall([&] { fill(stream_); }), single(CU_GRAPH_NODE_TYPE_MEMSET));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemsetD2D32Async(memory_, 512, 1, 16, 4, stream_)); }),
            single(CU_GRAPH_NODE_TYPE_MEMSET));
  EXPECT_EQ(shapeOfCall([&] { launchStore(stream_, memory_, 1); }), single(CU_GRAPH_NODE_TYPE_KERNEL));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuLaunchHostFunc(stream_, nothing, nullptr)); }),
            single(CU_GRAPH_NODE_TYPE_HOST));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuStreamWriteValue32(stream_, memory_, 1, 0)); }),
            single(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuEventRecordWithFlags(outside_, stream_, CU_EVENT_RECORD_EXTERNAL)); }),
            single(CU_GRAPH_NODE_TYPE_EVENT_RECORD));
  EXPECT_OK(cuEventRecord(outside_, other_));
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuStreamWaitEvent(stream_, outside_, CU_EVENT_WAIT_EXTERNAL)); }),
            single(CU_GRAPH_NODE_TYPE_WAIT_EVENT));
  EXPECT_EQ(shapeOfCall([&] {
              fill(stream_);
              launchStore(stream_, memory_, 1);
              fill(stream_);
            }),
            (Shape{{CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET}, 2}));
  EXPECT_EQ(memory_.read(), Bytes(4096)) << "nothing ran";
}

TEST_F(Capture, WorkOfNoBytesAndRecordedEventsMakeNoNode) {
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemcpyDtoDAsync(memory_, memory_ + 64, 0, stream_)); }), Shape{});
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemsetD8Async(memory_, 1, 0, stream_)); }), Shape{});
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuEventRecord(captured_, stream_)); }), Shape{});
  CUdeviceptr none = 1;
  EXPECT_EQ(shapeOfCall([&] { EXPECT_OK(cuMemAllocAsync(&none, 0, stream_)); }), Shape{});
  EXPECT_EQ(none, 0u);
}

TEST_F(Capture, AllocationsBecomeNodesToo) {
  EXPECT_EQ(shapeOfCall([&] {
              CUdeviceptr made = 0;
              EXPECT_OK(cuMemAllocAsync(&made, 64, stream_));
              EXPECT_NE(made, 0u);
              EXPECT_OK(cuMemsetD8Async(made, 1, 64, stream_));
              EXPECT_OK(cuMemFreeAsync(made, stream_));
            }),
            (Shape{{CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEM_FREE}, 2}));
  expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE, true,
                  [&] { return cuMemFreeAsync(memory_, stream_); });
}

// 188
TEST_F(Capture, BatchesOfCopiesAreRefusedAndTheCaptureGoesOn) {
  for (auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    expectInCapture(mode, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, true, [&] {
      CUdeviceptr to = memory_, from = memory_ + 64;
      size_t bytes = 4, first = 0;
      CUmemcpyAttributes how{};
      how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      return cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, stream_);
    });
    expectInCapture(mode, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, true, [&] {
      CUDA_MEMCPY3D_BATCH_OP op{};
      op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
      op.src.op.ptr.ptr = memory_;
      op.dst.op.ptr.ptr = memory_ + 64;
      op.extent = {1, 1, 1};
      op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      return cuMemcpy3DBatchAsync(1, &op, 0, stream_);
    });
  }
}

// 84
TEST_F(Capture, UnsafeCallsAreForbiddenUnlessTheCaptureIsRelaxed) {
  const auto expectUnsafe = [&](const char* what, auto call, CUresult otherwise = CUDA_SUCCESS) {
    SCOPED_TRACE(what);
    for (auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL})
      expectInCapture(mode, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false, call);
    expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, otherwise, true, call);
  };
  ASSERT_OK(cuEventRecord(outside_, free_));
  free_.synchronize();
  CUdeviceptr made = 0;
  expectUnsafe("cuMemAlloc and its end", [&] {
    const CUresult result = cuMemAlloc(&made, 64);
    return result == CUDA_SUCCESS ? cuMemFree(made) : result;
  });
  expectUnsafe("cuMemFree of nothing", [&] { return cuMemFree(0); });
  expectUnsafe(
      "cuMemAlloc of nothing", [&] { return cuMemAlloc(&made, 0); }, CUDA_ERROR_INVALID_VALUE);
  expectUnsafe("cuMemHostAlloc and its end", [&] {
    void* host = nullptr;
    const CUresult result = cuMemHostAlloc(&host, 64, 0);
    return result == CUDA_SUCCESS ? cuMemFreeHost(host) : result;
  });
  expectUnsafe("cuEventQuery", [&] { return cuEventQuery(outside_); });
  expectUnsafe("cuEventSynchronize", [&] { return cuEventSynchronize(outside_); });
  expectUnsafe("cuStreamQuery of another", [&] { return cuStreamQuery(free_); });
  expectUnsafe("cuStreamSynchronize of another", [&] { return cuStreamSynchronize(free_); });
  expectUnsafe("cuCtxSetLimit", [&] { return cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20); });
}

TEST_F(Capture, TheStreamItselfAndItsContextCannotBeWaitedFor) {
  for (auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const auto expectEnded = [&](auto call) {
      expectInCapture(mode, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false, call);
    };
    expectEnded([&] { return cuStreamQuery(stream_); });
    expectEnded([&] { return cuStreamSynchronize(stream_); });
    expectEnded([&] { return cuCtxSynchronize(); });
    expectEnded([&] { return cuCtxRecordEvent(context, outside_); });
    expectEnded([&] { return cuCtxWaitEvent(context, outside_); });
    expectEnded([&] { return cuStreamAddCallback(stream_, nothingEither, nullptr, 0); });
    expectEnded([&] { return cuMemcpyPeerAsync(memory_, context, memory_ + 64, context, 4, stream_); });
  }
}

// 84, 140
TEST_F(Capture, TheLegacyStreamIsForbiddenWhileABlockingStreamCaptures) {
  Bytes pageable(64);
  for (auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const auto expectImplicit = [&](auto call) {
      expectInCapture(mode, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false, call);
    };
    expectImplicit([&] { return cuMemcpyHtoD(memory_, pageable.data(), 4); });
    expectImplicit([&] { return cuMemsetD8(memory_, 1, 4); });
    expectImplicit([&] { return cuMemsetD8Async(memory_, 1, 4, nullptr); });
    expectImplicit([&] { return cuStreamQuery(nullptr); });
    expectImplicit([&] { return cuEventRecord(outside_, nullptr); });
    expectInCapture(mode, CUDA_SUCCESS, true, [&] { return cuMemsetD8Async(memory_, 0, 4, other_); });
  }
  begin(free_);
  EXPECT_OK(cuMemcpyHtoD(memory_, pageable.data(), 4)) << "a non-blocking stream does not mind";
  EXPECT_OK(cuMemsetD8Async(memory_, 0, 4, nullptr));
  EXPECT_OK(cuGraphDestroy(end(free_)));
  EXPECT_OK(cuStreamSynchronize(nullptr));
  const ManagedBuffer managed(4096);
  expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
                  [&] { return cuStreamAttachMemAsync(stream_, managed, 0, CU_MEM_ATTACH_SINGLE); });
}

TEST_F(Capture, BadArgumentsAreRefusedAndTheCaptureGoesOnUnlessItWasALaunch) {
  expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE, true,
                  [&] { return cuMemcpyDtoDAsync(memory_, memory_ + 4096, 4096, stream_); });
  expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE, false,
                  [&] { return cuLaunchKernel(kernel("trap"), 1, 1, 1, 5000, 1, 1, 0, stream_, nullptr, nullptr); });
}

TEST_F(Capture, ForksJoinOverEvents) {
  begin(stream_);
  fill(stream_);
  ASSERT_OK(cuEventRecord(captured_, stream_));
  ASSERT_OK(cuStreamWaitEvent(other_, captured_, 0));
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  fill(other_);
  fill(stream_);
  ASSERT_OK(cuEventRecord(back_, other_));
  ASSERT_OK(cuStreamWaitEvent(stream_, back_, 0));
  fill(stream_);
  EXPECT_EQ(endShape(stream_), (Shape{std::vector<CUgraphNodeType>(4, CU_GRAPH_NODE_TYPE_MEMSET), 4}));
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Capture, WorkThatIsNotJoinedIsAnError) {
  const auto fork = [&] {
    begin(stream_);
    fill(stream_);
    ASSERT_OK(cuEventRecord(captured_, stream_));
    ASSERT_OK(cuStreamWaitEvent(other_, captured_, 0));
  };
  fork();
  fill(other_);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
  fork();
  EXPECT_EQ(endShape(stream_).types.size(), 1u) << "a fork without work needs no join";
  fork();
  fill(other_);
  ASSERT_OK(cuEventRecord(back_, other_));
  ASSERT_OK(cuStreamWaitEvent(stream_, back_, 0));
  fill(other_);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  fork();
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// As NCCL leaves its own streams behind: a fork that ends with a node which the application added to the graph.
TEST_F(Capture, NodesThatTheApplicationAddedNeedNotBeJoined) {
  const auto fork = [&](CUgraph& graph, CUgraphNode& last) {
    begin(stream_);
    fill(stream_);
    ASSERT_OK(cuEventRecord(captured_, stream_));
    ASSERT_OK(cuStreamWaitEvent(other_, captured_, 0));
    CUstreamCaptureStatus status;
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
    ASSERT_OK(cuStreamGetCaptureInfo(other_, &status, nullptr, &graph, &nodes, nullptr, &count));
    ASSERT_EQ(count, 1u);
    ASSERT_OK(cuGraphAddEventRecordNode(&last, graph, nodes, count, outside_));
    ASSERT_OK(cuStreamUpdateCaptureDependencies(other_, &last, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  };
  CUgraph graph = nullptr;
  CUgraphNode last = nullptr;
  fork(graph, last);
  EXPECT_EQ(endShape(stream_).types.size(), 2u);
  fork(graph, last);
  fill(other_);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  fork(graph, last);
  fill(other_);
  ASSERT_OK(cuStreamUpdateCaptureDependencies(other_, &last, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  EXPECT_EQ(endShape(stream_).types.size(), 3u) << "work that was taken out of the dependencies";
}

TEST_F(Capture, CapturesDoNotMergeAndDoNotWaitForWhatIsOutside) {
  begin(stream_);
  begin(other_);
  ASSERT_OK(cuEventRecord(captured_, stream_));
  EXPECT_EQ(cuStreamWaitEvent(other_, captured_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  expectEnd(other_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_OK(cuEventRecord(outside_, free_));
  expectInCapture(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, false,
                  [&] { return cuStreamWaitEvent(stream_, outside_, 0); });
}

TEST_F(Capture, EventsOfACaptureCannotBeAsked) {
  begin(stream_);
  ASSERT_OK(cuEventRecord(captured_, stream_));
  EXPECT_EQ(cuEventQuery(captured_), CUDA_ERROR_CAPTURED_EVENT);
  expectEnd(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_INVALID_VALUE(cuEventQuery(captured_)) << "the capture is over";
  EXPECT_INVALID_VALUE(cuEventSynchronize(captured_));
  EXPECT_INVALID_VALUE(cuStreamWaitEvent(other_, captured_, 0));
  ASSERT_OK(cuEventRecord(captured_, other_));
  EXPECT_OK(cuEventSynchronize(captured_));
}

TEST_F(Capture, DependenciesAreAskedAndSet) {
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 77;
  ASSERT_OK(cuStreamGetCaptureInfo(stream_, &status, &id, &graph, &nodes, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(count, 77u) << "a stream that does not capture has nothing more to say";
  begin(stream_);
  fill(stream_);
  ASSERT_OK(cuStreamGetCaptureInfo(stream_, &status, &id, &graph, &nodes, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(count, 1u);
  CUgraphNode first = nodes[0], empty = nullptr;
  fill(stream_);
  ASSERT_OK(cuStreamUpdateCaptureDependencies(stream_, &first, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  fill(stream_);
  ASSERT_OK(cuStreamUpdateCaptureDependencies(stream_, &first, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  ASSERT_OK(cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &edges, &count));
  EXPECT_EQ(count, 2u);
  ASSERT_OK(cuGraphAddEmptyNode(&empty, graph, nodes, count));
  ASSERT_OK(cuStreamUpdateCaptureDependencies(stream_, &empty, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  fill(stream_);
  EXPECT_INVALID_VALUE(cuStreamUpdateCaptureDependencies(stream_, &empty, nullptr, 1, 2));
  EXPECT_INVALID_VALUE(cuStreamUpdateCaptureDependencies(stream_, nullptr, nullptr, 1, 0));
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(other_, &empty, nullptr, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
  // 1 -> 2, 1 -> 3, {1, 3} -> empty -> 5
  EXPECT_EQ(endShape(stream_).edges, 5u);
}

TEST_F(Capture, IntoAGraphOfTheApplication) {
  CUgraph graph = nullptr, ended = nullptr;
  CUgraphNode roots[2];
  ASSERT_OK(cuGraphCreate(&graph, 0));
  for (CUgraphNode& root : roots) ASSERT_OK(cuGraphAddEmptyNode(&root, graph, nullptr, 0));
  EXPECT_INVALID_VALUE(
      cuStreamBeginCaptureToGraph(stream_, nullptr, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(cuStreamBeginCaptureToGraph(stream_, graph, roots, nullptr, 2, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cuStreamBeginCaptureToGraph(other_, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_ILLEGAL_STATE);
  fill(stream_);
  ASSERT_OK(cuStreamEndCapture(stream_, &ended));
  EXPECT_EQ(ended, graph);
  EXPECT_EQ(shapeOf(graph).edges, 2u);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(Capture, BeginsOnceAndNotInTheLegacyStream) {
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_INVALID_VALUE(cuStreamBeginCapture(stream_, static_cast<CUstreamCaptureMode>(3)));
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  expectInCapture(CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_ILLEGAL_STATE, true,
                  [&] { return cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED); });
  begin(CU_STREAM_PER_THREAD);
  EXPECT_OK(cuGraphDestroy(end(CU_STREAM_PER_THREAD)));
}

TEST_F(Capture, OtherThreadsAreHeldByGlobalCapturesOnly) {
  const auto elsewhere = [&](CUstreamCaptureMode threadMode) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuCtxSetCurrent(context);
      cuThreadExchangeStreamCaptureMode(&threadMode);
      result = cuStreamQuery(free_);
    }).join();
    return result;
  };
  constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL, kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                 kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  for (auto mode : {kGlobal, kLocal, kRelaxed})
    for (auto threadMode : {kGlobal, kLocal, kRelaxed}) {
      SCOPED_TRACE("capture " + std::to_string(mode) + ", thread " + std::to_string(threadMode));
      const bool forbidden = mode == kGlobal && threadMode == kGlobal;
      expectInCapture(mode, forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS, !forbidden,
                      [&] { return elsewhere(threadMode); });
    }
}

TEST_F(Capture, OnlyARelaxedOneMayEndInAnotherThread) {
  for (auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    begin(stream_, mode);
    CUresult result = CUDA_ERROR_UNKNOWN;
    CUgraph graph = nullptr;
    std::thread([&] { result = cuStreamEndCapture(stream_, &graph); }).join();
    const bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(result, relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    EXPECT_EQ(graph != nullptr, relaxed);
    if (graph) {
      EXPECT_OK(cuGraphDestroy(graph));
    }
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  }
}

TEST_F(Capture, AStreamMayEndWhileItCaptures) {
  CUstream gone = nullptr;
  ASSERT_OK(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
  begin(gone, CU_STREAM_CAPTURE_MODE_GLOBAL);
  fill(gone);
  EXPECT_OK(cuStreamDestroy(gone));
  CUdeviceptr made = 0;
  EXPECT_OK(cuMemAlloc(&made, 64)) << "its capture is over";
  EXPECT_OK(cuMemFree(made));
  EXPECT_OK(cuMemsetD8(memory_, 0, 4));
}

// One random piece of work on `memory` (4096 bytes, the second half read as source too).
void randomWork(std::mt19937& random, CUdeviceptr memory, CUstream stream) {
  const size_t bytes = 4 * (1 + random() % 200), to = 4 * (random() % 800), from = 4 * (random() % 800);
  switch (random() % 5) {
    case 0:
      EXPECT_OK(cuMemsetD8Async(memory + to, static_cast<uint8_t>(random()), bytes, stream));
      break;
    case 1:
      EXPECT_OK(cuMemsetD32Async(memory + to, random(), bytes / 4, stream));
      break;
    case 2:
      if (from < to + bytes && to < from + bytes) break;  // copies that overlap are not defined
      EXPECT_OK(cuMemcpyDtoDAsync(memory + to, memory + from, bytes, stream));
      break;
    case 3:
      launchStore(stream, memory + to, random());
      break;
    case 4:
      EXPECT_OK(cuStreamWriteValue32(stream, memory + to, random(), 0));
      break;
  }
}

TEST_F(Capture, RandomSequencesGiveTheSameBytesAsGraphsAndRunDirectly) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Bytes start = pattern(4096, seed);
    Bytes results[2];
    for (const bool captured : {false, true}) {
      std::mt19937 random(seed);
      memory_.write(start);
      if (captured) begin(stream_);
      for (int step = 0; step < 30; ++step) {
        // Sometimes a piece runs in a forked stream, which is joined at once.
        const bool forked = random() % 3 == 0;
        if (forked) {
          EXPECT_OK(cuEventRecord(captured_, stream_));
          EXPECT_OK(cuStreamWaitEvent(other_, captured_, 0));
        }
        randomWork(random, memory_, forked ? other_ : stream_);
        if (forked) {
          EXPECT_OK(cuEventRecord(back_, other_));
          EXPECT_OK(cuStreamWaitEvent(stream_, back_, 0));
        }
      }
      if (captured) {
        CUgraph graph = end(stream_);
        CUgraphExec exec = nullptr;
        ASSERT_OK(cuGraphInstantiate(&exec, graph, 0));
        EXPECT_EQ(memory_.read(), start) << "captured work does not run";
        ASSERT_OK(cuGraphLaunch(exec, stream_));
        stream_.synchronize();
        EXPECT_OK(cuGraphExecDestroy(exec));
        EXPECT_OK(cuGraphDestroy(graph));
      }
      stream_.synchronize();
      results[captured] = memory_.read();
    }
    ASSERT_EQ(results[0], results[1]);
  }
}

TEST_F(Capture, APageableSourceIsReadWhenTheGraphRuns) {
  Bytes source(4, 1);
  begin(stream_);
  ASSERT_OK(cuMemcpyHtoDAsync(memory_, source.data(), 4, stream_));
  source.assign(4, 2);
  CUgraph graph = end(stream_);
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiate(&exec, graph, 0));
  source.assign(4, 3);
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  stream_.synchronize();
  EXPECT_EQ(readDevice(memory_, 4), Bytes(4, 3));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

}  // namespace
