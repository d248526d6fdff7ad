// Thread-block clusters: ranks and indices, reductions and histograms in the shared memory of all blocks of a cluster,
// sizes given by the kernel and by the launch, static and dynamic shared memory, errors for sizes that cannot be.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

struct Place {
  unsigned rank, x, y, clusterX, clusterY, clusters, blocks;
};

__global__ void __cluster_dims__(2, 2, 1) whereAmI(Place* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x) return;
  Place& mine = out[blockIdx.y * gridDim.x + blockIdx.x];
  mine.rank = cluster.block_rank();
  mine.x = cluster.block_index().x;
  mine.y = cluster.block_index().y;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(mine.clusterX));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(mine.clusterY));
  unsigned columns, rows;
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(columns));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(rows));
  mine.clusters = columns * rows;
  mine.blocks = cluster.num_blocks();
}

static void testPlaces() {
  const unsigned width = 6, height = 4;
  DeviceArray<Place> places(width * height);
  whereAmI<<<dim3(width, height), 64>>>(places);
  CHECK_LAUNCH();
  const std::vector<Place> host = places.host();
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x) {
      const Place& place = host[y * width + x];
      EXPECT(place.rank == x % 2 + y % 2 * 2 && place.x == x % 2 && place.y == y % 2);
      EXPECT(place.clusterX == x / 2 && place.clusterY == y / 2 && place.clusters == 6 && place.blocks == 4);
    }
}

// Each block sums its part; rank 0 reads the sums of the others where they are.
__global__ void __cluster_dims__(4, 1, 1) reduceClusters(const int* in, int perBlock, int* out) {
  __shared__ int sums[8];
  __shared__ int total;
  const cg::cluster_group cluster = cg::this_cluster();
  int sum = 0;
  for (int i = threadIdx.x; i < perBlock; i += blockDim.x) sum += in[blockIdx.x * perBlock + i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0;
    for (unsigned i = 0; i < blockDim.x / 32; ++i) total += sums[i];
  }
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    int all = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) all += *cluster.map_shared_rank(&total, rank);
    out[blockIdx.x / cluster.num_blocks()] = all;
  }
  cluster.sync();  // nobody leaves while its memory is read
}

static void testReduction() {
  const int blocks = 24, perBlock = 1000;
  std::vector<int> in(blocks * perBlock), expected(blocks / 4);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = int(i * 37 % 1001) - 500;
    expected[i / perBlock / 4] += in[i];
  }
  DeviceArray<int> deviceIn(in), out(expected.size());
  reduceClusters<<<blocks, 256>>>(deviceIn, perBlock, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "reduction of clusters");
}

// Bins spread over the blocks of the cluster; every thread adds wherever its value's bin is.
__global__ void clusterHistogram(const unsigned* in, int size, unsigned* bins, int binCount) {
  extern __shared__ unsigned local[];
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = int(cluster.num_blocks()), each = (binCount + blocks - 1) / blocks;
  for (int i = threadIdx.x; i < each; i += blockDim.x) local[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) {
    const int bin = int(in[i] % unsigned(binCount));
    atomicAdd(cluster.map_shared_rank(local, bin / each) + bin % each, 1u);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    const int bin = int(cluster.block_rank()) * each + i;
    if (bin < binCount && local[i]) atomicAdd(&bins[bin], local[i]);
  }
}

static cudaError_t launchHistogram(int cluster, int blocks, const unsigned* in, int size, unsigned* bins,
                                   int binCount) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(128);
  config.dynamicSmemBytes = sizeof(unsigned) * ((binCount + cluster - 1) / cluster);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, clusterHistogram, in, size, bins, binCount);
}

static void testHistogram() {
  const int binCount = 1000;
  const std::vector<unsigned> in = randomWords(50001, 0, 5);
  std::vector<unsigned> expected(binCount);
  for (unsigned word : in) ++expected[word % binCount];
  DeviceArray<unsigned> deviceIn(in);
  for (int cluster : {1, 2, 4, 8}) {
    DeviceArray<unsigned> bins(binCount);
    bins.clear();
    CHECK(launchHistogram(cluster, 16, deviceIn, int(in.size()), bins, binCount));
    CHECK(cudaDeviceSynchronize());
    expectEqual(bins.host(), expected, "histogram of a cluster");
  }
  DeviceArray<unsigned> bins(binCount);
  EXPECT_CODE(launchHistogram(3, 16, deviceIn, 1, bins, binCount), cudaErrorInvalidClusterSize);
  EXPECT_CODE(launchHistogram(16, 16, deviceIn, 1, bins, binCount), cudaErrorInvalidClusterSize);
  (void)cudaGetLastError();
}

// Addresses in the window of the cluster are the same to all blocks: they can be sent from one to another.
__global__ void __cluster_dims__(2, 1, 1) sendAddresses(unsigned* out) {
  __shared__ unsigned box[2];
  __shared__ unsigned letter;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned me = cluster.block_rank();
  if (threadIdx.x == 0) {
    letter = 100 + me;
    unsigned own = unsigned(__cvta_generic_to_shared(&letter)), mine,
             theirs = unsigned(__cvta_generic_to_shared(&box[0]));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mine) : "r"(own), "r"(me));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(theirs), "r"(me ^ 1));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(theirs), "r"(mine) : "memory");
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    unsigned value, rank, isShared, isCluster;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(box[0]) : "memory");
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(box[0]));
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], 7;" : "=r"(box[1]) : "r"(box[0]) : "memory");
    unsigned* const other = cluster.map_shared_rank(&letter, me ^ 1);
    asm("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(isShared) : "l"(other));
    asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(isCluster) : "l"(other));
    out[8 * blockIdx.x] = value;
    out[8 * blockIdx.x + 1] = rank;
    out[8 * blockIdx.x + 2] = isShared;
    out[8 * blockIdx.x + 3] = isCluster;
    out[8 * blockIdx.x + 4] = cluster.query_shared_rank(other);
  }
  cluster.sync();
  if (threadIdx.x == 0) out[8 * blockIdx.x + 5] = letter;
}

static void testAddresses() {
  DeviceArray<unsigned> out(32);
  sendAddresses<<<4, 32>>>(out);
  CHECK_LAUNCH();
  const std::vector<unsigned> host = out.host();
  for (unsigned block = 0; block < 4; ++block) {
    const unsigned* const seen = &host[8 * block];
    const unsigned other = (block & 1) ^ 1;
    EXPECT(seen[0] == 100 + other && seen[1] == other && seen[2] == 0 && seen[3] == 1 && seen[4] == other);
    EXPECT(seen[5] == 107 + (block & 1));
  }
}

// Warps arrive and go on; some leave early and are not waited for.
__global__ void __cluster_dims__(4, 1, 1) splitBarrier(int* out, int rounds) {
  __shared__ int slot[2];
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x >= 64 + 32 * cluster.block_rank()) return;
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  int value = int(blockIdx.x);
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) *cluster.map_shared_rank(&slot[round % 2], next) = value + 1;
    cluster.barrier_arrive();
    cluster.barrier_wait();
    value = slot[round % 2];
  }
  cluster.sync();
  if (threadIdx.x == 33) out[blockIdx.x] = value;
}

static void testSplitBarrier() {
  const int rounds = 21;
  DeviceArray<int> out(8);
  splitBarrier<<<8, 192>>>(out, rounds);
  CHECK_LAUNCH();
  const std::vector<int> host = out.host();
  for (int block = 0; block < 8; ++block)
    EXPECT(host[block] == rounds + block / 4 * 4 + ((block - rounds) % 4 + 4) % 4);
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0));
  if (!supported) return 77;
  testPlaces();
  testReduction();
  testHistogram();
  testAddresses();
  testSplitBarrier();
  return passed();
}
