// Green contexts: divisions of a device that has 132 multiprocessors and 8 workers, and what is theirs alone. What
// every call answers is recorded from the vendor's driver: the conformance probe's group "green".
#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

extern "C" CUresult cuCtxCreate_v3(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice);  // not the newest

namespace {

// smids(out): out[block] = multiprocessor of the block, after a while.
constexpr char kSmidText[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry smids(.param .u64 out)
{
  .reg .u64 %a, %o;
  .reg .u32 %b, %s, %n;
  .reg .pred %p;
  ld.param.u64 %a, [out];
  cvta.to.global.u64 %a, %a;
  mov.u32 %b, %ctaid.x;
  mul.wide.u32 %o, %b, 4;
  add.u64 %a, %a, %o;
  mov.u32 %n, 0;
again:
  add.u32 %n, %n, 1;
  st.volatile.global.u32 [%a], %n;
  setp.lt.u32 %p, %n, 20000;
  @%p bra again;
  mov.u32 %s, %smid;
  st.global.u32 [%a], %s;
  ret;
}
)";

CUdevResource whole(CUdevice device = 0) {
  CUdevResource resource{};
  EXPECT_EQ(cuDeviceGetDevResource(device, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  return resource;
}

CUgreenCtx makeGreen(unsigned least, CUdevice device = 0) {
  const CUdevResource all = whole(device);
  CUdevResource part{};
  unsigned count = 1;
  EXPECT_EQ(cuDevSmResourceSplitByCount(&part, &count, &all, nullptr, 0, least), CUDA_SUCCESS);
  CUdevResourceDesc description = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, &part, 1), CUDA_SUCCESS);
  CUgreenCtx green = nullptr;
  EXPECT_EQ(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  return green;
}

CUcontext contextOf(CUgreenCtx green) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
  return context;
}

unsigned multiprocessorsOf(CUgreenCtx green) {
  CUdevResource resource{};
  EXPECT_EQ(cuGreenCtxGetDevResource(green, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  return resource.sm.smCount;
}

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

// Holds a stream's work up until it is let go.
struct Gate {
  std::atomic<bool> open{false};
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open.load()) std::this_thread::yield();
  }
  void close(CUstream stream) { ASSERT_EQ(cuLaunchHostFunc(stream, wait, this), CUDA_SUCCESS); }
};

class GreenTest : public PrimaryTest {};

TEST_F(GreenTest, PartsAndTheRestTogetherAreTheWholeDevice) {
  const CUdevResource all = whole();
  std::array<CUdevResource, 4> parts{};
  CUdevResource rest{};
  unsigned count = parts.size();
  OK(cuDevSmResourceSplitByCount(parts.data(), &count, &all, &rest, 0, 20));
  ASSERT_EQ(count, 4u);
  CUdevResourceDesc description = nullptr;
  std::vector<CUdevResource> everything(parts.begin(), parts.end());
  everything.push_back(rest);
  OK(cuDevResourceGenerateDesc(&description, everything.data(), 5));
  CUgreenCtx green = nullptr;
  OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  EXPECT_EQ(multiprocessorsOf(green), 132u);
  OK(cuGreenCtxDestroy(green));
}

TEST_F(GreenTest, APartGivenTwiceCountsOnce) {
  const CUdevResource all = whole();
  CUdevResource part{};
  unsigned count = 1;
  OK(cuDevSmResourceSplitByCount(&part, &count, &all, nullptr, 0, 16));
  CUdevResource twice[] = {part, part};
  CUdevResourceDesc one = nullptr, two = nullptr;
  OK(cuDevResourceGenerateDesc(&one, &part, 1));
  OK(cuDevResourceGenerateDesc(&two, twice, 2));
  EXPECT_EQ(one, two);
  CUgreenCtx green = nullptr;
  OK(cuGreenCtxCreate(&green, two, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  EXPECT_EQ(multiprocessorsOf(green), 16u);
  OK(cuGreenCtxDestroy(green));
}

TEST_F(GreenTest, ResourcesMadeByHandAndOfOtherDevicesAreRefused) {
  CUdevResource all = whole();
  CUdevResource mixed[] = {all, whole(1)};
  CUdevResourceDesc description = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, mixed, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  OK(cuDevResourceGenerateDesc(&description, &all, 1));
  CUgreenCtx green = nullptr;
  EXPECT_NE(cuGreenCtxCreate(&green, description, 1, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  all.sm.smCount = 64;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, &all, 1), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_NE(cuGreenCtxCreate(&green, reinterpret_cast<CUdevResourceDesc>(&all), 0, CU_GREEN_CTX_DEFAULT_STREAM),
            CUDA_SUCCESS);
}

TEST_F(GreenTest, TheStackKnowsGreenContextsFromTheirPrimaryOne) {
  const CUgreenCtx one = makeGreen(8), other = makeGreen(8);
  for (int round = 0; round < 6; ++round) {  // deeper than what a thread keeps in place
    OK(cuCtxPushCurrent(contextOf(one)));
    OK(cuCtxPushCurrent(primary));
    OK(cuCtxPushCurrent(contextOf(other)));
  }
  for (int round = 0; round < 6; ++round)
    for (const CUcontext expected : {contextOf(other), primary, contextOf(one)}) {
      EXPECT_EQ(current(), expected);
      CUcontext popped = nullptr;
      OK(cuCtxPopCurrent(&popped));
      EXPECT_EQ(popped, expected);
    }
  EXPECT_EQ(current(), primary);
  OK(cuGreenCtxDestroy(one));
  OK(cuGreenCtxDestroy(other));
}

TEST_F(GreenTest, MemoryModulesAndEventsAreThePrimaryContexts) {
  const CUgreenCtx green = makeGreen(16);
  OK(cuCtxSetCurrent(contextOf(green)));
  CUdeviceptr memory = 0;
  OK(cuMemAlloc(&memory, 256));
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, kSmidText));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  OK(cuGreenCtxDestroy(green));
  OK(cuCtxSetCurrent(primary));
  OK(cuEventRecord(event, nullptr));
  OK(cuEventSynchronize(event));
  OK(cuEventDestroy(event));
  OK(cuModuleUnload(module));
  OK(cuMemFree(memory));
}

TEST_F(GreenTest, SynchronisingAGreenContextWaitsForItsStreamsOnly) {
  const CUgreenCtx green = makeGreen(16);
  CUstream outside = nullptr, inside = nullptr;
  OK(cuStreamCreate(&outside, CU_STREAM_NON_BLOCKING));
  OK(cuGreenCtxStreamCreate(&inside, green, CU_STREAM_NON_BLOCKING, 0));
  Gate gate;
  gate.close(outside);
  OK(cuCtxSetCurrent(contextOf(green)));
  OK(cuCtxSynchronize());
  EXPECT_EQ(cuStreamQuery(outside), CUDA_ERROR_NOT_READY);
  gate.open = true;
  Gate second;
  second.close(inside);
  std::thread opener([&] { second.open = true; });
  OK(cuCtxSetCurrent(primary));
  OK(cuCtxSynchronize());  // the primary context has the green ones' work too
  EXPECT_EQ(cuStreamQuery(inside), CUDA_SUCCESS);
  opener.join();
  OK(cuStreamDestroy(inside));
  OK(cuStreamDestroy(outside));
  OK(cuGreenCtxDestroy(green));
}

TEST_F(GreenTest, EveryGreenContextHasADefaultStreamOfItsOwn) {
  const CUgreenCtx one = makeGreen(16), other = makeGreen(16);
  unsigned long long ids[3] = {};
  const CUcontext contexts[] = {contextOf(one), contextOf(other), primary};
  for (int i = 0; i < 3; ++i) {
    OK(cuCtxSetCurrent(contexts[i]));
    OK(cuStreamGetId(CU_STREAM_LEGACY, &ids[i]));
  }
  EXPECT_EQ(std::set<unsigned long long>(ids, ids + 3).size(), 3u);
  // Work in one default stream does not hold up the other's.
  OK(cuCtxSetCurrent(contexts[0]));
  Gate gate;
  gate.close(nullptr);
  OK(cuCtxSetCurrent(contexts[1]));
  CUdeviceptr memory = 0;
  OK(cuMemAlloc(&memory, 64));
  OK(cuMemsetD8Async(memory, 1, 64, nullptr));
  OK(cuStreamSynchronize(nullptr));
  gate.open = true;
  OK(cuCtxSynchronize());
  OK(cuGreenCtxDestroy(one));
  OK(cuMemFree(memory));
  OK(cuGreenCtxDestroy(other));
}

TEST_F(GreenTest, RecordingCoversTheStreamsOfTheGreenContextAndNoOthers) {
  const CUgreenCtx one = makeGreen(16), other = makeGreen(16);
  CUstream busy = nullptr, waiting = nullptr;
  OK(cuGreenCtxStreamCreate(&busy, one, CU_STREAM_NON_BLOCKING, 0));
  OK(cuGreenCtxStreamCreate(&waiting, other, CU_STREAM_NON_BLOCKING, 0));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  Gate gate;
  gate.close(busy);
  OK(cuGreenCtxRecordEvent(other, event));
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  OK(cuGreenCtxRecordEvent(one, event));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  OK(cuCtxRecordEvent(primary, event));  // which has the green ones' streams
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  OK(cuGreenCtxWaitEvent(other, event));
  CUdeviceptr memory = 0;
  OK(cuMemAlloc(&memory, 64));
  OK(cuMemsetD8Async(memory, 1, 64, waiting));
  EXPECT_EQ(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(waiting));
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  OK(cuEventDestroy(event));
  OK(cuMemFree(memory));
  OK(cuStreamDestroy(busy));
  OK(cuStreamDestroy(waiting));
  OK(cuGreenCtxDestroy(one));
  OK(cuGreenCtxDestroy(other));
}

// Two of eight workers stand for 33 of 132 multiprocessors.
TEST_F(GreenTest, KernelsRunOnTheShareOfTheWorkers) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  OK(cuModuleLoadData(&module, kSmidText));
  OK(cuModuleGetFunction(&kernel, module, "smids"));
  constexpr unsigned kBlocks = 64;
  CUdeviceptr out = 0;
  OK(cuMemAlloc(&out, kBlocks * 4));
  for (const auto& [least, workers] : {std::pair{8u, 1u}, std::pair{33u, 2u}, std::pair{66u, 4u}}) {
    const CUgreenCtx green = makeGreen(least);
    CUstream stream = nullptr;
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    void* arguments[] = {&out};
    unsigned smids[kBlocks];
    OK(cuLaunchKernel(kernel, kBlocks, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    OK(cuMemcpyDtoHAsync(smids, out, sizeof smids, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT_LE(std::set<unsigned>(smids, smids + kBlocks).size(), workers) << least;
    OK(cuStreamDestroy(stream));
    OK(cuGreenCtxDestroy(green));
  }
  OK(cuMemFree(out));
  OK(cuModuleUnload(module));
}

TEST_F(GreenTest, CooperativeGridsMustFitOnThePart) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  OK(cuModuleLoadData(&module, kSmidText));
  OK(cuModuleGetFunction(&kernel, module, "smids"));
  int each = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, 1024, 0));
  CUdeviceptr out = 0;
  OK(cuMemAlloc(&out, 132 * 8 * 4));
  const CUgreenCtx green = makeGreen(8);
  CUstream stream = nullptr;
  OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  void* arguments[] = {&out};
  const auto most = static_cast<unsigned>(8 * each);
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel, most + 1, 1, 1, 1024, 1, 1, 0, stream, arguments),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  OK(cuLaunchCooperativeKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments));
  OK(cuStreamSynchronize(stream));
  OK(cuStreamDestroy(stream));
  OK(cuGreenCtxDestroy(green));
  OK(cuMemFree(out));
  OK(cuModuleUnload(module));
}

TEST_F(GreenTest, CapturesInAGreenContextGoOnBesideOthers) {
  const CUgreenCtx green = makeGreen(8);
  OK(cuCtxSetCurrent(contextOf(green)));
  CUstream blocking = nullptr;
  OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuLaunchHostFunc(
      blocking, [](void*) {}, nullptr));
  OK(cuStreamQuery(nullptr));  // its own default stream: captures do not get in its way
  CUgraph graph = nullptr;
  OK(cuCtxSetCurrent(primary));
  OK(cuStreamQuery(nullptr));  // another's
  OK(cuStreamEndCapture(blocking, &graph));
  OK(cuGraphDestroy(graph));
  OK(cuStreamDestroy(blocking));
  OK(cuGreenCtxDestroy(green));
}

TEST_F(GreenTest, WhatHasEndedSaysSoEverywhere) {
  const CUgreenCtx green = makeGreen(8);
  const CUcontext context = contextOf(green);
  CUstream stream = nullptr;
  OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  OK(cuCtxSetCurrent(context));
  OK(cuGreenCtxDestroy(green));
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  unsigned version = 0;
  EXPECT_EQ(cuCtxGetApiVersion(context, &version), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuStreamDestroy(stream));
  CUcontext popped = nullptr;
  OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, context);
}

TEST_F(GreenTest, ThePrimaryContextIsNotResetMeanwhile) {
  const CUgreenCtx green = makeGreen(8);
  OK(cuCtxSetCurrent(contextOf(green)));
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_ERROR_NOT_PERMITTED);
  CUdeviceptr memory = 0;
  OK(cuMemAlloc(&memory, 64));
  OK(cuMemFree(memory));
  OK(cuGreenCtxDestroy(green));
  OK(cuCtxSetCurrent(primary));
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
}

TEST_F(GreenTest, ThousandsComeAndGo) {
  for (int round = 0; round < 2000; ++round) {
    const CUgreenCtx green = makeGreen(8, round % 2);
    OK(cuCtxSetCurrent(contextOf(green)));
    OK(cuStreamSynchronize(nullptr));
    EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
    OK(cuGreenCtxDestroy(green));
  }
  OK(cuCtxSetCurrent(primary));
}

TEST_F(GreenTest, ThreadsUseThemAtOnce) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        const CUgreenCtx green = makeGreen(8);
        ASSERT_EQ(cuCtxSetCurrent(contextOf(green)), CUDA_SUCCESS);
        CUdeviceptr memory = 0;
        ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
        ASSERT_EQ(cuMemsetD8Async(memory, 3, 4096, nullptr), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        ASSERT_EQ(cuMemFree(memory), CUDA_SUCCESS);
        ASSERT_EQ(cuGreenCtxDestroy(green), CUDA_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GreenTest, AffinitiesAreRefusedWhereTheDeviceHasNone) {
  int supported = 1;
  OK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(supported, 0);
  CUexecAffinityParam affinity{CU_EXEC_AFFINITY_TYPE_SM_COUNT, {{16}}};
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate_v3(&context, &affinity, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  CUctxCreateParams params{&affinity, 1, nullptr};
  EXPECT_EQ(cuCtxCreate_v4(&context, &params, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  EXPECT_EQ(cuCtxCreate_v4(&context, &params, 0, 99), CUDA_ERROR_INVALID_DEVICE);
  params.numExecAffinityParams = 0;  // asks for nothing
  OK(cuCtxCreate_v4(&context, &params, 0, 0));
  OK(cuCtxDestroy(context));
}

}  // namespace
