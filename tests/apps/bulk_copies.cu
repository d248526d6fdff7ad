// Bulk copies that count bytes at barriers in shared memory: global to shared and back, between the blocks of a
// cluster, to several blocks at once, reductions on the way out; arrivals from other blocks, waiting by state and by
// parity.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "check.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kTile = 1024;

__device__ unsigned sharedAddress(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }

// Adds one to each element of a tile, which comes and goes in bulk.
__global__ void addOne(int* data) {
  __shared__ alignas(128) int tile[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  int* const mine = data + blockIdx.x * kTile;
  if (threadIdx.x == 0) cuda::memcpy_async(tile, mine, cuda::aligned_size_t<16>(sizeof tile), barrier);
  barrier.wait(barrier.arrive());
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) ++tile[i];
  cuda::device::experimental::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, mine, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

static void testRoundTrip() {
  std::vector<int> values(20 * kTile);
  for (size_t i = 0; i < values.size(); ++i) values[i] = int(i);
  DeviceArray<int> data(values);
  addOne<<<20, 128>>>(data);
  CHECK_LAUNCH();
  for (int& value : values) ++value;
  expectEqual(data.host(), values, "round trip");
}

// Sums tiles into one, by reductions in bulk.
__global__ void sumTiles(const int* in, int* sums, unsigned* least) {
  __shared__ alignas(16) int tile[kTile];
  __shared__ alignas(16) unsigned ranks[4];
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = in[blockIdx.x * kTile + i];
  if (threadIdx.x < 4) ranks[threadIdx.x] = blockIdx.x * 10 + threadIdx.x + 5;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(sums),
                 "r"(sharedAddress(tile)), "r"(unsigned(sizeof tile))
                 : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], %2;" ::"l"(least),
                 "r"(sharedAddress(ranks)), "r"(unsigned(sizeof ranks))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

static void testReductions() {
  const int blocks = 9;
  std::vector<int> in(blocks * kTile), expected(kTile);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = int(i * 17 % 101) - 50;
    expected[i % kTile] += in[i];
  }
  DeviceArray<int> deviceIn(in), sums(size_t{kTile});
  DeviceArray<unsigned> least(std::vector<unsigned>{1000, 6, 1000, 1000});
  sums.clear();
  sumTiles<<<blocks, 64>>>(deviceIn, sums, least);
  CHECK_LAUNCH();
  expectEqual(sums.host(), expected, "reduction in bulk");
  expectEqual(least.host(), std::vector<unsigned>{5, 6, 7, 8}, "minima in bulk");
}

__device__ bool tryWait(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}

// Rank 0 loads a tile for all blocks of its cluster; each sends its rank's row of results on to the next one.
__global__ void __cluster_dims__(4, 1, 1) shareTile(const int* in, int* out) {
  __shared__ alignas(128) int tile[256];
  __shared__ alignas(128) int received[256];
  __shared__ alignas(8) unsigned long long full, passed;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % 4;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&full)) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&passed)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(&full)),
                 "r"(unsigned(sizeof tile))
                 : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(&passed)),
                 "r"(unsigned(sizeof received))
                 : "memory");
  }
  cluster.sync();
  if (rank == 0 && threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(sharedAddress(tile)),
        "l"(in + blockIdx.x / 4 * 256), "r"(unsigned(sizeof tile)), "r"(sharedAddress(&full)), "h"((unsigned short)15)
        : "memory");
  while (!tryWait(sharedAddress(&full), 0)) {
  }
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = tile[i] * 10 + int(rank);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned to, barrier;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sharedAddress(received)), "r"(next));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(sharedAddress(&passed)), "r"(next));
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "r"(sharedAddress(tile)), "r"(unsigned(sizeof tile)), "r"(barrier)
        : "memory");
  }
  while (!tryWait(sharedAddress(&passed), 0)) {
  }
  for (int i = threadIdx.x; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = received[i];
  cluster.sync();
}

static void testClusters() {
  const int blocks = 12;
  std::vector<int> in(blocks / 4 * 256), expected(blocks * 256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 3);
  for (int block = 0; block < blocks; ++block)
    for (int i = 0; i < 256; ++i) expected[block * 256 + i] = in[block / 4 * 256 + i] * 10 + (block + 3) % 4;
  DeviceArray<int> deviceIn(in), out(expected.size());
  shareTile<<<blocks, 64>>>(deviceIn, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "tile of a cluster");
}

// Values sent one by one to a barrier of another block, and arrivals there; the barrier runs through several phases.
__global__ void __cluster_dims__(2, 1, 1) sendValues(int* out, int rounds) {
  __shared__ alignas(16) int box[64];
  __shared__ alignas(8) unsigned long long filled, emptied;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&filled)) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&emptied)), "r"(blockDim.x) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  unsigned slot, theirFilled, theirEmptied;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(slot) : "r"(sharedAddress(&box[threadIdx.x])), "r"(other));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirFilled) : "r"(sharedAddress(&filled)), "r"(other));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirEmptied) : "r"(sharedAddress(&emptied)), "r"(other));
  int value = int(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(&filled)),
                   "r"(unsigned(sizeof box))
                   : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];" ::"r"(slot), "r"(value),
                 "r"(theirFilled)
                 : "memory");
    while (!tryWait(sharedAddress(&filled), round & 1)) {
    }
    value = box[63 - threadIdx.x] + 1;
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(theirEmptied) : "memory");
    while (!tryWait(sharedAddress(&emptied), round & 1)) {
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
  cluster.sync();
}

static void testMessages() {
  const int rounds = 6;
  DeviceArray<int> out(256);
  sendValues<<<4, 64>>>(out, rounds);
  CHECK_LAUNCH();
  std::vector<int> values(256), next(256);
  for (int i = 0; i < 256; ++i) values[i] = i;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 256; ++i) next[i] = values[(i / 64 ^ 1) * 64 + 63 - i % 64] + 1;
    values.swap(next);
  }
  expectEqual(out.host(), values, "messages");
}

// Threads that drop out of a barrier are not waited for in later phases.
__global__ void dropOut(int* out) {
  __shared__ Barrier barrier;
  __shared__ int came[4];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  if (threadIdx.x < 4) came[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned phase = 0; phase < 4; ++phase) {
    if (threadIdx.x / 32 == phase) {
      barrier.arrive_and_drop();
      return;
    }
    atomicAdd(&came[phase], 1);
    barrier.arrive_and_wait();
    if (threadIdx.x == 160) out[phase] = came[phase];
  }
}

static void testDropping() {
  DeviceArray<int> out(4);
  dropOut<<<1, 192>>>(out);
  CHECK_LAUNCH();
  expectEqual(out.host(), std::vector<int>{160, 128, 96, 64}, "threads that stayed");
}

int main() {
  int major = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) return 77;
  testRoundTrip();
  testReductions();
  testClusters();
  testMessages();
  testDropping();
  return passed();
}
