#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace {

class Contexts : public DriverTest {};

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

bool active(CUdevice device) {
  unsigned flags = 0;
  int is = -1;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &is), CUDA_SUCCESS);
  return is;
}

TEST_F(Contexts, AreStackedPerThread) {
  CUcontext first = nullptr, second = nullptr, popped = nullptr;
  OK(cuCtxCreate(&first, nullptr, 0, 0));
  EXPECT_EQ(current(), first);
  OK(cuCtxCreate(&second, nullptr, 0, 1));
  EXPECT_EQ(current(), second);
  CUdevice device = -1;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  std::thread([] { EXPECT_EQ(current(), nullptr); }).join();
  OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, second);
  EXPECT_EQ(current(), first);
  OK(cuCtxPushCurrent(second));
  OK(cuCtxSetCurrent(first));  // replaces the top only
  OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, first);
  EXPECT_EQ(current(), first);
  OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxDestroy(first));
  OK(cuCtxDestroy(second));
}

TEST_F(Contexts, StackAsDeepAsOneLikes) {
  CUcontext contexts[2], popped = nullptr;
  for (CUcontext& context : contexts) {
    OK(cuCtxCreate(&context, nullptr, 0, 0));
    OK(cuCtxPopCurrent(nullptr));
  }
  for (int i = 0; i < 1000; ++i) OK(cuCtxPushCurrent(contexts[i * i % 3 == 1]));
  for (int i = 1000; i-- > 0;) {
    OK(cuCtxPopCurrent(&popped));
    ASSERT_EQ(popped, contexts[i * i % 3 == 1]);
  }
  EXPECT_EQ(current(), nullptr);
  for (CUcontext context : contexts) OK(cuCtxDestroy(context));
}

TEST_F(Contexts, ThatAreDestroyedSaySo) {
  CUcontext context = nullptr;
  unsigned version = 0;
  CUdeviceptr memory = 0;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  std::atomic<bool> made{false}, destroyed{false};
  std::thread other([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUdeviceptr here = 0;
    EXPECT_EQ(cuMemAlloc(&here, 64), CUDA_SUCCESS);
    made = true;
    while (!destroyed) std::this_thread::yield();
    EXPECT_EQ(cuMemAlloc(&here, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // The same slot may serve a newer context by now: this thread's is still the old one.
    EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  });
  while (!made) std::this_thread::yield();
  OK(cuCtxDestroy(context));
  EXPECT_EQ(current(), nullptr);
  std::vector<CUcontext> later(100);
  for (CUcontext& one : later) {
    OK(cuCtxCreate(&one, nullptr, 0, 0));
    OK(cuCtxDestroy(one));
  }
  destroyed = true;
  other.join();
  EXPECT_EQ(cuCtxDestroy(later.back()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxGetApiVersion(later.back(), &version), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxSetCurrent(later.back()));
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(Contexts, ForeignHandlesAreNone) {
  int local = 0;
  unsigned version = 0;
  CUcontext context = nullptr;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  for (CUcontext bad : {reinterpret_cast<CUcontext>(&local), reinterpret_cast<CUcontext>(8),
                        reinterpret_cast<CUcontext>(reinterpret_cast<uintptr_t>(context) + 8),
                        reinterpret_cast<CUcontext>(~uintptr_t{0})}) {
    EXPECT_EQ(cuCtxSetCurrent(bad), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent(bad), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxDestroy(bad), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxGetApiVersion(bad, &version), CUDA_ERROR_INVALID_CONTEXT);
  }
  EXPECT_EQ(cuCtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxDestroy(context));
}

TEST_F(Contexts, KeepTheirFlagsAndNumbers) {
  CUcontext first = nullptr, second = nullptr;
  unsigned flags = 0, version = 0;
  unsigned long long ids[2];
  OK(cuCtxCreate(&first, nullptr, CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST, 0));
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST});
  OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST});  // some are for life
  OK(cuCtxSetFlags(CU_CTX_COREDUMP_ENABLE | CU_CTX_SYNC_MEMOPS));
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_SYNC_MEMOPS | CU_CTX_MAP_HOST});
  OK(cuCtxGetApiVersion(first, &version));
  EXPECT_EQ(version, 3020u);
  OK(cuCtxCreate(&second, nullptr, 0, 0));
  OK(cuCtxGetId(first, &ids[0]));
  OK(cuCtxGetId(nullptr, &ids[1]));
  EXPECT_NE(ids[0], ids[1]);
  for (unsigned bad : {3u, 5u, 6u, 7u, 0x100u, ~0u}) {
    CUcontext none = nullptr;
    EXPECT_EQ(cuCtxCreate(&none, nullptr, bad, 0), CUDA_ERROR_INVALID_VALUE) << bad;
    EXPECT_EQ(none, nullptr);
  }
  EXPECT_EQ(cuCtxCreate(&second, nullptr, 0, 5), CUDA_ERROR_INVALID_DEVICE);
  CUexecAffinityParam affinity{};
  CUctxCreateParams parameters{&affinity, 1, nullptr};
  CUcontext none = nullptr;
  EXPECT_EQ(cuCtxCreate(&none, &parameters, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  OK(cuCtxGetCurrent(&second));
  OK(cuCtxDestroy(second));
  OK(cuCtxDestroy(first));
}

TEST_F(Contexts, HaveBanksOfFourBytesWhateverIsSet) {
  CUcontext context = nullptr;
  CUsharedconfig banks{};
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  OK(cuCtxGetSharedMemConfig(&banks));
  EXPECT_EQ(banks, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  EXPECT_EQ(cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(3)), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxDestroy(context));
}

TEST_F(Contexts, HaveLimits) {
  CUcontext context = nullptr;
  size_t value = 0;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 1024u);
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_GE(value, 5000u);
  EXPECT_LT(value, 5100u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 30), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{32} << 20));
  OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_EQ(value, size_t{32} << 20);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4), CUDA_ERROR_UNSUPPORTED_LIMIT);
  const auto becomes = [&](CUlimit which, size_t wanted) {
    EXPECT_EQ(cuCtxSetLimit(which, wanted), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxGetLimit(&value, which), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(becomes(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2), 32u);
  EXPECT_EQ(becomes(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 33), 33u);
  int cache = 0, persisting = 0;
  OK(cuDeviceGetAttribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0));
  OK(cuDeviceGetAttribute(&persisting, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0));
  const size_t part = static_cast<size_t>(cache) / 16;  // it persists in whole parts
  const size_t most = static_cast<size_t>(persisting);
  if (most >= 2 * part) {
    EXPECT_EQ(becomes(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1), part);
    EXPECT_EQ(becomes(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, part + 1), 2 * part);
  }
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, most + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(becomes(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0), 0u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 4096), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_CIG_ENABLED, 1), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_MAX), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetLimit(&value, static_cast<CUlimit>(-1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxDestroy(context));
  OK(cuCtxCreate(&context, nullptr, 0, 0));  // limits are a context's own
  OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_EQ(value, size_t{8} << 20);
  OK(cuCtxDestroy(context));
}

TEST_F(Contexts, TakeCacheAndBankPreferences) {
  CUcontext context = nullptr;
  CUfunc_cache cache;
  int least = 9, greatest = 9;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  OK(cuCtxGetCacheConfig(&cache));
  EXPECT_EQ(cache, CU_FUNC_CACHE_PREFER_L1);
  EXPECT_EQ(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(99)), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  OK(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  OK(cuCtxResetPersistingL2Cache());
  CUexecAffinityParam affinity{};
  int multiprocessors = 0;
  OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  OK(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  EXPECT_EQ(affinity.type, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
  EXPECT_EQ(affinity.param.smCount.val, static_cast<unsigned>(multiprocessors));
  EXPECT_EQ(cuCtxGetExecAffinity(&affinity, static_cast<CUexecAffinityType>(7)), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  OK(cuCtxDestroy(context));
}

TEST_F(Contexts, EnablePeersOnceEach) {
  CUcontext here = nullptr, there = nullptr, beside = nullptr;
  OK(cuCtxCreate(&beside, nullptr, 0, 0));
  OK(cuCtxCreate(&there, nullptr, 0, 1));
  OK(cuCtxCreate(&here, nullptr, 0, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(there, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxEnablePeerAccess(here, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxEnablePeerAccess(beside, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxDisablePeerAccess(there), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  OK(cuCtxEnablePeerAccess(there, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(there, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  OK(cuCtxDisablePeerAccess(there));
  OK(cuCtxEnablePeerAccess(there, 0));
  for (CUcontext context : {here, there, beside}) OK(cuCtxDestroy(context));
}

TEST_F(Contexts, OfOneDeviceDoNotShareMemory) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(cuMemAlloc(&memory, 1 << 20));
  OK(cuCtxDestroy(context));  // frees it
  CUdevice device = -1;
  EXPECT_NE(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory), CUDA_SUCCESS);
}

TEST_F(Contexts, CanBeAttached) {
  CUcontext context = nullptr, again = nullptr;
  unsigned version = 0;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(cuCtxAttach(&again, 0));
  EXPECT_EQ(again, context);
  EXPECT_EQ(cuCtxAttach(&again, 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxDetach(context));
  OK(cuCtxGetApiVersion(context, &version));
  OK(cuCtxDetach(context));
  EXPECT_EQ(cuCtxGetApiVersion(context, &version), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Contexts, ComeAndGoInManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (int round = 0; round < 50; ++round) {
        CUcontext context = nullptr;
        CUdeviceptr memory = 0;
        unsigned char byte = 0;
        EXPECT_EQ(cuCtxCreate(&context, nullptr, 0, i % 2), CUDA_SUCCESS);
        EXPECT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
        EXPECT_EQ(cuMemsetD8(memory, static_cast<unsigned char>(i), 4096), CUDA_SUCCESS);
        EXPECT_EQ(cuMemcpyDtoH(&byte, memory + 4095, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, i);
        EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

class Primary : public DriverTest {};

TEST_F(Primary, IsCountedAndKeepsItsHandle) {
  CUcontext first = nullptr, second = nullptr;
  unsigned version = 0;
  EXPECT_FALSE(active(0));
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxRetain(&first, 0));
  EXPECT_EQ(current(), nullptr);  // retaining makes nothing current
  EXPECT_TRUE(active(0));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_TRUE(active(0));
  OK(cuCtxGetApiVersion(first, &version));
  OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_FALSE(active(0));
  EXPECT_EQ(cuCtxGetApiVersion(first, &version), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  EXPECT_EQ(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(cuDevicePrimaryCtxRetain(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 2), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Primary, CanBeCurrentBeforeItIsRetained) {
  CUcontext primary = nullptr;
  CUdeviceptr memory = 0;
  CUdevice device = -1;
  OK(cuDevicePrimaryCtxRetain(&primary, 1));
  OK(cuDevicePrimaryCtxRelease(1));
  OK(cuCtxSetCurrent(primary));
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  OK(cuDevicePrimaryCtxRetain(&primary, 1));
  OK(cuMemAlloc(&memory, 64));
  OK(cuDevicePrimaryCtxRelease(1));
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(Primary, ResetFreesWhatItHoldsAndGivesItANewNumber) {
  CUcontext primary = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  unsigned long long before = 0, after = 0;
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxSetCurrent(primary));
  OK(cuCtxGetId(nullptr, &before));
  OK(cuMemAlloc(&memory, 1 << 20));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 20; ++i) OK(cuMemsetD8Async(memory, 1, 1 << 20, stream));
  OK(cuDevicePrimaryCtxReset(0));
  EXPECT_FALSE(active(0));
  EXPECT_EQ(current(), primary);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxGetId(nullptr, &after));
  EXPECT_NE(before, after);
  OK(cuMemAlloc(&memory, 64));
  OK(cuDevicePrimaryCtxRelease(0));  // of the retain before the reset
  EXPECT_TRUE(active(0));
  OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_FALSE(active(0));
}

TEST_F(Primary, TakesFlagsAtAnyTime) {
  unsigned flags = 0;
  int is = 0;
  CUcontext primary = nullptr;
  OK(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_BLOCKING_SYNC));
  OK(cuDevicePrimaryCtxGetState(1, &flags, &is));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
  OK(cuDevicePrimaryCtxRetain(&primary, 1));
  OK(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_SPIN));
  OK(cuCtxSetCurrent(primary));
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST});
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(1, 0x400), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(1, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);  // it maps in any case
  OK(cuDevicePrimaryCtxRelease(1));
  OK(cuDevicePrimaryCtxGetState(1, &flags, &is));
  EXPECT_EQ(flags, 0u);  // they end with the context
}

TEST_F(Primary, IsRetainedAndReleasedFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        CUcontext primary = nullptr;
        CUdeviceptr memory = 0;
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(cuCtxSetCurrent(primary), CUDA_SUCCESS);
        EXPECT_EQ(cuMemAlloc(&memory, 256), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
        EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(active(0));
}

}  // namespace
