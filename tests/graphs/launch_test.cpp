// Executable graphs at work: order, repetition, changes, memory, kernels, events.
#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.h"

namespace {

class GraphLaunch : public GraphTest {};

const char kStore[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n"
    ".visible .entry store(.param .u64 where, .param .u32 what) {\n"
    "  .reg .u64 %a; .reg .u32 %v;\n"
    "  ld.param.u64 %a, [where]; ld.param.u32 %v, [what]; st.global.u32 [%a], %v; ret; }\n";

TEST_F(GraphLaunch, ChainsOfEveryKindOfNodeRunInOrder) {
  const CUdeviceptr a = allocate(4096), b = allocate(4096);
  CUmodule module;
  CUfunction store;
  ASSERT_OK(cuModuleLoadData(&module, kStore));
  ASSERT_OK(cuModuleGetFunction(&store, module, "store"));
  uint32_t what = 0x04030201;
  void* arguments[] = {const_cast<CUdeviceptr*>(&a), &what};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = store;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments;
  std::vector<uint8_t> host(16, 0), seen(16, 0);

  CUgraphNode node = addFill(graph, {}, fillOf(a, 9, 4096));
  CUgraphNode k;
  ASSERT_OK(cuGraphAddKernelNode(&k, graph, &node, 1, &kernel));
  what = 0;  // the node has a copy
  node = addCopy(graph, {k}, copyOf(b, a, 4096));
  CUDA_MEMCPY3D down = copyOf(0, b, 16);
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = host.data();
  node = addCopy(graph, {node}, down);
  struct Look {
    std::vector<uint8_t>*from, *to;
  } look{&host, &seen};
  addHost(
      graph, {node}, [](void* data) { *static_cast<Look*>(data)->to = *static_cast<Look*>(data)->from; }, &look);

  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 3; ++round) {
    host.assign(16, 0), seen.assign(16, 0);
    run(exec);
    EXPECT_EQ(seen, (std::vector<uint8_t>{1, 2, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}));
  }
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuModuleUnload(module));
}

TEST_F(GraphLaunch, LaunchesOfOneExecutableFollowEachOtherWhateverTheirStreams) {
  struct Counter {
    std::atomic<int> inside{0}, most{0}, calls{0};
  } counter;
  addHost(
      graph, {},
      [](void* data) {
        auto& c = *static_cast<Counter*>(data);
        const int now = ++c.inside;
        if (now > c.most) c.most = now;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        --c.inside, ++c.calls;
      },
      &counter);
  CUgraphExec exec = instantiate(graph);
  CUstream streams[4];
  for (CUstream& s : streams) ASSERT_OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < 5; ++round)
    for (CUstream s : streams) EXPECT_OK(cuGraphLaunch(exec, s));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(counter.calls, 20);
  EXPECT_EQ(counter.most, 1);
  for (CUstream s : streams) EXPECT_OK(cuStreamDestroy(s));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunch, WhatIsQueuedRunsAsItWasWhenLaunched) {
  const CUdeviceptr a = allocate(64);
  std::atomic<bool> open{false};
  const auto wait = [](void* data) {
    while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
  };
  CUgraphNode fill = addFill(graph, {}, fillOf(a, 1, 64));
  CUgraphExec exec = instantiate(graph);
  ASSERT_OK(cuLaunchHostFunc(stream, wait, &open));
  ASSERT_OK(cuGraphLaunch(exec, stream));
  CUDA_MEMSET_NODE_PARAMS other = fillOf(a, 2, 32);
  EXPECT_OK(cuGraphExecMemsetNodeSetParams(exec, fill, &other, context));
  ASSERT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuGraphNodeSetEnabled(exec, fill, 0));
  EXPECT_OK(cuGraphExecDestroy(exec));
  open = true;
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(a, 1)[0], 2);
  EXPECT_EQ(read(a + 32, 1)[0], 1);
}

TEST_F(GraphLaunch, EventsOfAGraphAreReachedWhenItsNodeRuns) {
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  std::atomic<bool> open{false};
  CUgraphNode host = addHost(
      graph, {},
      [](void* data) {
        while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
      },
      &open);
  CUgraphNode record;
  ASSERT_OK(cuGraphAddEventRecordNode(&record, graph, &host, 1, event));
  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 3; ++round) {
    open = false;
    ASSERT_OK(cuGraphLaunch(exec, stream));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    open = true;
    EXPECT_OK(cuEventSynchronize(event));
    EXPECT_OK(cuEventQuery(event));
  }
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(GraphLaunch, MemoryOfGraphsLivesUntilItIsFreed) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  params.bytesize = 1000;
  CUgraphNode alloc;
  ASSERT_OK(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
  addFill(graph, {alloc}, fillOf(params.dptr, 7, 1000));
  CUgraphExec exec = instantiate(graph);
  EXPECT_INVALID(cuMemFree(params.dptr));
  run(exec);
  EXPECT_EQ(read(params.dptr, 1000), std::vector<uint8_t>(1000, 7));
  EXPECT_INVALID(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuMemFreeAsync(params.dptr, stream));
  run(exec);
  EXPECT_OK(cuGraphExecDestroy(exec));
  ASSERT_OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  run(exec);
  run(exec);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(read(params.dptr, 1000), std::vector<uint8_t>(1000, 7));
  EXPECT_OK(cuMemFree(params.dptr));
}

TEST_F(GraphLaunch, ManyThreadsLaunchAndChangeWithoutHarm) {
  const CUdeviceptr a = allocate(1 << 16);
  CUgraphNode fill = addFill(graph, {}, fillOf(a, 1, 1 << 12));
  for (int i = 0; i < 20; ++i) addFill(graph, {fill}, fillOf(a + (1 << 12), 2, 64));
  CUgraphExec exec = instantiate(graph);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      EXPECT_OK(cuCtxSetCurrent(context));
      CUstream mine;
      EXPECT_OK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
      for (int i = 0; i < 200; ++i) {
        CUDA_MEMSET_NODE_PARAMS other = fillOf(a, static_cast<unsigned>(t), 1 + static_cast<size_t>(i));
        EXPECT_OK(cuGraphExecMemsetNodeSetParams(exec, fill, &other, context));
        EXPECT_OK(cuGraphLaunch(exec, mine));
        CUgraphExec copy = instantiate(graph);
        EXPECT_OK(cuGraphLaunch(copy, mine));
        EXPECT_OK(cuGraphExecDestroy(copy));
      }
      EXPECT_OK(cuStreamDestroy(mine));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// Freed in stream order behind the launches, though the calls come before these have run; and handed out again.
TEST_F(GraphLaunch, MemoryMayBeFreedInStreamOrderBehindALaunch) {
  std::atomic<bool> open{false};
  const auto wait = [](void* data) {
    while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
  };
  const CUdeviceptr out = allocate(64);
  CUdeviceptr pooled = 0, plain = 0, again = 0;
  ASSERT_OK(cuMemAllocAsync(&pooled, 4096, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  ASSERT_OK(cuMemAlloc(&plain, 4096));
  CUgraphNode node = addFill(graph, {}, fillOf(pooled, 4, 64));
  node = addFill(graph, {node}, fillOf(plain, 5, 64));
  node = addCopy(graph, {node}, copyOf(out, pooled, 32));
  addCopy(graph, {node}, copyOf(out + 32, plain, 32));
  CUgraphExec exec = instantiate(graph);
  ASSERT_OK(cuLaunchHostFunc(stream, wait, &open));
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuMemFreeAsync(pooled, stream));
  EXPECT_OK(cuMemFreeAsync(plain, stream));
  EXPECT_OK(cuMemAllocAsync(&again, 4096, stream));
  EXPECT_OK(cuMemsetD8Async(again, 9, 4096, stream));
  open = true;
  ASSERT_OK(cuStreamSynchronize(stream));
  std::vector<uint8_t> expected(64, 4);
  std::fill(expected.begin() + 32, expected.end(), 5);
  EXPECT_EQ(read(out, 64), expected);
  EXPECT_EQ(read(again, 1)[0], 9);
  EXPECT_OK(cuMemFreeAsync(again, stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// A node names an address: whoever has it when the graph is launched is meant.
TEST_F(GraphLaunch, AddressesThatWereHandedOutAgainAreAsGood) {
  CUdeviceptr first = 0, second = 0;
  ASSERT_OK(cuMemAllocAsync(&first, 4096, stream));
  addFill(graph, {}, fillOf(first, 4, 64));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_OK(cuMemFreeAsync(first, stream));
  ASSERT_OK(cuMemAllocAsync(&second, 4096, stream));
  ASSERT_EQ(second, first);
  EXPECT_OK(cuMemsetD8Async(second, 0, 4096, stream));
  run(exec);
  EXPECT_EQ(read(second, 64), std::vector<uint8_t>(64, 4));
  EXPECT_OK(cuMemFreeAsync(second, stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// A chain, a fan and their joins: nothing may take more than linear time.
TEST_F(GraphLaunch, LargeGraphsAreMadeAndRunInLinearTime) {
  constexpr size_t kNodes = 20000;
  const CUdeviceptr a = allocate(kNodes), out = allocate(kNodes);
  Nodes fan;
  CUgraphNode root = addFill(graph, {}, fillOf(a, 1, kNodes));
  for (size_t i = 0; i < kNodes; ++i) fan.push_back(addFill(graph, {root}, fillOf(a + i, static_cast<unsigned>(i), 1)));
  CUgraphNode last = addFill(graph, fan, fillOf(a, 9, 1));
  for (size_t i = 0; i < kNodes; ++i) last = addCopy(graph, {last}, copyOf(out + i, a + i, 1));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  std::vector<uint8_t> expected(kNodes);
  for (size_t i = 0; i < kNodes; ++i) expected[i] = static_cast<uint8_t>(i);
  expected[0] = 9;
  EXPECT_EQ(read(out, kNodes), expected);
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunch, KernelsOfAnotherDeviceRunThereInTheirPlace) {
  CUcontext second;
  CUdevice other;
  if (cuDeviceGet(&other, 1) != CUDA_SUCCESS) GTEST_SKIP() << "needs two devices";
  ASSERT_OK(cuDevicePrimaryCtxRetain(&second, other));
  ASSERT_OK(cuCtxPushCurrent(second));
  CUmodule module;
  CUfunction store;
  CUdeviceptr there = 0;
  ASSERT_OK(cuModuleLoadData(&module, kStore));
  ASSERT_OK(cuModuleGetFunction(&store, module, "store"));
  ASSERT_OK(cuMemAlloc(&there, 8));
  ASSERT_OK(cuCtxPopCurrent(nullptr));
  const CUdeviceptr here = allocate(8);
  uint32_t what = 0x01020304;
  void* arguments[] = {&there, &what};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = store;
  kernel.ctx = second;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments;
  CUgraphNode node = addFill(graph, {}, fillOf(there, 7, 8));
  CUgraphNode launched;
  ASSERT_OK(cuGraphAddKernelNode(&launched, graph, &node, 1, &kernel));
  addCopy(graph, {launched}, copyOf(here, there, 8));
  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK(cuMemsetD8(here, 0, 8));
    ASSERT_OK(cuCtxSynchronize());  // on a real GPU the fill may come later, and the run does not wait for it
    run(exec);
    EXPECT_EQ(read(here, 8), (std::vector<uint8_t>{4, 3, 2, 1, 7, 7, 7, 7}));
  }
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuMemFree(there));
  EXPECT_OK(cuModuleUnload(module));
  EXPECT_OK(cuDevicePrimaryCtxRelease(other));
}

}  // namespace
