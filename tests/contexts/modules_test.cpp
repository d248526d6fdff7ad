#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "kernels.h"
#include "scratch.h"

namespace {

class Modules : public PrimaryTest {
 protected:
  void SetUp() override {
    PrimaryTest::SetUp();
    OK(cuMemAlloc(&out, 64));
  }
  // One thread of `function` with `out` and, where it takes one, a number; what it wrote.
  unsigned run(CUfunction function, unsigned number = 0) {
    void* parameters[] = {&out, &number};
    unsigned value = 0;
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&value, out, sizeof value), CUDA_SUCCESS);
    return value;
  }
  CUdeviceptr out = 0;
};

// A kernel that adds up many registers.
std::string largeKernel() {
  std::string text =
      ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry large(.param .u64 out) {\n.reg .b32 %r<100>;\n"
      ".reg .b64 %d;\nld.param.u64 %d, [out];\n";
  for (int i = 0; i < 99; ++i) text += "ld.volatile.global.u32 %r" + std::to_string(i) + ", [%d];\n";
  for (int i = 1; i < 99; ++i) text += "add.u32 %r0, %r0, %r" + std::to_string(i) + ";\n";
  return text + "st.global.u32 [%d], %r0;\nret;\n}\n";
}

TEST_F(Modules, KernelsKeepToALimitOfRegisters) {
  const std::string text = largeKernel();
  CUjit_option options[] = {CU_JIT_MAX_REGISTERS};
  for (const uintptr_t most : {0, 32, 16}) {
    void* values[] = {reinterpret_cast<void*>(most)};
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction functions[2] = {};
    OK(cuModuleLoadDataEx(&module, text.c_str(), 1, options, values));
    OK(cuLibraryLoadData(&library, text.c_str(), options, values, 1, nullptr, nullptr, 0));
    OK(cuModuleGetFunction(&functions[0], module, "large"));
    OK(cuLibraryGetKernel(&kernel, library, "large"));
    OK(cuKernelGetFunction(&functions[1], kernel));
    for (const CUfunction function : functions) {
      int registers = 0;
      OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
      if (most)
        EXPECT_LE(registers, static_cast<int>(most));
      else
        EXPECT_GT(registers, 32);
      OK(cuMemsetD32(out, 1, 1));
      EXPECT_EQ(run(function), 99u);
    }
    OK(cuLibraryUnload(library));
    OK(cuModuleUnload(module));
  }
}

TEST_F(Modules, HaveFunctionsAndVariables) {
  CUmodule module = nullptr, owner = nullptr;
  CUfunction add = nullptr, read = nullptr, again = nullptr;
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  unsigned count = 0, value = 0;
  OK(cuModuleLoadData(&module, kCounterText));
  OK(cuModuleGetFunction(&add, module, "add"));
  OK(cuModuleGetFunction(&read, module, "read"));
  OK(cuModuleGetFunction(&again, module, "add"));
  EXPECT_EQ(add, again);
  EXPECT_EQ(cuModuleGetFunction(&again, module, "subtract"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&again, module, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetFunction(&again, module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetFunction(&again, nullptr, "add"), CUDA_ERROR_INVALID_HANDLE);
  OK(cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(count, 2u);
  std::vector<CUfunction> all(2);
  OK(cuModuleEnumerateFunctions(all.data(), 2, module));
  EXPECT_TRUE((all[0] == add && all[1] == read) || (all[0] == read && all[1] == add));
  OK(cuFuncGetModule(&owner, add));
  EXPECT_EQ(owner, module);
  const char* name = nullptr;
  OK(cuFuncGetName(&name, add));
  EXPECT_STREQ(name, "add");

  OK(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
  EXPECT_EQ(bytes, 4u);
  OK(cuMemcpyDtoH(&value, counter, 4));
  EXPECT_EQ(value, 100u);
  EXPECT_EQ(run(add, 2), 110u);
  EXPECT_EQ(run(read), 110u);
  value = 7;
  OK(cuMemcpyHtoD(counter, &value, 4));
  EXPECT_EQ(run(read), 7u);
  OK(cuModuleGetGlobal(nullptr, &bytes, module, "step"));
  OK(cuModuleGetGlobal(&counter, nullptr, module, "step"));
  EXPECT_EQ(cuModuleGetGlobal(&counter, nullptr, module, "other"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetGlobal(nullptr, nullptr, module, "step"), CUDA_ERROR_INVALID_VALUE);
  OK(cuModuleUnload(module));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncGetName(&name, add), CUDA_ERROR_INVALID_HANDLE);
  void* parameters[] = {&out};
  EXPECT_EQ(cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, LoadedTwiceShareNothing) {
  CUmodule modules[2];
  CUfunction add[2];
  for (int i = 0; i < 2; ++i) {
    OK(cuModuleLoadData(&modules[i], kCounterText));
    OK(cuModuleGetFunction(&add[i], modules[i], "add"));
  }
  EXPECT_EQ(run(add[0], 1), 105u);
  EXPECT_EQ(run(add[0], 1), 110u);
  EXPECT_EQ(run(add[1], 1), 105u);
  for (CUmodule module : modules) OK(cuModuleUnload(module));
}

TEST_F(Modules, BelongToTheirContext) {
  CUcontext other = nullptr;
  CUmodule module = nullptr;
  CUfunction read = nullptr;
  const char* name = nullptr;
  OK(cuCtxCreate(&other, nullptr, 0, 0));
  OK(cuModuleLoadData(&module, kCounterText));
  OK(cuModuleGetFunction(&read, module, "read"));
  OK(cuCtxPopCurrent(nullptr));
  void* parameters[] = {&out};
  EXPECT_EQ(cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
  OK(cuCtxDestroy(other));
  EXPECT_EQ(cuFuncGetName(&name, read), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, DescribeTheirParameters) {
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  size_t offset = 9, size = 9;
  int value = -1;
  OK(cuModuleLoadData(&module, kCounterText));
  OK(cuModuleGetFunction(&add, module, "add"));
  OK(cuFuncGetParamInfo(add, 0, &offset, &size));
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(size, 8u);
  OK(cuFuncGetParamInfo(add, 1, &offset, nullptr));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(cuFuncGetParamInfo(add, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
  EXPECT_EQ(value, 1024);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, add));
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, add), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_NUM_REGS, 3), CUDA_ERROR_INVALID_VALUE);
  OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add));
  EXPECT_EQ(value, 4096);
  CUfunctionLoadingState state;
  OK(cuFuncLoad(add));
  OK(cuFuncIsLoaded(&state, add));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  OK(cuModuleUnload(module));
}

TEST_F(Modules, SayWhatIsWrongInTheErrorLog) {
  CUmodule module = nullptr;
  char error[512] = "x", info[64] = "x";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
  void* values[] = {error, reinterpret_cast<void*>(sizeof error), info, reinterpret_cast<void*>(sizeof info), nullptr};
  const std::string bad = std::string(kCounterText) + "\n.visible .entry third() { mov.u32 %nowhere, 1; ret; }\n";
  EXPECT_EQ(cuModuleLoadDataEx(&module, bad.c_str(), 5, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_GT(reinterpret_cast<uintptr_t>(values[1]), 0u);
  EXPECT_EQ(std::strlen(error), reinterpret_cast<uintptr_t>(values[1]));
  EXPECT_NE(std::strstr(error, "%nowhere"), nullptr) << error;
  float milliseconds = -1;
  std::memcpy(&milliseconds, &values[4], sizeof milliseconds);
  EXPECT_GE(milliseconds, 0);

  values[1] = reinterpret_cast<void*>(4);  // no more than fits
  error[4] = '#';
  EXPECT_EQ(cuModuleLoadDataEx(&module, bad.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(std::strlen(error), 3u);
  EXPECT_EQ(error[4], '#');
  EXPECT_EQ(cuModuleLoadDataEx(&module, kCounterText, 1, nullptr, values), CUDA_ERROR_INVALID_VALUE);
  CUjit_option unknown = static_cast<CUjit_option>(1000);
  EXPECT_EQ(cuModuleLoadDataEx(&module, kCounterText, 1, &unknown, values), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, BadImagesAreRefusedWithTheDriversCodes) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(nullptr, kCounterText), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&module, "words that are no code"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&module, ".version 99.0\n.target sm_50\n.address_size 64\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(cuModuleLoadData(&module, ".version 8.0\n.target sm_250\n.address_size 64\n"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere/module.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, LoadFromFiles) {
  const std::string path = vg::test::scratchFile("counter_module.ptx");
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(kCounterText, file);
  std::fclose(file);
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  OK(cuModuleLoad(&module, path.c_str()));
  OK(cuModuleGetFunction(&add, module, "add"));
  EXPECT_EQ(run(add, 3), 115u);
  OK(cuModuleUnload(module));
  std::remove(path.c_str());
}

// PTX that went through a preprocessor begins with a line of its own, whichever way it comes in. Lines are those of the
// text.
TEST_F(Modules, MarkersOfAPreprocessorMayComeFirst) {
  for (const std::string marker : {"# 1 \"counter.cu\"\n", "\n  #line 40 \"counter.cu\"\n"}) {
    const std::string text = marker + kCounterText, path = vg::test::scratchFile("marked_module.ptx");
    FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
    const auto expectCounter = [&](CUmodule module) {
      CUfunction add = nullptr;
      OK(cuModuleGetFunction(&add, module, "add"));
      EXPECT_EQ(run(add, 3), 115u);
    };
    CUmodule module = nullptr;
    OK(cuModuleLoadData(&module, text.c_str()));
    expectCounter(module);
    OK(cuModuleUnload(module));
    OK(cuModuleLoad(&module, path.c_str()));
    expectCounter(module);
    OK(cuModuleUnload(module));
    for (const bool fromFile : {false, true}) {
      CUlinkState link = nullptr;
      void* image = nullptr;
      OK(cuLinkCreate(0, nullptr, nullptr, &link));
      if (fromFile)
        OK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path.c_str(), 0, nullptr, nullptr));
      else
        OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1, "marked", 0, nullptr,
                         nullptr));
      OK(cuLinkComplete(link, &image, nullptr));
      OK(cuModuleLoadData(&module, image));
      expectCounter(module);
      OK(cuModuleUnload(module));
      OK(cuLinkDestroy(link));
    }
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    OK(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuLibraryGetKernel(&kernel, library, "add"));
    OK(cuLibraryUnload(library));
    std::remove(path.c_str());
    const std::string broken =
        marker + ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\nadd.u32 1;\nret;\n}\n";
    char log[512] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    EXPECT_EQ(cuModuleLoadDataEx(&module, broken.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX);
    const auto line =
        std::count(broken.begin(), broken.begin() + static_cast<ptrdiff_t>(broken.find("add.u32")), '\n') + 1;
    EXPECT_NE(std::string(log).find("line " + std::to_string(line)), std::string::npos) << log;
  }
}

TEST_F(Modules, ManagedVariablesAreSeenByTheHost) {
  CUmodule module = nullptr;
  CUfunction bump = nullptr;
  CUdeviceptr address = 0;
  OK(cuModuleLoadData(&module, kManagedText));
  OK(cuModuleGetFunction(&bump, module, "bump"));
  OK(cuModuleGetGlobal(&address, nullptr, module, "shared_value"));
  volatile unsigned& value = *reinterpret_cast<unsigned*>(address);
  EXPECT_EQ(value, 41u);
  OK(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  OK(cuCtxSynchronize());
  EXPECT_EQ(value, 42u);
  OK(cuModuleUnload(module));
}

TEST_F(Modules, UnloadingWaitsForTheirKernels) {
  for (int round = 0; round < 20; ++round) {
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    CUstream stream = nullptr;
    unsigned number = 1, value = 0;
    void* parameters[] = {&out, &number};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuModuleLoadData(&module, kCounterText));
    OK(cuModuleGetFunction(&add, module, "add"));
    for (int i = 0; i < 50; ++i) OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    OK(cuModuleUnload(module));
    OK(cuMemcpyDtoH(&value, out, 4));
    EXPECT_EQ(value, 350u);
    OK(cuStreamDestroy(stream));
  }
}

// A kernel of many values that says how many threads its blocks have at most.
std::string kernelOfManyValues(unsigned mostThreads) {
  std::string text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry sum(.param .u64 p)\n.maxntid " +
                     std::to_string(mostThreads) + "\n{ .reg .b64 %a; .reg .u32 %v<301>; ld.param.u64 %a, [p];\n";
  for (int n = 0; n < 300; ++n) text += "ld.volatile.global.u32 %v" + std::to_string(n) + ", [%a];\n";
  text += "mov.u32 %v300, 0;\n";
  for (int n = 0; n < 300; ++n) text += "add.u32 %v300, %v300, %v" + std::to_string(n) + ";\n";
  return text + "st.global.u32 [%a+4], %v300; ret; }\n";
}

// Registers go to warps in steps, so that all of them divided by the threads may be too many.
TEST_F(Modules, KernelsHaveNoMoreRegistersThanTheirLargestBlockMayTake) {
  OK(cuMemsetD32(out, 1, 16));
  for (unsigned threads = 32; threads <= 1024; threads += 32) {
    CUmodule module = nullptr;
    CUfunction sum = nullptr;
    int registers = 0;
    void* parameters[] = {&out};
    OK(cuModuleLoadData(&module, kernelOfManyValues(threads).c_str()));
    OK(cuModuleGetFunction(&sum, module, "sum"));
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, sum));
    EXPECT_GE(registers, 64) << threads;
    OK(cuLaunchKernel(sum, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr)) << threads << ", " << registers;
    OK(cuModuleUnload(module));
  }
  unsigned value = 0;
  OK(cuMemcpyDtoH(&value, out + 4, sizeof value));
  EXPECT_EQ(value, 300u);
}

TEST_F(Modules, AreLoadedFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([this] {
      EXPECT_EQ(cuCtxSetCurrent(primary), CUDA_SUCCESS);
      for (int round = 0; round < 20; ++round) {
        CUmodule module = nullptr;
        CUfunction read = nullptr;
        EXPECT_EQ(cuModuleLoadData(&module, kCounterText), CUDA_SUCCESS);
        EXPECT_EQ(cuModuleGetFunction(&read, module, "read"), CUDA_SUCCESS);
        EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Modules, AreLinkedFromSeveralTexts) {
  CUlinkState link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  OK(cuLinkCreate(0, nullptr, nullptr, &link));
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kCallerText), sizeof kCallerText, "caller", 0, nullptr,
                   nullptr));
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kCalleeText), sizeof kCalleeText, "callee", 0, nullptr,
                   nullptr));
  OK(cuLinkComplete(link, &image, &size));
  ASSERT_NE(image, nullptr);
  const std::vector<char> kept(static_cast<char*>(image), static_cast<char*>(image) + size);
  OK(cuLinkDestroy(link));
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
  CUmodule module = nullptr;
  CUfunction work = nullptr;
  OK(cuModuleLoadData(&module, kept.data()));  // the application may keep a copy
  OK(cuModuleGetFunction(&work, module, "work"));
  EXPECT_EQ(run(work, 14), 42u);
  OK(cuModuleUnload(module));
}

TEST_F(Modules, ALinkOfNothingIsAModuleThatHoldsNothing) {
  CUlinkState link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  OK(cuLinkCreate(0, nullptr, nullptr, &link));
  OK(cuLinkComplete(link, &image, &size));
  EXPECT_GT(size, 0u);
  void* again = nullptr;
  EXPECT_EQ(cuLinkComplete(link, &again, &size), CUDA_ERROR_INVALID_HANDLE);  // as an H200 answers, of any link
  CUmodule module = nullptr;
  unsigned count = 1;
  OK(cuModuleLoadData(&module, image));
  OK(cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(count, 0u);
  OK(cuModuleUnload(module));
  OK(cuLinkDestroy(link));
}

TEST_F(Modules, ALinkTellsOfBadTextWhenItIsAdded) {
  constexpr char kUnknown[] =
      ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry x() { bogus.u32 %r1; ret; }\n";
  constexpr char kTooNew[] = ".version 99.0\n.target sm_50\n.address_size 64\n";
  CUlinkState link = nullptr;
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  OK(cuLinkCreate(2, options, values, &link));
  const auto add = [&](const char* text) {
    return cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(text), std::strlen(text) + 1, "n", 0, nullptr,
                         nullptr);
  };
  EXPECT_EQ(add(kUnknown), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(add(kTooNew), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_STRNE(log, "");
  EXPECT_EQ(add(kCounterText), CUDA_SUCCESS);  // the link is none the worse
  void* image = nullptr;
  size_t size = 0;
  OK(cuLinkComplete(link, &image, &size));
  OK(cuLinkDestroy(link));
}

TEST_F(Modules, ALinkInWhichTwoPartsDefineANameIsOfNoUse) {
  CUlinkState link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  OK(cuLinkCreate(0, nullptr, nullptr, &link));
  const auto add = [&] {
    return cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kCounterText), std::strlen(kCounterText) + 1, "n", 0,
                         nullptr, nullptr);
  };
  OK(add());
  EXPECT_EQ(add(), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_EQ(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_EQ(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_SOURCE);
  OK(cuLinkDestroy(link));
}

TEST_F(Modules, TextIsNotCompiledForAnotherDevice) {
  CUmodule module = nullptr;
  CUdevice device;
  int major = 0, minor = 0;
  OK(cuCtxGetDevice(&device));
  OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  CUjit_option option = CU_JIT_TARGET;
  const auto load = [&](uintptr_t target) {
    void* value = reinterpret_cast<void*>(target);
    const CUresult result = cuModuleLoadDataEx(&module, kCounterText, 1, &option, &value);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    }
    return result;
  };
  EXPECT_EQ(load(static_cast<uintptr_t>(major * 10 + minor)), CUDA_SUCCESS);
  EXPECT_EQ(load(CU_TARGET_COMPUTE_50), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_EQ(load(999), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_EQ(load(10), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, LinksRefuseWhatTheyCannotTake) {
  CUlinkState link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  char native[] = "\177ELF";
  OK(cuLinkCreate(0, nullptr, nullptr, &link));
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, native, sizeof native, "n", 0, nullptr, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLinkAddData(link, static_cast<CUjitInputType>(77), native, sizeof native, "n", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, native, 0, "n", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, native, sizeof native, "n", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nowhere/file.ptx", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  OK(cuLinkDestroy(link));
  EXPECT_EQ(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
