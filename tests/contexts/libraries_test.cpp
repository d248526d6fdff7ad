#include <thread>
#include <vector>

#include "check.h"
#include "kernels.h"
#include "unit/images/image_builder.h"

namespace {

CUresult loadLibrary(CUlibrary* library, const char* text) {
  return cuLibraryLoadData(library, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

class Libraries : public DriverTest {
 protected:
  // Runs `kernel` in the current context and gives back what it wrote.
  unsigned run(CUkernel kernel, unsigned number = 0) {
    CUdeviceptr out = 0;
    unsigned value = 0;
    EXPECT_EQ(cuMemAlloc(&out, 4), CUDA_SUCCESS);
    void* parameters[] = {&out, &number};
    EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&value, out, sizeof value), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(Libraries, LiveWithoutAContext) {
  CUlibrary library = nullptr, owner = nullptr;
  CUkernel add = nullptr, again = nullptr;
  unsigned count = 0;
  const char* name = nullptr;
  int value = 0;
  size_t offset = 0, size = 0;
  OK(loadLibrary(&library, kCounterText));
  OK(cuLibraryGetKernel(&add, library, "add"));
  OK(cuLibraryGetKernel(&again, library, "add"));
  EXPECT_EQ(add, again);
  EXPECT_EQ(cuLibraryGetKernel(&again, library, "none"), CUDA_ERROR_NOT_FOUND);
  OK(cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 2u);
  std::vector<CUkernel> all(2);
  OK(cuLibraryEnumerateKernels(all.data(), 2, library));
  EXPECT_TRUE(all[0] == add || all[1] == add);
  OK(cuKernelGetName(&name, add));
  EXPECT_STREQ(name, "add");
  OK(cuKernelGetLibrary(&owner, add));
  EXPECT_EQ(owner, library);
  EXPECT_EQ(cuKernelGetParamInfo(add, 1, &offset, &size), CUDA_ERROR_INVALID_CONTEXT);  // the one that wants a context
  OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add, 1));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add, 7), CUDA_ERROR_INVALID_DEVICE);
  CUdeviceptr address = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(cuLibraryGetGlobal(&address, &size, library, "counter"), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuKernelGetFunction(&function, add), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetName(&name, add), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetName(&name, nullptr), CUDA_ERROR_INVALID_VALUE);  // the manual says so of names only
  EXPECT_EQ(cuFuncGetName(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, HaveVariablesOfTheirOwnInEveryContext) {
  CUlibrary library = nullptr;
  CUkernel add = nullptr;
  CUcontext contexts[3];
  CUdeviceptr addresses[3];
  OK(loadLibrary(&library, kCounterText));
  OK(cuLibraryGetKernel(&add, library, "add"));
  for (int i = 0; i < 3; ++i) OK(cuCtxCreate(&contexts[i], nullptr, 0, i % 2));
  for (int round = 1; round <= 3; ++round)
    for (int i = 0; i < 3; ++i) {
      OK(cuCtxSetCurrent(contexts[i]));
      EXPECT_EQ(run(add, static_cast<unsigned>(i)), static_cast<unsigned>(100 + 5 * i * round));
      OK(cuLibraryGetGlobal(&addresses[i], nullptr, library, "counter"));
    }
  EXPECT_NE(addresses[0], addresses[1]);
  EXPECT_NE(addresses[0], addresses[2]);
  OK(cuCtxDestroy(contexts[1]));
  OK(cuCtxSetCurrent(contexts[2]));
  EXPECT_EQ(run(add, 0), 130u);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  OK(cuLibraryGetModule(&module, library));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);  // it ends with the library
  OK(cuKernelGetFunction(&function, add));
  EXPECT_EQ(run(reinterpret_cast<CUkernel>(function), 0), 130u);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  OK(cuCtxDestroy(contexts[0]));
  OK(cuCtxDestroy(contexts[2]));
}

TEST_F(Libraries, OutliveAReset) {
  CUlibrary library = nullptr;
  CUkernel add = nullptr;
  CUcontext primary = nullptr;
  OK(loadLibrary(&library, kCounterText));
  OK(cuLibraryGetKernel(&add, library, "add"));
  for (int round = 0; round < 3; ++round) {
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    EXPECT_EQ(run(add, 1), 105u);
    EXPECT_EQ(run(add, 1), 110u);
    OK(cuDevicePrimaryCtxReset(0));
  }
  OK(cuLibraryUnload(library));
  for (int round = 0; round < 3; ++round) OK(cuDevicePrimaryCtxRelease(0));
}

TEST_F(Libraries, HaveOneAddressForManagedVariables) {
  CUlibrary library = nullptr;
  CUkernel bump = nullptr;
  CUdeviceptr address = 0, inside = 0;
  size_t bytes = 0;
  OK(loadLibrary(&library, kManagedText));
  OK(cuLibraryGetManaged(&address, &bytes, library, "shared_value"));  // no context yet
  EXPECT_EQ(bytes, 4u);
  volatile unsigned& value = *reinterpret_cast<unsigned*>(address);
  EXPECT_EQ(value, 41u);
  value = 70;
  OK(cuLibraryGetKernel(&bump, library, "bump"));
  for (CUdevice device : {0, 1}) {
    CUcontext context = nullptr;
    OK(cuCtxCreate(&context, nullptr, 0, device));
    OK(cuLibraryGetGlobal(&inside, nullptr, library, "shared_value"));
    EXPECT_EQ(inside, address);
    EXPECT_EQ(value, 70u + static_cast<unsigned>(device));  // loading the code leaves it alone
    OK(cuLaunchKernel(reinterpret_cast<CUfunction>(bump), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    OK(cuCtxSynchronize());
    EXPECT_EQ(value, 71u + static_cast<unsigned>(device));
    OK(cuCtxDestroy(context));
  }
  EXPECT_EQ(cuLibraryGetManaged(&address, nullptr, library, "nothing"), CUDA_ERROR_NOT_FOUND);
  OK(cuLibraryUnload(library));
}

TEST_F(Libraries, KeepAttributesByDevice) {
  CUlibrary library = nullptr;
  CUkernel add = nullptr;
  CUfunction function = nullptr;
  CUcontext context = nullptr;
  int value = 0;
  constexpr CUfunction_attribute kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  OK(loadLibrary(&library, kCounterText));
  OK(cuLibraryGetKernel(&add, library, "add"));
  OK(cuKernelSetAttribute(kShared, 12345, add, 1));
  OK(cuKernelGetAttribute(&value, kShared, add, 1));
  EXPECT_EQ(value, 12345);
  OK(cuCtxCreate(&context, nullptr, 0, 1));
  OK(cuKernelGetFunction(&function, add));
  OK(cuFuncGetAttribute(&value, kShared, function));
  EXPECT_EQ(value, 12345);
  OK(cuKernelSetAttribute(kShared, 6789, add, 1));
  OK(cuFuncGetAttribute(&value, kShared, function));
  EXPECT_EQ(value, 6789);
  EXPECT_EQ(cuKernelSetAttribute(kShared, 1 << 30, add, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, add, 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuKernelSetCacheConfig(add, CU_FUNC_CACHE_PREFER_SHARED, 1));
  OK(cuCtxDestroy(context));
  OK(cuLibraryUnload(library));
}

TEST_F(Libraries, ReadTheirCodeWhenAskedForIt) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  OK(loadLibrary(&library, ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry broken() { nonsense }\n"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "broken"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "broken"), CUDA_ERROR_INVALID_PTX);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(loadLibrary(&library, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(loadLibrary(nullptr, kCounterText), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLibraryLoadFromFile(&library, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_ERROR_FILE_NOT_FOUND);
}

// As an H200 with driver 580 answers for code of compute capability 12.0; a module is refused when it is loaded.
TEST_F(Libraries, LookForCodeThatFitsWhenAskedForIt) {
  using namespace vg::images::testing;
  const Bytes image = container({{1, 999, ptx("of a later device")}});
  const auto* const bytes = reinterpret_cast<const char*>(image.data());
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUmodule module = nullptr;
  CUcontext context = nullptr;
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  OK(loadLibrary(&library, bytes));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "kernel"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_ERROR_NO_BINARY_FOR_GPU);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(cuModuleLoadData(&module, bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
  OK(cuCtxDestroy(context));
}

// The CUDA runtime passes one option with its value, cuBLASLt the option without values.
TEST_F(Libraries, TakeTheOptionsOfTheRuntime) {
  CUlibrary library = nullptr;
  CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
  void* value = reinterpret_cast<void*>(1);
  OK(cuLibraryLoadData(&library, kCounterText, nullptr, nullptr, 0, &option, &value, 1));
  OK(cuLibraryUnload(library));
  OK(cuLibraryLoadData(&library, kCounterText, nullptr, nullptr, 0, &option, nullptr, 1));
  OK(cuLibraryUnload(library));
  option = static_cast<CUlibraryOption>(50);
  EXPECT_EQ(cuLibraryLoadData(&library, kCounterText, nullptr, nullptr, 0, &option, &value, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, AreUsedFirstByManyThreadsAtOnce) {
  CUlibrary library = nullptr;
  CUcontext context = nullptr;
  OK(loadLibrary(&library, kCounterText));
  OK(cuCtxCreate(&context, nullptr, 0, 0));
  std::vector<CUfunction> functions(8);
  std::vector<std::thread> threads;
  for (CUfunction& function : functions)
    threads.emplace_back([&] {
      CUkernel add = nullptr;
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      EXPECT_EQ(cuLibraryGetKernel(&add, library, "add"), CUDA_SUCCESS);
      EXPECT_EQ(cuKernelGetFunction(&function, add), CUDA_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  for (CUfunction function : functions) EXPECT_EQ(function, functions[0]);
  OK(cuLibraryUnload(library));
  OK(cuCtxDestroy(context));
}

// More contexts than a kernel remembers functions for, each with a thread of its own: every launch must meet the
// variables of its own context.
TEST_F(Libraries, ManyContextsLaunchTheSameKernel) {
  CUlibrary library = nullptr;
  CUkernel add = nullptr;
  OK(loadLibrary(&library, kCounterText));
  OK(cuLibraryGetKernel(&add, library, "add"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i)
    threads.emplace_back([&, i] {
      CUcontext context = nullptr;
      EXPECT_EQ(cuCtxCreate(&context, nullptr, 0, i % 2), CUDA_SUCCESS);
      for (unsigned round = 1; round <= 40; ++round) EXPECT_EQ(run(add, 1), 100 + 5 * round);
      EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  OK(cuLibraryUnload(library));
}

}  // namespace
