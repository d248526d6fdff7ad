// Launches of clusters: what is refused, what the occupancy calculator says, how deadlocks end.
#include <cstdlib>
#include <memory>

#include "kernels/fixture.h"

namespace kernels {
namespace {

std::string hopper(const std::string& body) { return module(body, "sm_90", "8.0"); }

// p0[block] = rank of the block in its cluster, read by the block before it.
std::string rankOfNeighbour() {
  return hopper(entry("kernel", {".u64"},
                      ".shared .align 4 .u32 slot;\n"
                      "mov.u32 %r1, %cluster_ctarank;\nst.shared.u32 [slot], %r1;\n"
                      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                      "mov.u32 %r2, %cluster_nctarank;\nadd.u32 %r3, %r1, 1;\nrem.u32 %r3, %r3, %r2;\n"
                      "mov.u32 %r4, slot;\nmapa.shared::cluster.u32 %r6, %r4, %r3;\n"
                      "ld.shared::cluster.u32 %r5, [%r6];\n"
                      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                      "mov.u32 %r2, %ctaid.x;\n" +
                          std::string(kStore)));
}

struct ClusterLaunch {
  ClusterLaunch(unsigned blocks, unsigned cluster) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster, 1, 1};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
};

class ClusterTest : public KernelTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    KernelTest::SetUp();
  }
  CUresult runClusters(CUfunction kernel, unsigned blocks, unsigned cluster, CUdeviceptr out) {
    const ClusterLaunch launch(blocks, cluster);
    void* values[] = {&out};
    if (const CUresult result = cuLaunchKernelEx(&launch.config, kernel, values, nullptr)) return result;
    return cuCtxSynchronize();
  }
  // Lives until the next call.
  const CUlaunchConfig* clusters(unsigned blocks, unsigned cluster) {
    asked_ = std::make_unique<ClusterLaunch>(blocks, cluster);
    return &asked_->config;
  }

  // Faults end a process's use of its device, so each has a process of its own.
  void expectEnd(CUfunction kernel, CUresult error, const char* said) {
    const auto body = [&] {
      EXPECT_EQ(runClusters(kernel, 2, 2, allocate(4)), error);
      std::exit(HasFailure());
    };
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), said);
  }

 private:
  std::unique_ptr<ClusterLaunch> asked_;
};

TEST_F(ClusterTest, BlocksReadEachOthersSharedMemory) {
  const CUfunction kernel = function(rankOfNeighbour());
  const CUdeviceptr out = allocate(48 * 4);
  for (unsigned cluster : {1u, 2u, 3u, 8u}) {
    ASSERT_EQ(runClusters(kernel, 48, cluster, out), CUDA_SUCCESS);
    const std::vector<uint32_t> ranks = read(out, 48);
    for (uint32_t block = 0; block < 48; ++block) EXPECT_EQ(ranks[block], (block % cluster + 1) % cluster);
  }
}

TEST_F(ClusterTest, SixteenBlocksMustBeAllowed) {
  const CUfunction kernel = function(rankOfNeighbour());
  const CUdeviceptr out = allocate(32 * 4);
  EXPECT_EQ(runClusters(kernel, 32, 16, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(runClusters(kernel, 10, 4, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  ASSERT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 33), CUDA_SUCCESS);
  int allowed = 0;
  ASSERT_EQ(cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, kernel), CUDA_SUCCESS);
  EXPECT_EQ(allowed, 1);
  ASSERT_EQ(runClusters(kernel, 32, 16, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 32)[14], 15u);
}

TEST_F(ClusterTest, OccupancyCountsWholeClusters) {
  const CUfunction kernel = function(rankOfNeighbour());
  int size = 0, one = 0, four = 0;
  ASSERT_EQ(cuOccupancyMaxPotentialClusterSize(&size, kernel, clusters(32, 1)), CUDA_SUCCESS);
  EXPECT_EQ(size, 8);
  ASSERT_EQ(cuOccupancyMaxActiveClusters(&one, kernel, clusters(32, 1)), CUDA_SUCCESS);
  ASSERT_EQ(cuOccupancyMaxActiveClusters(&four, kernel, clusters(32, 4)), CUDA_SUCCESS);
  EXPECT_GT(four, 0);
  EXPECT_LE(four, one / 4);
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&four, kernel, clusters(32, 16)), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&four, kernel, clusters(10, 4)), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(&size, kernel, clusters(10, 4)), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CUlaunchConfig plain = *clusters(32, 4);
  plain.numAttrs = 0;
  ASSERT_EQ(cuOccupancyMaxActiveClusters(&four, kernel, &plain), CUDA_SUCCESS);
  EXPECT_EQ(four, 0);  // the grid has none
}

// As on an H100. cuBLAS asks so for clusters of up to 32 blocks, and chooses slower kernels where it is refused.
TEST_F(ClusterTest, OccupancyOfLargeClustersIsNoneWhereTheyAreAllowed) {
  const CUfunction kernel = function(rankOfNeighbour());
  ASSERT_EQ(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), CUDA_SUCCESS);
  for (const unsigned size : {20u, 32u}) {
    int count = -1;
    ASSERT_EQ(cuOccupancyMaxActiveClusters(&count, kernel, clusters(2 * size, size)), CUDA_SUCCESS);
    EXPECT_EQ(count, 0) << "clusters of " << size;
  }
}

TEST_F(ClusterTest, AMultiprocessorHoldsEightBlocksOfClustersAtMost) {
  const CUfunction kernel = function(rankOfNeighbour());
  int multiprocessors = 0, blocks = 0, clustersOfOne = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), CUDA_SUCCESS);
  CUlaunchConfig config = *clusters(32, 1);
  const int threads = static_cast<int>(config.blockDimX * config.blockDimY * config.blockDimZ);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuOccupancyMaxActiveClusters(&clustersOfOne, kernel, &config), CUDA_SUCCESS);
  EXPECT_GT(blocks, 8);
  EXPECT_EQ(clustersOfOne, 8 * multiprocessors);
}

TEST_F(ClusterTest, ABlockThatWaitsForWarpsThatNeverComeEndsTheLaunch) {
  // Rank 0 waits for the cluster, rank 1 at a barrier for more threads than it has.
  const CUfunction kernel = function(hopper(entry("kernel", {".u64"},
                                                  "mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 0;\n"
                                                  "@%p1 bra MEET;\nbarrier.sync 1, 96;\n"
                                                  "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")));
  expectEnd(kernel, CUDA_ERROR_LAUNCH_TIMEOUT, "block .1,0,0.: warps 0,1 at barrier 1");
}

// What an H200 answers: without a cluster, be it of one block, there is no way to its shared memory.
TEST_F(ClusterTest, WhatGoesToSharedMemoryOfAClusterNeedsOne) {
  const std::string begin =
      ".shared .align 16 .b8 words[64];\n.shared .align 8 .u64 object;\n"
      "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
      "mov.u32 %r1, words;\nmov.u32 %r2, object;\nmbarrier.init.shared.b64 [object], 1;\n";
  for (const std::string body :
       {"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], 7, [%r2];\n",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], 7, [%r2];\n",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [words+16], 16, [%r2];\n",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [words+16], 16, "
        "[%r2];\n"}) {
    const CUfunction kernel = function(module(entry("kernel", {}, begin + body + "DONE:"), "sm_90", "8.6"));
    EXPECT_EQ(runClusters(kernel, 2, 1, 0), CUDA_SUCCESS);
    const auto alone = [&] {
      EXPECT_EQ(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
      std::exit(HasFailure());
    };
    EXPECT_EXIT(alone(), ::testing::ExitedWithCode(0), "PTX line [0-9]+");
  }
}

TEST_F(ClusterTest, MemoryOfABlockThatDoesNotExistIsAnIllegalAddress) {
  const CUfunction kernel =
      function(hopper(entry("kernel", {".u64"},
                            ".shared .align 4 .u32 slot;\n"
                            "mov.u32 %r1, slot;\nadd.u32 %r1, %r1, 8192;\n"
                            "mapa.shared::cluster.u32 %r2, %r1, 1;\nld.shared::cluster.u32 %r5, [%r2];\n"
                            "mov.u32 %r2, 0;\n" +
                                std::string(kStore))));
  expectEnd(kernel, CUDA_ERROR_ILLEGAL_ADDRESS, "");
}

}  // namespace
}  // namespace kernels
