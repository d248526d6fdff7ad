// Many threads that make, change, launch, update and destroy graphs at once, with handles that others may have ended:
// every call answers, nothing crashes or hangs, and afterwards everything works.
#include <atomic>
#include <random>
#include <thread>

#include "fixture.h"

namespace {

constexpr size_t kRegion = 4096, kSlots = 8;
constexpr unsigned kThreads = 4;

class GraphThreads : public GraphTest {
 protected:
  template <class Body>
  void inThreads(Body body) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back([this, t, &body] {
        EXPECT_OK(cuCtxSetCurrent(context));
        CUstream mine = nullptr;
        EXPECT_OK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
        body(t, mine);
        EXPECT_OK(cuStreamSynchronize(mine));
        EXPECT_OK(cuStreamDestroy(mine));
      });
    for (std::thread& thread : threads) thread.join();
  }
};

// All calls on all handles, whoever owns them. Answers depend on luck, so only the end is looked at. One stream for
// all, because graphs fill the same bytes.
TEST_F(GraphThreads, HandlesThatOthersEndAreAnswered) {
  std::atomic<CUgraph> graphs[kSlots] = {};
  std::atomic<CUgraphExec> execs[kSlots] = {};
  std::atomic<CUgraphNode> nodes[kSlots] = {};
  const CUdeviceptr memory = allocate(kRegion * kSlots);
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  inThreads([&](unsigned t, CUstream) {
    std::mt19937 random(t + 1);
    for (int i = 0; i < 3000; ++i) {
      auto& graphSlot = graphs[random() % kSlots];
      auto& execSlot = execs[random() % kSlots];
      auto& nodeSlot = nodes[random() % kSlots];
      const CUgraph given = graphSlot;
      const CUgraphExec exec = execSlot;
      const CUgraphNode before = nodeSlot;
      const size_t bytes = 1 + random() % kRegion;
      CUgraph made = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec instantiated = nullptr;
      const CUDA_MEMSET_NODE_PARAMS fill = fillOf(memory + random() % kSlots * kRegion, 7, bytes);
      const CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
      size_t count = 0;
      CUgraphExecUpdateResultInfo info;
      switch (random() % 15) {
        case 0:
          if (cuGraphCreate(&made, 0) == CUDA_SUCCESS) (void)cuGraphDestroy(graphSlot.exchange(made));
          break;
        case 1:
        case 2:
          if (cuGraphAddMemsetNode(&node, given, &before, random() % 2, &fill, context) == CUDA_SUCCESS)
            nodeSlot = node;
          break;
        case 3:
          if (cuGraphAddHostNode(&node, given, nullptr, 0, &host) == CUDA_SUCCESS) nodeSlot = node;
          break;
        case 4:
          if (cuGraphAddEventRecordNode(&node, given, &before, random() % 2, event) == CUDA_SUCCESS) nodeSlot = node;
          break;
        case 5:
          (void)cuGraphAddChildGraphNode(&node, given, nullptr, 0, graphs[random() % kSlots]);
          break;
        case 6:
          (void)cuGraphDestroyNode(before);
          break;
        case 7:
          if (cuGraphClone(&made, given) == CUDA_SUCCESS) (void)cuGraphDestroy(made);
          break;
        case 8:
        case 9:
          (void)cuGraphGetNodes(given, nullptr, &count);
          if (count < 300 && cuGraphInstantiate(&instantiated, given, 0) == CUDA_SUCCESS)
            (void)cuGraphExecDestroy(execSlot.exchange(instantiated));
          break;
        case 10:
        case 11:
          (void)cuGraphLaunch(exec, stream);
          break;
        case 12:
          (void)cuGraphExecUpdate(exec, given, &info);
          break;
        case 13:
          (void)cuGraphExecMemsetNodeSetParams(exec, before, &fill, context);
          (void)cuGraphNodeSetEnabled(exec, before, random() % 2);
          break;
        default:
          if (cuGraphGetNodes(given, nullptr, &count) == CUDA_SUCCESS && count > 50)
            (void)cuGraphDestroy(graphSlot.exchange(nullptr));
      }
    }
  });
  for (auto& exec : execs) (void)cuGraphExecDestroy(exec);
  for (auto& made : graphs) (void)cuGraphDestroy(made);
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuEventDestroy(event));

  addFill(graph, {}, fillOf(memory, 9, kRegion));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_EQ(read(memory, kRegion), std::vector<uint8_t>(kRegion, 9));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// What is launched runs to its end though it is destroyed at once.
TEST_F(GraphThreads, DestroyingDoesNotDisturbWhatIsQueued) {
  std::atomic<uint64_t> calls{0};
  const CUdeviceptr memory = allocate(kThreads * kRegion);
  inThreads([&](unsigned t, CUstream mine) {
    const CUdeviceptr region = memory + t * kRegion;
    for (unsigned i = 0; i < 150; ++i) {
      CUgraph made;
      EXPECT_OK(cuGraphCreate(&made, 0));
      CUgraphNode last = addFill(made, {}, fillOf(region, i, kRegion));
      last = addHost(
          made, {last}, [](void* data) { ++*static_cast<std::atomic<uint64_t>*>(data); }, &calls);
      addCopy(made, {last}, copyOf(region, region + kRegion / 2, kRegion / 2));
      CUgraphExec exec = instantiate(made);
      EXPECT_OK(cuGraphDestroy(made));
      for (int launches = 0; launches < 3; ++launches) EXPECT_OK(cuGraphLaunch(exec, mine));
      EXPECT_OK(cuGraphExecDestroy(exec));
    }
    EXPECT_OK(cuStreamSynchronize(mine));
    EXPECT_EQ(read(region, kRegion), std::vector<uint8_t>(kRegion, 149));
  });
  EXPECT_EQ(calls, uint64_t{kThreads} * 150 * 3);
}

TEST_F(GraphThreads, EachThreadHasItsCapture) {
  const CUdeviceptr memory = allocate(kThreads * kRegion);
  inThreads([&](unsigned t, CUstream mine) {
    const CUdeviceptr region = memory + t * kRegion;
    for (unsigned char i = 1; i < 100; ++i) {
      CUgraph captured = nullptr;
      CUdeviceptr scratch = 0;
      EXPECT_OK(cuStreamBeginCapture(mine, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      EXPECT_OK(cuMemAllocAsync(&scratch, kRegion, mine));
      EXPECT_OK(cuMemsetD8Async(scratch, i, kRegion, mine));
      EXPECT_OK(cuMemcpyDtoDAsync(region, scratch, kRegion, mine));
      EXPECT_OK(cuMemFreeAsync(scratch, mine));
      EXPECT_OK(cuStreamEndCapture(mine, &captured));
      CUgraphExec exec = instantiate(captured);
      EXPECT_OK(cuGraphDestroy(captured));
      EXPECT_OK(cuGraphLaunch(exec, mine));
      EXPECT_OK(cuGraphExecDestroy(exec));
    }
    EXPECT_OK(cuStreamSynchronize(mine));
    EXPECT_EQ(read(region, kRegion), std::vector<uint8_t>(kRegion, 99));
  });
}

// Events that graphs record while others record them in captures: the locks of captures, graphs and events meet.
TEST_F(GraphThreads, GraphsRecordEventsThatCapturesKnow) {
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  CUgraphNode record;
  ASSERT_OK(cuGraphAddEventRecordNode(&record, graph, nullptr, 0, event));
  CUgraphExec exec = instantiate(graph);
  inThreads([&](unsigned t, CUstream mine) {
    for (int i = 0; i < 300; ++i) {
      if (t % 2) {
        EXPECT_OK(cuGraphLaunch(exec, mine));
        (void)cuEventRecord(event, mine);
        continue;
      }
      CUgraph captured = nullptr;
      EXPECT_OK(cuStreamBeginCapture(mine, CU_STREAM_CAPTURE_MODE_RELAXED));
      EXPECT_OK(cuEventRecord(event, mine));
      EXPECT_OK(cuStreamEndCapture(mine, &captured));
      EXPECT_OK(cuGraphDestroy(captured));
    }
  });
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuEventSynchronize(event));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuEventDestroy(event));
}

}  // namespace
