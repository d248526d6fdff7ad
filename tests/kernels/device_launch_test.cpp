// Kernels that launch kernels, by the driver API: modules, links, libraries, graphs, threads of the host, faults.
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/fixture.h"

namespace kernels {
namespace {

// The device runtime's functions as CUDA 12 and later declare them.
constexpr const char* kDeclared =
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param "
    ".align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n";
// And as they were before.
constexpr const char* kDeclaredOld =
    ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
    ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param "
    ".align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n";

std::string size3(const std::string& name, const std::string& x) {
  return ".param .align 4 .b8 " + name + "[12];\nst.param.b32 [" + name + "], " + x + ";\nst.param.b32 [" + name +
         "+4], 1;\nst.param.b32 [" + name + "+8], 1;\n";
}

// Launches `kernel` with one pointer, %rd1, in a stream; %r20 is the error, when there is a buffer.
std::string launchOf(const std::string& kernel, const std::string& blocks, const std::string& threads,
                     const std::string& stream = "0") {
  return "{\nmov.b64 %rd20, " + kernel +
         ";\n.param .b64 f;\nst.param.b64 [f], %rd20;\n"
         ".param .b32 m;\nst.param.b32 [m], 0;\n.param .b64 r;\n" +
         size3("g", blocks) + size3("b", threads) +
         "call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, m);\nld.param.b64 %rd21, [r];\n}\n"
         "setp.eq.u64 %p7, %rd21, 0;\n@%p7 bra SKIP_" +
         kernel +
         ";\nst.u64 [%rd21], %rd1;\n{\n.param .b64 p;\nst.param.b64 [p], %rd21;\n.param .b64 s;\nst.param.b64 [s], " +
         stream + ";\n.param .b32 e;\ncall (e), __cudaCDP2LaunchDeviceV2, (p, s);\nld.param.b32 %r20, [e];\n}\nSKIP_" +
         kernel + ":\n";
}

std::string pointer() { return "ld.param.u64 %rd1, [p0];\n"; }
std::string count(const std::string& name = "count") {
  return entry(name, {".u64"}, pointer() + "atom.global.add.u32 %r1, [%rd1], 1;\n");
}
std::string launching() {
  return module(kDeclared + count() + entry("kernel", {".u64"}, pointer() + launchOf("count", "3", "50")));
}

using DeviceLaunch = KernelTest;

TEST_F(DeviceLaunch, EveryThreadOfAParentLaunches) {
  const CUfunction parent = function(launching());
  const CUdeviceptr out = allocate(4);
  ASSERT_EQ(run(parent, 4, 40, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 4u * 40 * 3 * 50);
  EXPECT_EQ(run(parent, 0x10, 1, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 4u * 40 * 3 * 50 + 16 * 3 * 50);
}

TEST_F(DeviceLaunch, OlderProgramsGiveTheLaunchWithTheBuffer) {
  const std::string parent = pointer() +
                             "{\n.param .b64 a;\nst.param.b64 [a], 64;\n.param .b64 n;\nst.param.b64 [n], 8;\n.param "
                             ".b64 r;\ncall (r), cudaGetParameterBuffer, (a, n);\nld.param.b64 %rd3, [r];\n}\n"
                             "st.u64 [%rd3], %rd1;\nmov.b64 %rd4, count;\n"
                             "{\n.param .b64 f;\nst.param.b64 [f], %rd4;\n.param .b64 p;\nst.param.b64 [p], %rd3;\n" +
                             size3("g", "2") + size3("b", "33") +
                             ".param .b32 m;\nst.param.b32 [m], 0;\n.param .b64 t;\nst.param.b64 [t], 0;\n.param .b32 "
                             "e;\ncall (e), cudaLaunchDevice, (f, p, g, b, m, t);\n}\n";
  const CUfunction kernel = function(module(kDeclaredOld + count() + entry("kernel", {".u64"}, parent)));
  const CUdeviceptr out = allocate(4);
  ASSERT_EQ(run(kernel, 1, 5, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 5u * 66);
}

TEST_F(DeviceLaunch, LinksTakeTheDeviceRuntimesLibrary) {
  CUlinkState link;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  std::string parent = module(std::string(kDeclared) + ".extern .entry count(.param .u64 p);\n" +
                              entry("kernel", {".u64"}, pointer() + launchOf("count", "1", "7")));
  std::string child = module(count());
  std::string library = "!<arch>\ncuda_device_runtime.o/";
  ASSERT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, parent.data(), parent.size() + 1, "parent", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, child.data(), child.size() + 1, "child", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, library.data(), library.size(), "cudadevrt", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  library = "!<arch>\nsomething_else.o/";
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, library.data(), library.size(), "other", 0, nullptr, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  void* image;
  size_t size;
  ASSERT_EQ(cuLinkComplete(link, &image, &size), CUDA_SUCCESS);
  const CUfunction kernel = function(static_cast<const char*>(image));
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  const CUdeviceptr out = allocate(4);
  ASSERT_EQ(run(kernel, 1, 3, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 21u);
}

TEST_F(DeviceLaunch, KernelsOfLibrariesLaunchInTheContextThatLaunchesThem) {
  const std::string text = launching();
  CUlibrary library;
  CUkernel kernel;
  ASSERT_EQ(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "kernel"), CUDA_SUCCESS);
  const CUdeviceptr out = allocate(4);
  ASSERT_EQ(run(reinterpret_cast<CUfunction>(kernel), 1, 2, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 300u);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

// What follows in a stream, and an event, wait for the children too.
TEST_F(DeviceLaunch, AStreamGoesOnWhenTheChildrenAreDone) {
  const CUfunction parent = function(launching());
  const CUdeviceptr out = allocate(4);
  CUstream stream, other;
  CUevent event;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  for (int round = 1; round <= 20; ++round) {
    CUdeviceptr where = out;
    void* values[] = {&where};
    uint32_t seen = 0;
    ASSERT_EQ(cuLaunchKernel(parent, 2, 1, 1, 10, 1, 1, 0, stream, values, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync(&seen, out, sizeof seen, other), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
    ASSERT_EQ(seen, 3000u * round);
  }
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(DeviceLaunch, KernelNodesOfGraphsLaunchTheirs) {
  const CUfunction parent = function(launching());
  const CUdeviceptr out = allocate(8);
  CUdeviceptr where = out;
  void* values[] = {&where};
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuLaunchKernel(parent, 1, 1, 1, 4, 1, 1, 0, stream, values, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoDAsync(out + 4, out, 4, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  for (uint32_t round = 1; round <= 10; ++round) {
    ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    ASSERT_EQ(read(out, 2), (std::vector<uint32_t>{600 * round, 600 * round}));
  }
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(DeviceLaunch, ThreadsOfTheHostLaunchParentsSideBySide) {
  const CUfunction parent = function(launching());
  std::vector<std::thread> threads;
  std::vector<CUdeviceptr> outs;
  for (int i = 0; i < 4; ++i) outs.push_back(allocate(4));
  for (const CUdeviceptr out : outs)
    threads.emplace_back([this, parent, out] {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      CUstream stream;
      EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      CUdeviceptr where = out;
      void* values[] = {&where};
      for (int round = 0; round < 25; ++round)
        EXPECT_EQ(cuLaunchKernel(parent, 2, 1, 1, 8, 1, 1, 0, stream, values, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  for (const CUdeviceptr out : outs) EXPECT_EQ(read(out, 1)[0], 25u * 16 * 150);
}

// Of a child, with its name; in a process of its own, whose device is lost.
TEST_F(DeviceLaunch, AFaultOfAChildIsTheContexts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [&] {
    const std::string bad = entry("bad", {".u64"}, "st.global.u32 [16], 1;\n");
    const std::string parent = pointer() + launchOf("bad", "1", "1") + launchOf("count", "1", "1");
    const CUfunction kernel = function(module(kDeclared + bad + count() + entry("kernel", {".u64"}, parent)));
    const CUdeviceptr out = allocate(4);
    EXPECT_EQ(launch(kernel, 1, 1, out), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(launch(kernel, 1, 1, out), CUDA_ERROR_ILLEGAL_ADDRESS);
    std::exit(HasFailure());
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "kernel bad ended with error 700: illegal address");
}

TEST_F(DeviceLaunch, WhatIsNoKernelIsNotLaunched) {
  const std::string parent = pointer() +
                             "mov.b64 %rd20, 12345;\n{\n.param .b64 f;\nst.param.b64 [f], %rd20;\n.param .b32 m;\n"
                             "st.param.b32 [m], 0;\n.param .b64 r;\n" +
                             size3("g", "1") + size3("b", "1") +
                             "call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, m);\nld.param.b64 %rd21, [r];\n}\n"
                             "{\n.param .b64 p;\nst.param.b64 [p], 512;\n.param .b64 s;\nst.param.b64 [s], 0;\n.param "
                             ".b32 e;\ncall (e), __cudaCDP2LaunchDeviceV2, (p, s);\nld.param.b32 %r20, [e];\n}\n"
                             "st.global.u64 [%rd1], %rd21;\nst.global.u32 [%rd1+8], %r20;\n";
  const CUfunction kernel = function(module(kDeclared + entry("kernel", {".u64"}, parent)));
  const CUdeviceptr out = allocate(12);
  ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 3), (std::vector<uint32_t>{0, 0, 1}));
}

TEST_F(DeviceLaunch, FunctionsThatTheDeviceRuntimeLacksAreNamed) {
  const std::string text =
      module(std::string(kDeclared) + ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n" +
             entry("kernel", {".u64"}, "{\n.param .b32 e;\ncall (e), cudaDeviceSynchronize;\n}\n"));
  char log[1000] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule loaded;
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, text.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(log, "cudaDeviceSynchronize"), nullptr) << log;
}

}  // namespace
}  // namespace kernels
