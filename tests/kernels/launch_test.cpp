#include <array>
#include <cstring>
#include <thread>

#include "kernels/fixture.h"

namespace kernels {
namespace {

std::string fillWithIndex() {
  return module(entry("kernel", {".u64", ".u32"},
                      std::string(kIndices) + "ld.param.u32 %r6, [p1];\nadd.u32 %r5, %r2, %r6;\n" + kStore));
}

TEST_F(KernelTest, EveryThreadRunsWithItsArguments) {
  const CUfunction fill = function(fillWithIndex());
  const CUdeviceptr out = allocate(1000 * 96 * 4);
  ASSERT_EQ(run(fill, 1000, 96, out, 7u), CUDA_SUCCESS);
  const std::vector<uint32_t> values = read(out, 1000 * 96);
  for (uint32_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i + 7);
}

TEST_F(KernelTest, OddBlockSizesRunEveryThreadOnce) {
  const CUfunction count =
      function(module(entry("kernel", {".u64"}, "ld.param.u64 %rd1, [p0];\natom.global.add.u32 %r1, [%rd1], 1;\n")));
  uint32_t expected = 0;
  const CUdeviceptr out = allocate(4);
  const unsigned shapes[][3] = {{1, 1, 1}, {33, 1, 1}, {7, 5, 3}, {2, 3, 1}, {1, 1, 64}, {1, 1024, 1}, {16, 16, 4}};
  for (const auto& shape : shapes) {
    CUdeviceptr pointer = out;
    void* values[] = {&pointer};
    ASSERT_EQ(cuLaunchKernel(count, 3, 2, 2, shape[0], shape[1], shape[2], 0, nullptr, values, nullptr), CUDA_SUCCESS);
    expected += 12 * shape[0] * shape[1] * shape[2];
    ASSERT_EQ(read(out, 1)[0], expected);
  }
}

TEST_F(KernelTest, ParametersMayComeInOneBuffer) {
  const CUfunction fill = function(fillWithIndex());
  const CUdeviceptr out = allocate(32 * 4);
  struct {
    CUdeviceptr out;
    uint32_t add;
  } packed{out, 3};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  ASSERT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 32)[31], 34u);
  // A buffer that is too small is taken, as by the recorded driver; what it lacks is zero.
  size = 8;
  ASSERT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 32)[31], 31u);
  void* unknown[] = {reinterpret_cast<void*>(77), &size, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, unknown), CUDA_ERROR_INVALID_VALUE);
}

// Far more launches than a call waits for, of a stream that cannot go on before the last of them is queued, and of one
// that goes on meanwhile.
TEST_F(KernelTest, LaunchesFarAheadOfTheirStreamRun) {
  constexpr unsigned kLaunches = 5000;
  const CUfunction count =
      function(module(entry("kernel", {".u64"}, "ld.param.u64 %rd1, [p0];\natom.global.add.u32 %r1, [%rd1], 1;\n")));
  CUdeviceptr out = allocate(8);
  const CUdeviceptr gate = out + 4;
  void* values[] = {&out};
  CUstream stream;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (const bool stands : {true, false}) {
    ASSERT_EQ(cuMemsetD32(out, 0, 2), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitValue32(stream, gate, stands, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    for (unsigned n = 0; n < kLaunches; ++n)
      ASSERT_EQ(cuLaunchKernel(count, 2, 1, 1, 64, 1, 1, 0, stream, values, nullptr), CUDA_SUCCESS);
    EXPECT_TRUE(!stands || read(out, 1)[0] == 0);
    ASSERT_EQ(cuMemsetD32(gate, 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(read(out, 1)[0], kLaunches * 128);
  }
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(KernelTest, BadLaunchesAreRefused) {
  const CUfunction fill = function(fillWithIndex());
  CUdeviceptr out = allocate(4096);
  uint32_t add = 0;
  void* values[] = {&out, &add};
  void* missing[] = {&out, nullptr};
  const auto with = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned bz, unsigned shared, void** args) {
    return cuLaunchKernel(fill, gx, gy, 1, bx, by, bz, shared, nullptr, args, nullptr);
  };
  EXPECT_EQ(with(0, 1, 32, 1, 1, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 65536, 32, 1, 1, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 0, 1, 1, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1025, 1, 1, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 32, 32, 2, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 1, 65, 0, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 32, 1, 1, 48 * 1024 + 1, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 32, 1, 1, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 32, 1, 1, 0, missing), CUDA_ERROR_INVALID_VALUE);
  int local = 0;
  for (CUfunction bad : {CUfunction{}, reinterpret_cast<CUfunction>(&local), reinterpret_cast<CUfunction>(8)})
    EXPECT_EQ(cuLaunchKernel(bad, 1, 1, 1, 32, 1, 1, 0, nullptr, values, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(&local), values, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(with(1, 1, 32, 1, 1, 0, values), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(KernelTest, StaleFunctionsAreInvalidHandles) {
  CUmodule loaded = load(fillWithIndex());
  CUfunction fill = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&fill, loaded, "kernel"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleUnload(loaded), CUDA_SUCCESS);
  EXPECT_EQ(launch(fill, 1, 32, CUdeviceptr{0}, 0u), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(KernelTest, BlockSizesThatAKernelFixesAreKept) {
  const CUfunction required = function(module(entry("kernel", {}, "", ".reqntid 64, 1, 1")));
  EXPECT_EQ(run(required, 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(run(required, 1, 32), CUDA_ERROR_INVALID_VALUE);
  const CUfunction limited = function(module(entry("kernel", {}, "", ".maxntid 128, 1, 1")));
  EXPECT_EQ(run(limited, 1, 128), CUDA_SUCCESS);
  EXPECT_EQ(run(limited, 1, 129), CUDA_ERROR_INVALID_VALUE);
  int most = 0;
  EXPECT_EQ(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, limited), CUDA_SUCCESS);
  EXPECT_EQ(most, 128);
}

// Recorded on an H200, launched in five ways: the grid has blocks of the size that the code demands.
TEST_F(KernelTest, BlocksOfOneThreadAreAsLargeAsTheCodeDemands) {
  const CUfunction count = function(module(entry(
      "kernel", {".u64"}, "ld.param.u64 %rd1, [p0];\natom.global.add.u32 %r1, [%rd1], 1;\n", ".reqntid 8, 4, 2")));
  CUdeviceptr out = allocate(4);
  void* values[] = {&out};
  const auto launches = [&](const unsigned(&block)[3]) {
    return cuLaunchKernel(count, 3, 2, 1, block[0], block[1], block[2], 0, nullptr, values, nullptr);
  };
  ASSERT_EQ(launches({1, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 6u * 64);
  ASSERT_EQ(launches({8, 4, 2}), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 2 * 6u * 64);
  EXPECT_EQ(launches({64, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launches({1, 1, 2}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuLaunchCooperativeKernel(count, 3, 2, 1, 1, 1, 1, 0, nullptr, values), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 3 * 6u * 64);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = count;
  params.gridDimX = 3;
  params.gridDimY = 2;
  params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = values;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 4 * 6u * 64);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

// Each kind of reduction, with and without the number of threads, which is a constant or in a register.
TEST_F(KernelTest, BarriersReduceOfAsManyThreadsAsTheyAreTold) {
  for (const std::string counted : {"", "%r7, ", "64, "}) {
    const std::string among = (counted.empty() ? "0, " : "%r6, ") + counted;
    const CUfunction kernel = function(
        module(entry("kernel", {".u64"},
                     std::string(kIndices) + "mov.u32 %r6, 3;\nmov.u32 %r7, %r4;\nsetp.eq.u32 %p1, %r1, 5;\n" +
                         "barrier.red.or.pred %p2, " + among + "%p1;\nbarrier.red.and.pred %p3, " + among +
                         "!%p1;\nbar.red.popc.u32 %r8, " + among + "!%p1;\nselp.u32 %r9, 100, 0, %p2;\n" +
                         "selp.u32 %r10, 1000, 0, %p3;\nadd.u32 %r5, %r8, %r9;\nadd.u32 %r5, %r5, %r10;\n" + kStore)));
    const CUdeviceptr out = allocate(64 * 4);
    void* parameters[] = {const_cast<CUdeviceptr*>(&out)};
    ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(read(out, 64), std::vector<uint32_t>(64, 63 + 100)) << among;
  }
}

std::string reverseInShared() {
  return module(".extern .shared .align 4 .b32 dynamic[];\n" +
                entry("kernel", {".u64"},
                      std::string(kIndices) +
                          "mov.u32 %r6, dynamic;\nshl.b32 %r7, %r1, 2;\nadd.u32 %r8, %r6, %r7;\n"
                          "st.shared.u32 [%r8], %r2;\nbar.sync 0;\nsub.u32 %r9, %r4, %r1;\nsub.u32 %r9, %r9, 1;\n"
                          "shl.b32 %r9, %r9, 2;\nadd.u32 %r9, %r6, %r9;\nld.shared.u32 %r5, [%r9];\n" +
                          kStore));
}

TEST_F(KernelTest, BlocksShareMemoryAcrossABarrier) {
  const CUfunction reverse = function(reverseInShared());
  for (unsigned threads : {32u, 100u, 256u, 1024u}) {
    CUdeviceptr out = allocate(20 * threads * 4);
    void* values[] = {&out};
    ASSERT_EQ(cuLaunchKernel(reverse, 20, 1, 1, threads, 1, 1, threads * 4, nullptr, values, nullptr), CUDA_SUCCESS);
    const std::vector<uint32_t> got = read(out, 20 * threads);
    for (uint32_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], i / threads * threads + threads - 1 - i % threads) << threads;
  }
}

TEST_F(KernelTest, MoreDynamicSharedMemoryMustBeAskedFor) {
  const CUfunction reverse = function(reverseInShared());
  CUdeviceptr out = allocate(4096);
  void* values[] = {&out};
  const auto with = [&](unsigned bytes) {
    const CUresult result = cuLaunchKernel(reverse, 1, 1, 1, 32, 1, 1, bytes, nullptr, values, nullptr);
    return result ? result : cuCtxSynchronize();
  };
  int most = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device_), CUDA_SUCCESS);
  EXPECT_EQ(with(static_cast<unsigned>(most)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most), CUDA_SUCCESS);
  EXPECT_EQ(with(static_cast<unsigned>(most)), CUDA_SUCCESS);
}

TEST_F(KernelTest, ModuleVariablesAreInitialisedAndKept) {
  const std::string text = module(
      ".global .align 4 .u32 counter = 40;\n.const .align 4 .b32 table[4] = {10, 20, 30, 40};\n"
      ".global .align 8 .u64 pointer = generic(counter);\n" +
      entry("kernel", {".u64"},
            std::string(kIndices) +
                "ld.global.u64 %rd8, [pointer];\nld.global.u32 %r6, [%rd8];\nadd.u32 %r7, %r6, 1;\n"
                "st.global.u32 [counter], %r7;\nld.const.u32 %r8, [table+8];\nadd.u32 %r5, %r6, %r8;\n" +
                kStore));
  const CUmodule loaded = load(text);
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&kernel, loaded, "kernel"), CUDA_SUCCESS);
  const CUdeviceptr out = allocate(4);
  ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 70u);
  ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 71u);
  CUdeviceptr counter = 0, table = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal(&counter, &bytes, loaded, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(read(counter, 1)[0], 42u);
  ASSERT_EQ(cuModuleGetGlobal(&table, &bytes, loaded, "table"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 16u);
  ASSERT_EQ(cuMemsetD32(table + 8, 100, 1), CUDA_SUCCESS);
  ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 142u);
  EXPECT_EQ(cuModuleGetGlobal(&table, &bytes, loaded, "missing"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(KernelTest, TheOldLaunchInterfaceWorks) {
  const CUfunction fill = function(fillWithIndex());
  CUdeviceptr out = allocate(4 * 64 * 4);
  ASSERT_EQ(cuFuncSetBlockShape(fill, 64, 1, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncSetSharedSize(fill, 128), CUDA_SUCCESS);
  ASSERT_EQ(cuParamSetSize(fill, 12), CUDA_SUCCESS);
  ASSERT_EQ(cuParamSetv(fill, 0, &out, 8), CUDA_SUCCESS);
  ASSERT_EQ(cuParamSeti(fill, 8, 5), CUDA_SUCCESS);
  ASSERT_EQ(cuLaunchGrid(fill, 4, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 256)[255], 260u);
  EXPECT_EQ(cuFuncSetBlockShape(fill, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchGrid(fill, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetv(fill, -1, &out, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(KernelTest, ExtendedLaunchesReadTheirAttributes) {
  const CUfunction fill = function(fillWithIndex());
  CUdeviceptr out = allocate(64 * 4);
  uint32_t add = 1;
  void* values[] = {&out, &add};
  CUlaunchConfig config{};
  config.gridDimX = 2;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  CUlaunchAttribute attributes[2]{};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[0].value.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {1, 1, 1};
  config.attrs = attributes;
  config.numAttrs = 2;
  ASSERT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 64)[63], 64u);
  attributes[1].value.clusterDim = {3, 1, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attributes[1].value.clusterDim = {0, 1, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attributes[1].id = static_cast<CUlaunchAttributeID>(999);
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr), CUDA_ERROR_INVALID_VALUE);
  // What an H200 answers to advice that it does not know.
  const auto advise = [&](CUlaunchAttributeID id, int value) {
    attributes[1] = {};
    attributes[1].id = id;
    std::memcpy(&attributes[1].value, &value, sizeof value);
    return cuLaunchKernelEx(&config, fill, values, nullptr);
  };
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_SYNC_POLICY_SPIN), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 2), CUDA_SUCCESS);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 0x0303), CUDA_SUCCESS);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 0x0400), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100), CUDA_SUCCESS);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(advise(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, 2), CUDA_ERROR_INVALID_VALUE);
  int major = 0;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
  attributes[1] = {};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
  attributes[1].value.preferredClusterDim = {1, 1, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr),
            major < 10 ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS);
  config.attrs = nullptr;
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, values, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, fill, values, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(KernelTest, CooperativeGridsMeetAtAGridBarrier) {
  // Every block adds one to p0[0] and spins until all have; the last word is written after that.
  const std::string text =
      module(entry("kernel", {".u64"},
                   "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %nctaid.x;\natom.global.add.u32 %r2, [%rd1], 1;\n"
                   "AGAIN:\nld.volatile.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra AGAIN;\n"
                   "atom.global.add.u32 %r4, [%rd1+4], 1;\n"));
  const CUfunction kernel = function(text);
  CUdeviceptr out = allocate(8);
  int blocks = 0, processors = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_), CUDA_SUCCESS);
  const unsigned most = static_cast<unsigned>(blocks * processors);
  void* values[] = {&out};
  ASSERT_EQ(cuLaunchCooperativeKernel(kernel, most, 1, 1, 1, 1, 1, 0, nullptr, values), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 2)[1], most);
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel, most + 1, 1, 1, 1, 1, 1, 0, nullptr, values),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(KernelTest, OccupancyFollowsThreadsAndSharedMemory) {
  const CUfunction reverse = function(reverseInShared());
  int threads = 0, shared = 0, atMost = 0, blocks = 0;
  cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device_);
  cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device_);
  cuDeviceGetAttribute(&atMost, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device_);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, threads / 256);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 32, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, std::min(atMost, threads / 32));
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 32, 40 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(blocks, shared / (41 * 1024));
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, reverse, 32, 0, 99),
            CUDA_ERROR_INVALID_VALUE);
  int grid = 0, block = 0;
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, reverse, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(threads % block, 0);
  EXPECT_GT(grid, 0);
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSize(
                &grid, &block, reverse, [](int n) { return size_t(n) * 4; }, 0, 100),
            CUDA_SUCCESS);
  EXPECT_LE(block, 100);
  size_t free = 0;
  ASSERT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&free, reverse, 2, 128), CUDA_SUCCESS);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 128, free), CUDA_SUCCESS);
  EXPECT_GE(blocks, 2);
}

// All of it as an H200 answers.
TEST_F(KernelTest, OccupancyGoesByTheDynamicSharedMemoryThatIsAllowed) {
  constexpr size_t kDefault = 48 << 10;
  const CUfunction plain = function(fillWithIndex());
  int blocks = 0, grid = 0, block = 0, shared = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 64, kDefault), CUDA_SUCCESS);
  EXPECT_GT(blocks, 0);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 64, kDefault + 1), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, plain, nullptr, kDefault + 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(grid, 0);
  EXPECT_EQ(block, 0);
  size_t available = 0;
  ASSERT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&available, plain, 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(available, kDefault);
  // The whole of a multiprocessor is given out, with what each block has reserved of it.
  cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device_);
  ASSERT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&available, plain, 16, 32), CUDA_SUCCESS);
  EXPECT_EQ(available, static_cast<size_t>(shared / 16));
  ASSERT_EQ(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048), CUDA_SUCCESS);
  ASSERT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&available, plain, 16, 32), CUDA_SUCCESS);
  EXPECT_EQ(available, 2048u);
  // Occupancy asks for more than every kernel may have only.
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 64, 2049), CUDA_SUCCESS);
  EXPECT_GT(blocks, 0);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 64, kDefault + 1), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
}

TEST_F(KernelTest, OccupancyDoesNotAskForTheBlocksThatTheCodeAllows) {
  const CUfunction kernel =
      function(".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry kernel() .maxntid 128, 1, 1 { ret; }\n");
  int blocks = 0, threads = 0;
  cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device_);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 512, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, threads / 512);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1025, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
}

TEST_F(KernelTest, ClusterAttributesTakeWhatNoLaunchCouldUse) {
  const CUfunction kernel = function(fillWithIndex());
  int value = 0;
  ASSERT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 50), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, kernel), CUDA_SUCCESS);
  EXPECT_EQ(value, 50);
  EXPECT_EQ(cuLaunchKernel(kernel, 50, 1, 1, 1, 1, 1, 0, nullptr, std::array<void*, 2>{&value, &value}.data(), nullptr),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, kernel), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
}

TEST_F(KernelTest, OccupancyKnowsWhatTheKernelPrefers) {
  const CUfunction kernel = function(reverseInShared());
  int blocks = 0, preference = 0, shared = 0;
  cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device_);
  const auto resident = [&](size_t bytes) {
    EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, bytes), CUDA_SUCCESS);
    return blocks;
  };
  const int all = resident(4096);
  ASSERT_EQ(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(resident(4096), 1);  // of the smallest part, 8 KiB, that a block of 4 KiB and its reserved one fits
  EXPECT_EQ(resident(30000), 1);
  ASSERT_EQ(cuFuncGetAttribute(&preference, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kernel), CUDA_SUCCESS);
  EXPECT_EQ(preference, -1);
  ASSERT_EQ(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_SHARED), CUDA_SUCCESS);
  EXPECT_EQ(resident(4096), all);
  const int percent = 16 * 1024 * 100 / shared;
  ASSERT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent), CUDA_SUCCESS);
  EXPECT_EQ(resident(4096), 16 * 1024 / (4096 + 1024));
  ASSERT_EQ(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_NONE), CUDA_SUCCESS);
  EXPECT_EQ(resident(4096), 16 * 1024 / (4096 + 1024));  // the other preference stays
  ASSERT_EQ(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_SHARED), CUDA_SUCCESS);
  EXPECT_EQ(resident(4096), all);
}

// Codes of an H200, of launches with more than one thing wrong too.
TEST_F(KernelTest, LaunchesAreRefusedForWhatIsWrongFirst) {
  const CUfunction kernel = function(fillWithIndex());
  CUdeviceptr out = allocate(1024);
  uint32_t add = 0;
  void* values[] = {&out, &add};
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel, 1, 1, 1, 32, 1, 1, 60000, nullptr, values),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  char bytes[64] = {};
  std::memcpy(bytes, &out, sizeof out);
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  size = 16;
  EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  const auto with = [&](CUlaunchAttributeID id, auto set, unsigned threads = 32) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    set(attribute.value);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = threads;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cuLaunchKernelEx(&config, kernel, values, nullptr);
  };
  using Value = CUlaunchAttributeValue;
  const auto noBlocks = [](Value& v) { v.clusterDim.y = v.clusterDim.z = 1; };
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, noBlocks), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, noBlocks, 0),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);  // looked at first
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, [](Value&) {}), CUDA_ERROR_INVALID_VALUE);
  const auto domains = [](unsigned last) { return [last](Value& v) { v.memSyncDomainMap.remote = last; }; };
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, domains(3)), CUDA_SUCCESS);
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, domains(4)), CUDA_ERROR_INVALID_VALUE);
  const auto third = [](Value& v) { v.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(2); };
  EXPECT_EQ(with(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, third), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(KernelTest, ModulesAreRefusedAsTheDriverRefusesThem) {
  CUmodule loaded = nullptr;
  const auto load = [&](const std::string& text, std::vector<CUjit_option> options = {},
                        std::vector<uintptr_t> values = {}) {
    std::vector<void*> pointers;
    for (const uintptr_t value : values) pointers.push_back(reinterpret_cast<void*>(value));
    return cuModuleLoadDataEx(&loaded, text.c_str(), static_cast<unsigned>(options.size()), options.data(),
                              pointers.data());
  };
  const std::string good = module(".visible .entry kernel() .reqntid 32, 2, 1\n{\nret;\n}\n");
  EXPECT_EQ(load(module(".extern .func other();\n.visible .entry kernel()\n{\ncall other;\nret;\n}\n")),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(module(".visible .entry kernel() .maxntid 64, 1, 1 .reqntid 32, 1, 1\n{\nret;\n}\n")),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(good, {CU_JIT_CACHE_MODE}, {25}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(good, {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, {100}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(good, {CU_JIT_GLOBAL_SYMBOL_NAMES}, {0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(good, {CU_JIT_THREADS_PER_BLOCK, CU_JIT_TARGET}, {1, 90}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(load(good), CUDA_SUCCESS);
  CUfunction kernel = nullptr;
  int threads = 0;
  ASSERT_EQ(cuModuleGetFunction(&kernel, loaded, "kernel"), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel), CUDA_SUCCESS);
  EXPECT_EQ(threads, 1024);  // a size that the code demands is no bound
  CUdeviceptr variable = 0;
  EXPECT_EQ(cuModuleGetGlobal(&variable, nullptr, loaded, "nobody"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetGlobal(&variable, nullptr, loaded, "kernel"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetGlobal(&variable, nullptr, loaded, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleUnload(loaded), CUDA_SUCCESS);
}

TEST_F(KernelTest, KernelsAreLaunchedFromManyThreadsAtOnce) {
  const CUmodule loaded =
      load(fillWithIndex() + entry("other", {".u64", ".u32"}, std::string(kIndices) + "mov.u32 %r5, 9;\n" + kStore));
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      CUfunction kernel = nullptr;
      EXPECT_EQ(cuModuleGetFunction(&kernel, loaded, number % 2 ? "kernel" : "other"), CUDA_SUCCESS);
      CUstream stream = nullptr;
      EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      CUdeviceptr out = 0;
      EXPECT_EQ(cuMemAlloc(&out, 1024 * 4), CUDA_SUCCESS);
      for (uint32_t round = 0; round < 20; ++round) {
        uint32_t add = round;
        void* values[] = {&out, &add};
        EXPECT_EQ(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, values, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        EXPECT_EQ(read(out, 1024)[1023], number % 2 ? 1023 + round : 9);
      }
      cuStreamDestroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(KernelTest, IntegerDivisionByZeroGivesAValue) {
  const CUfunction divide = function(module(entry(
      "kernel", {".u64", ".u32"},
      std::string(kIndices) + "ld.param.u32 %r6, [p1];\ndiv.u32 %r5, %r2, %r6;\nrem.s32 %r7, %r2, %r6;\n" + kStore)));
  const CUdeviceptr out = allocate(32 * 4);
  EXPECT_EQ(run(divide, 1, 32, out, 0u), CUDA_SUCCESS);
  ASSERT_EQ(run(divide, 1, 32, out, 2u), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 32)[31], 15u);
}

}  // namespace
}  // namespace kernels
