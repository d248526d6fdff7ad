// The library of profilers, used as public profilers use it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "library.h"

namespace vg::cupti::test {
namespace {

constexpr unsigned kLaunchCallback = 307;  // cuLaunchKernel

class Cupti : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(library(), nullptr) << dlerror();
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&addOne, module, "addOne"), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory, 0, 4096), CUDA_SUCCESS);
  }
  void SetUp() override {
    ASSERT_EQ(cupti("cuptiActivityRegisterCallbacks", &requestBuffer, &completeBuffer), CUPTI_SUCCESS);
    eachRecord([](const CUpti_Activity*) {});
    kept().bufferBytes = 1 << 16;
  }
  void TearDown() override {
    cupti("cuptiFinalize");
    eachRecord([](const CUpti_Activity*) {});
  }

  static void enable(std::initializer_list<CUpti_ActivityKind> kinds) {
    for (const CUpti_ActivityKind kind : kinds) ASSERT_EQ(cupti("cuptiActivityEnable", kind), CUPTI_SUCCESS) << kind;
  }
  static CUresult launch(CUstream stream = nullptr, unsigned blocks = 1) {
    unsigned count = 32;
    void* arguments[] = {&memory, &count};
    return cuLaunchKernel(addOne, blocks, 1, 1, 32, 1, 1, 64, stream, arguments, nullptr);
  }

  static inline CUcontext context;
  static inline CUmodule module;
  static inline CUfunction addOne;
  static inline CUdeviceptr memory;
};

TEST_F(Cupti, HasEveryName) {
  std::ifstream names(VERDIGRIS_CUPTI_SYMBOLS);
  std::string name;
  unsigned count = 0;
  for (; names >> name; ++count) EXPECT_NE(dlsym(library(), name.c_str()), nullptr) << name;
  EXPECT_EQ(count, 223u);
}

TEST_F(Cupti, SaysWhatIsNotThere) {
  EXPECT_EQ(cupti("cuptiProfilerInitialize", nullptr), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cupti("cuptiPCSamplingEnable", nullptr), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cupti("cuptiEventGroupCreate", context, nullptr, 0u), CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
  EXPECT_EQ(cupti("cuptiActivityEnable", uint32_t{30}), CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);  // samples
  EXPECT_EQ(cupti("cuptiActivityEnable", uint32_t{0}), CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(cupti("cuptiGetLastError"), CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(cupti("cuptiGetLastError"), CUPTI_SUCCESS);
}

TEST_F(Cupti, NamesResultsAndCallbacks) {
  const char* text = nullptr;
  ASSERT_EQ(cupti("cuptiGetResultString", CUPTI_ERROR_INVALID_KIND, &text), CUPTI_SUCCESS);
  EXPECT_STREQ(text, "CUPTI_ERROR_INVALID_KIND");
  EXPECT_EQ(cupti("cuptiGetErrorMessage", CUPTI_ERROR_INVALID_KIND, &text), CUPTI_SUCCESS);
  EXPECT_EQ(cupti("cuptiGetResultString", uint32_t{500}, &text), CUPTI_ERROR_INVALID_PARAMETER);
  ASSERT_EQ(cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCallback, &text), CUPTI_SUCCESS);
  EXPECT_STREQ(text, "cuLaunchKernel");
  ASSERT_EQ(cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_RUNTIME_API, 211u, &text), CUPTI_SUCCESS);
  EXPECT_STREQ(text, "cudaLaunchKernel_v7000");
  EXPECT_EQ(cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_DRIVER_API, 99999u, &text), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Cupti, RecordsOfWorkBelongToTheirCalls) {
  enable({CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
          CUPTI_ACTIVITY_KIND_MEMSET});
  uint64_t before = 0, after = 0;
  cupti("cuptiGetTimestamp", &before);
  CUstream stream;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(launch(stream, 3), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32Async(memory, 7, 16, stream), CUDA_SUCCESS);
  uint32_t values[16];
  ASSERT_EQ(cuMemcpyDtoHAsync(values, memory, sizeof values, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  uint32_t streamId = 0, contextId = 0;
  ASSERT_EQ(cupti("cuptiGetStreamId", context, stream, &streamId), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiGetContextId", context, &contextId), CUPTI_SUCCESS);
  cupti("cuptiGetTimestamp", &after);

  std::map<uint32_t, std::string> calls;
  std::vector<CUpti_ActivityKernel13> kernels;
  std::vector<CUpti_ActivityMemcpy7> copies;
  std::vector<CUpti_ActivityMemset5> fills;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
      const auto* const call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
      const char* name = "";
      cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &name);
      calls[call->correlationId] = name;
      EXPECT_LE(before, call->start);
      EXPECT_LE(call->start, call->end);
      EXPECT_EQ(call->returnValue, 0u);
    }
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      kernels.push_back(*reinterpret_cast<const CUpti_ActivityKernel13*>(record));
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
      copies.push_back(*reinterpret_cast<const CUpti_ActivityMemcpy7*>(record));
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET)
      fills.push_back(*reinterpret_cast<const CUpti_ActivityMemset5*>(record));
  });
  ASSERT_EQ(kernels.size(), 1u);
  const CUpti_ActivityKernel13& kernel = kernels[0];
  EXPECT_STREQ(kernel.name, "addOne");
  EXPECT_EQ(calls[kernel.correlationId], "cuLaunchKernel");
  EXPECT_EQ(kernel.gridX, 3);
  EXPECT_EQ(kernel.blockX, 32);
  EXPECT_EQ(kernel.dynamicSharedMemory, 64);
  EXPECT_EQ(kernel.streamId, streamId);
  EXPECT_EQ(kernel.contextId, contextId);
  EXPECT_LE(before, kernel.start);
  EXPECT_LT(kernel.start, kernel.end);
  EXPECT_LE(kernel.end, after);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(calls[fills[0].correlationId], "cuMemsetD32Async");
  EXPECT_EQ(fills[0].bytes, 64u);
  EXPECT_EQ(fills[0].value, 7u);
  EXPECT_EQ(fills[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(fills[0].flags, 1u);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(calls[copies[0].correlationId], "cuMemcpyDtoHAsync_v2");
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  EXPECT_EQ(copies[0].bytes, sizeof values);
  EXPECT_LE(kernel.end, copies[0].start);
  cuStreamDestroy(stream);
}

TEST_F(Cupti, ExternalNumbersStandBeforeTheirCalls) {
  enable({CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  const auto custom0 = static_cast<CUpti_ExternalCorrelationKind>(3),
             custom1 = static_cast<CUpti_ExternalCorrelationKind>(4);
  const auto push = [](CUpti_ExternalCorrelationKind kind, uint64_t id) {
    return cupti("cuptiActivityPushExternalCorrelationId", kind, id);
  };
  ASSERT_EQ(push(custom0, 11), CUPTI_SUCCESS);
  ASSERT_EQ(push(custom0, 12), CUPTI_SUCCESS);
  ASSERT_EQ(push(custom1, 13), CUPTI_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  std::thread([] { cuCtxSetCurrent(context); }).join();  // its numbers are its own: none
  uint64_t last = 0;
  const auto pop = [&last](CUpti_ExternalCorrelationKind kind) {
    return cupti("cuptiActivityPopExternalCorrelationId", kind, &last);
  };
  ASSERT_EQ(pop(custom0), CUPTI_SUCCESS);
  EXPECT_EQ(last, 12u);
  ASSERT_EQ(pop(custom0), CUPTI_SUCCESS);
  ASSERT_EQ(pop(custom1), CUPTI_SUCCESS);
  EXPECT_EQ(pop(custom1), CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(push(static_cast<CUpti_ExternalCorrelationKind>(9), 1), CUPTI_ERROR_INVALID_PARAMETER);

  std::vector<std::pair<uint32_t, uint64_t>> numbers;  // kind and number, in order
  std::vector<uint32_t> of;
  unsigned numbersBefore = 0;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
      const auto* const external = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      numbers.emplace_back(external->externalKind, external->externalId);
      of.push_back(external->correlationId);
    }
    if (record->kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
    const auto* const call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
    if (call->cbid == kLaunchCallback)
      numbersBefore = static_cast<unsigned>(std::count(of.begin(), of.end(), call->correlationId));
  });
  EXPECT_EQ(numbersBefore, 2u);
  EXPECT_EQ(numbers, (std::vector<std::pair<uint32_t, uint64_t>>{{3, 12}, {4, 13}}));
}

struct Heard {
  struct One {
    CUpti_CallbackDomain domain;
    unsigned id;
    CUpti_ApiCallbackSite site;
    std::string name, symbol;
    uint32_t correlation;
    uint64_t data;
    unsigned grid;
  };
  std::vector<One> all;
};

void hear(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& heard = *static_cast<Heard*>(user);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE || domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) {
    heard.all.push_back({domain, id, CUPTI_API_ENTER, "", "", 0, 0, 0});
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) *call.correlationData = 1000 + call.correlationId;
  // cuLaunchKernel's second argument lies behind a pointer.
  const unsigned grid = id == kLaunchCallback ? reinterpret_cast<const unsigned*>(call.functionParams)[2] : 0;
  heard.all.push_back({domain, id, call.callbackSite, call.functionName, call.symbolName ? call.symbolName : "",
                       call.correlationId, *call.correlationData, grid});
}

TEST_F(Cupti, CallsBackBeforeAndBehindACall) {
  Heard heard;
  Handle subscriber = nullptr;
  ASSERT_EQ(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(&heard)), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiEnableCallback", 1u, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCallback), CUPTI_SUCCESS);
  ASSERT_EQ(launch(nullptr, 5), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(heard.all.size(), 2u);
  EXPECT_EQ(heard.all[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(heard.all[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(heard.all[0].name, "cuLaunchKernel");
  EXPECT_EQ(heard.all[0].symbol, "addOne");
  EXPECT_EQ(heard.all[0].grid, 5u);
  EXPECT_EQ(heard.all[0].correlation, heard.all[1].correlation);
  EXPECT_EQ(heard.all[1].data, 1000 + heard.all[1].correlation);  // what was stored at the beginning
  ASSERT_EQ(cupti("cuptiUnsubscribe", subscriber), CUPTI_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(heard.all.size(), 2u);
  EXPECT_EQ(cupti("cuptiUnsubscribe", subscriber), CUPTI_SUCCESS);  // once more
  EXPECT_EQ(cupti("cuptiUnsubscribe", static_cast<Handle>(&heard)), CUPTI_ERROR_INVALID_PARAMETER);
}

// The kernel's name is asked for in between, which is a call of the driver API too.
TEST_F(Cupti, WorkBelongsToACallThatIsHeardOf) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  Heard heard;
  Handle subscriber = nullptr;
  ASSERT_EQ(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(&heard)), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiEnableCallback", 1u, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCallback), CUPTI_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const auto kernels = recordsOf<CUpti_ActivityKernel13>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(heard.all.size(), 2u);
  EXPECT_EQ(kernels[0].correlationId, heard.all[0].correlation);
  ASSERT_EQ(cupti("cuptiUnsubscribe", subscriber), CUPTI_SUCCESS);
}

TEST_F(Cupti, TellsOfResourcesAndWaits) {
  Heard heard;
  Handle subscriber = nullptr;
  ASSERT_EQ(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(&heard)), CUPTI_SUCCESS);
  cupti("cuptiEnableDomain", 1u, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  cupti("cuptiEnableDomain", 1u, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE);
  CUstream stream;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  CUcontext other;
  ASSERT_EQ(cuCtxCreate(&other, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  std::vector<std::pair<unsigned, unsigned>> seen;
  for (const Heard::One& one : heard.all) seen.emplace_back(one.domain, one.id);
  EXPECT_EQ(seen, (std::vector<std::pair<unsigned, unsigned>>{{3, 3}, {4, 1}, {4, 2}, {3, 4}, {3, 1}, {3, 2}}));
}

TEST_F(Cupti, TellsNothingInAChild) {
  Heard heard;
  Handle subscriber = nullptr;
  ASSERT_EQ(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(&heard)), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiEnableDomain", 1u, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  int version = 0;
  ASSERT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  ASSERT_EQ(heard.all.size(), 2u);
  const pid_t child = fork();
  if (!child) {
    cuDriverGetVersion(&version);
    _exit(heard.all.size() == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(cupti("cuptiUnsubscribe", subscriber), CUPTI_SUCCESS);
}

// As PyTorch's profiler ends: kinds are disabled first, then all is flushed.
TEST_F(Cupti, WhatWasDoneBeforeAKindIsDisabledIsRecorded) {
  for (int round = 0; round < 20; ++round) {
    enable({CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cuMemsetD32Async(memory, 7, 16, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(launch(), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cupti("cuptiActivityDisable", CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
    ASSERT_EQ(cupti("cuptiActivityDisable", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    ASSERT_EQ(cuMemsetD32(memory, 7, 16), CUDA_SUCCESS);
    std::map<CUpti_ActivityKind, int> seen;
    eachRecord([&](const CUpti_Activity* record) { ++seen[record->kind]; });
    EXPECT_EQ(seen[CUPTI_ACTIVITY_KIND_MEMSET], 3);
    EXPECT_EQ(seen[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 1);
  }
}

TEST_F(Cupti, SeveralSubscribersHaveBuffersOfTheirOwn) {
  Heard heard[2];
  Handle subscribers[2], third = nullptr;
  CUpti_SubscriberParams sharing{};
  sharing.structSize = sizeof sharing;
  sharing.subscriberName = "first of two";
  sharing.allowMultipleSubscribers = 1;
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(cupti("cuptiSubscribe_v2", &subscribers[i], &hear, static_cast<void*>(&heard[i]), &sharing),
              CUPTI_SUCCESS);
  EXPECT_EQ(cupti("cuptiSubscribe", &third, &hear, static_cast<void*>(&heard[0])),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  for (const Handle subscriber : subscribers)
    cupti("cuptiEnableCallback", 1u, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kLaunchCallback);

  static std::vector<uint8_t> mine;
  mine.clear();
  const CUpti_BuffersCallbackRequestFunc_v2 request = [](uint8_t** buffer, size_t* size, size_t* most,
                                                         CUpti_BufferCallbackRequestInfo*) {
    *size = 4096;
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
    *most = 0;
  };
  const CUpti_BuffersCallbackCompleteFunc_v2 complete = [](uint8_t* buffer, size_t, size_t valid,
                                                           CUpti_BufferCallbackCompleteInfo*) {
    mine.insert(mine.end(), buffer, buffer + valid);
    std::free(buffer);
  };
  ASSERT_EQ(cupti("cuptiActivityRegisterCallbacks_v2", subscribers[1], request, complete), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiActivityEnable_v2", subscribers[1], CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr),
            CUPTI_SUCCESS);
  enable({CUPTI_ACTIVITY_KIND_DRIVER});
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(recordsOf<CUpti_ActivityKernel13>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).empty());
  EXPECT_EQ(mine.size(), sizeof(CUpti_ActivityKernel13));
  EXPECT_EQ(heard[0].all.size(), 2u);
  EXPECT_EQ(heard[1].all.size(), 2u);
  uint32_t kinds[8], room = 8, count = 0;
  ASSERT_EQ(cupti("cuptiActivityGetEnabledKinds", subscribers[1], static_cast<uint32_t*>(kinds), &room, &count),
            CUPTI_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(kinds[0], CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

// A subscriber that ends gives its buffers back to functions that may call anything.
TEST_F(Cupti, WhoTakesABufferMayEndSubscribersAndBegin) {
  static Handle ended;
  static unsigned taken;
  taken = 0;
  Heard heard;
  ASSERT_EQ(cupti("cuptiSubscribe", &ended, &hear, static_cast<void*>(&heard)), CUPTI_SUCCESS);
  const CUpti_BuffersCallbackRequestFunc_v2 request = [](uint8_t** buffer, size_t* size, size_t* most,
                                                         CUpti_BufferCallbackRequestInfo*) {
    *size = 4096;
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
    *most = 0;
  };
  const CUpti_BuffersCallbackCompleteFunc_v2 complete = [](uint8_t* buffer, size_t, size_t,
                                                           CUpti_BufferCallbackCompleteInfo*) {
    std::free(buffer);
    ++taken;
    Heard others;
    Handle other = nullptr;
    EXPECT_EQ(cupti("cuptiUnsubscribe", ended), CUPTI_SUCCESS);
    EXPECT_EQ(cupti("cuptiSubscribe", &other, &hear, static_cast<void*>(&others)), CUPTI_SUCCESS);
    EXPECT_NE(other, ended);
    EXPECT_EQ(cupti("cuptiActivityFlushAll", uint32_t{0}), CUPTI_SUCCESS);
    EXPECT_EQ(cupti("cuptiUnsubscribe", other), CUPTI_SUCCESS);
  };
  ASSERT_EQ(cupti("cuptiActivityRegisterCallbacks_v2", ended, request, complete), CUPTI_SUCCESS);
  ASSERT_EQ(cupti("cuptiActivityEnable_v2", ended, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr), CUPTI_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  // The record is in its buffer behind this.
  ASSERT_EQ(cupti("cuptiActivityDisable_v2", ended, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cupti("cuptiUnsubscribe", ended), CUPTI_SUCCESS);
  EXPECT_EQ(taken, 1u);
}

TEST_F(Cupti, LosesAndDoublesNoRecordOfManyThreads) {
  kept().bufferBytes = 4096;  // a few records each
  enable({CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  constexpr unsigned kThreads = 4, kLaunches = 100;
  std::vector<std::thread> threads;
  std::atomic<unsigned> failed{0};
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&failed] {
      CUstream stream;
      failed += cuCtxSetCurrent(context) != CUDA_SUCCESS || cuStreamCreate(&stream, 0) != CUDA_SUCCESS;
      for (unsigned n = 0; n < kLaunches; ++n) {
        failed += launch(stream) != CUDA_SUCCESS;
        if (n % 32 == 0) cupti("cuptiActivityFlushAll", uint32_t{0});
      }
      failed += cuStreamDestroy(stream) != CUDA_SUCCESS;
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(failed, 0u);
  std::map<uint32_t, int> calls, kernels;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      ++kernels[reinterpret_cast<const CUpti_ActivityKernel13*>(record)->correlationId];
    const auto* const call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
    if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER && call->cbid == kLaunchCallback) ++calls[call->correlationId];
  });
  EXPECT_EQ(kernels.size(), kThreads * kLaunches);
  EXPECT_EQ(calls, kernels);
  size_t dropped = 1;
  ASSERT_EQ(cupti("cuptiActivityGetNumDroppedRecords", static_cast<CUcontext>(nullptr), 0u, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(kept().requests, kept().completions);
}

TEST_F(Cupti, CountsWhatThereIsNoBufferFor) {
  ASSERT_EQ(cupti(
                "cuptiActivityRegisterCallbacks",
                +[](uint8_t** buffer, size_t* size, size_t*) {
                  *buffer = nullptr;
                  *size = 0;
                },
                &completeBuffer),
            CUPTI_SUCCESS);
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  cupti("cuptiActivityFlushAll", uint32_t{0});
  size_t dropped = 0;
  ASSERT_EQ(cupti("cuptiActivityGetNumDroppedRecords", static_cast<CUcontext>(nullptr), 0u, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 1u);
}

TEST_F(Cupti, TellsOfThingsThatWereThereBefore) {
  enable({CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT});
  std::vector<CUpti_ActivityDevice6> devices;
  std::vector<CUpti_ActivityContext4> contexts;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE)
      devices.push_back(*reinterpret_cast<const CUpti_ActivityDevice6*>(record));
    if (record->kind == CUPTI_ACTIVITY_KIND_CONTEXT)
      contexts.push_back(*reinterpret_cast<const CUpti_ActivityContext4*>(record));
  });
  char name[256];
  cuDeviceGetName(name, sizeof name, 0);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_STREQ(devices[0].name, name);
  EXPECT_EQ(devices[0].numThreadsPerWarp, 32u);
  uint32_t contextId = 0;
  cupti("cuptiGetContextId", context, &contextId);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_EQ(contexts[0].contextId, contextId);
}

TEST_F(Cupti, TellsOfWaitsEventsStreamsAndMemory) {
  enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_STREAM,
          CUPTI_ACTIVITY_KIND_MEMORY2});
  CUstream stream;
  CUevent event;
  CUdeviceptr pointer;
  ASSERT_EQ(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(nullptr, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&pointer, 12345), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(pointer), CUDA_SUCCESS);
  uint32_t streamId = 0;
  cupti("cuptiGetStreamId", context, stream, &streamId);
  std::vector<uint32_t> waits, streams;
  std::vector<std::pair<uint32_t, uint64_t>> memories;
  uint64_t recorded = 0, waitedFor = 0;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
      const auto* const wait = reinterpret_cast<const CUpti_ActivitySynchronization2*>(record);
      waits.push_back(wait->type);
      if (wait->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE) waitedFor = wait->cudaEventSyncId;
      if (wait->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE) {
        EXPECT_EQ(wait->streamId, streamId);
      }
    }
    if (record->kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT)
      recorded = reinterpret_cast<const CUpti_ActivityCudaEvent3*>(record)->cudaEventSyncId;
    if (record->kind == CUPTI_ACTIVITY_KIND_STREAM)
      streams.push_back(reinterpret_cast<const CUpti_ActivityStream*>(record)->streamId);
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
      const auto* const memory = reinterpret_cast<const CUpti_ActivityMemory4*>(record);
      memories.emplace_back(memory->memoryOperationType, memory->bytes);
      EXPECT_EQ(memory->address, pointer);
    }
  });
  EXPECT_EQ(waits, (std::vector<uint32_t>{2, 1, 3, 4}));
  EXPECT_EQ(streams, std::vector<uint32_t>{streamId});
  EXPECT_NE(recorded, 0u);
  EXPECT_EQ(recorded, waitedFor);
  EXPECT_EQ(memories, (std::vector<std::pair<uint32_t, uint64_t>>{{1, 12345}, {2, 12345}}));
  cuEventDestroy(event);
  cuStreamDestroy(stream);
}

// Memory that no call of the program allocated has a kind of its own: a real GPU also has code in it.
TEST_F(Cupti, MemoryOfAModuleIsStatic) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  const char kVariable[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .global .b8 bytes[6000];\n";
  CUmodule module;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleLoadData(&module, kVariable), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetGlobal(&address, &bytes, module, "bytes"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  std::vector<uint32_t> operations;
  eachRecord([&](const CUpti_Activity* record) {
    const auto* const memory = reinterpret_cast<const CUpti_ActivityMemory4*>(record);
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMORY2) return;
    EXPECT_EQ(memory->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
    if (memory->address <= address && address + bytes <= memory->address + memory->bytes)
      operations.push_back(memory->memoryOperationType);
  });
  EXPECT_EQ(operations, (std::vector<uint32_t>{1, 2}));
}

TEST_F(Cupti, GraphsAreTracedWholeOrByTheirNodes) {
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  uint32_t id = 0;
  ASSERT_EQ(cupti("cuptiGetGraphExecId", exec, &id), CUPTI_SUCCESS);
  const auto count = [&](CUpti_ActivityKind kind, uint32_t graphId, auto graphOf) {
    unsigned found = 0;
    eachRecord([&](const CUpti_Activity* record) { found += record->kind == kind && graphOf(record) == graphId; });
    return found;
  };
  const auto ofKernel = [](const CUpti_Activity* r) {
    return reinterpret_cast<const CUpti_ActivityKernel13*>(r)->graphId;
  };
  const auto ofTrace = [](const CUpti_Activity* r) {
    return reinterpret_cast<const CUpti_ActivityGraphTrace2*>(r)->graphId;
  };
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, id, ofKernel), 3u);
  enable({CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
  ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, id, ofTrace), 1u);
  ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, id, ofKernel), 0u);
  cuGraphExecDestroy(exec);
  cuGraphDestroy(graph);
  cuStreamDestroy(stream);
}

// A clock that runs twice as fast as the system's.
uint64_t fastClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 2 * (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec));
}

TEST_F(Cupti, TimesAreThoseOfTheProgramsClock) {
  ASSERT_EQ(cupti("cuptiActivityRegisterTimestampCallback", &fastClock), CUPTI_SUCCESS);
  enable({CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  const uint64_t before = fastClock();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(launch(), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  const uint64_t after = fastClock();
  unsigned kernels = 0;
  eachRecord([&](const CUpti_Activity* record) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel13*>(record);
    constexpr uint64_t kApart = 200'000;  // of two looks at two clocks
    EXPECT_LE(before, kernel->start + kApart);
    EXPECT_LE(kernel->start, kernel->end);
    EXPECT_LE(kernel->end, after + kApart);
    ++kernels;
  });
  EXPECT_EQ(kernels, 3u);
}

TEST_F(Cupti, TimeStepsBackForNoThread) {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  std::atomic<bool> ending{false};
  std::atomic<unsigned> stepsBack{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)  // more than there are processors, perhaps
    threads.emplace_back([&] {
      for (uint64_t last = 0, next = 0; !ending; last = next) {
        cupti("cuptiGetTimestamp", &next);
        stepsBack += next < last;
      }
    });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(launch(), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    usleep(1'000);
  }
  ending = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stepsBack, 0u);
  eachRecord([](const CUpti_Activity* record) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel13*>(record);
    EXPECT_LE(kernel->start, kernel->end);
  });
}

TEST_F(Cupti, KeepsAttributes) {
  size_t bytes = 1234567, size = sizeof bytes;
  ASSERT_EQ(cupti("cuptiActivitySetAttribute", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes), CUPTI_SUCCESS);
  bytes = 0;
  ASSERT_EQ(cupti("cuptiActivityGetAttribute", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes), CUPTI_SUCCESS);
  EXPECT_EQ(bytes, 1234567u);
  size = 1;
  EXPECT_EQ(cupti("cuptiActivityGetAttribute", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
}

}  // namespace
}  // namespace vg::cupti::test
