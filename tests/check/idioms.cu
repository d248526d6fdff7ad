// Small programs of the kinds that tutorials and suites of races are made of, right and wrong ones: `idioms NAME` runs
// one. What begins with `fine` is right by CUDA's rules, and checked mode must say nothing with all its tools; of the
// others it must name the lines marked "HERE" and "OTHER" (expected-idioms.tsv).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "one_case.h"

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 128, kCount = kBlocks * kThreads;

static __device__ int self() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

// Reductions --------------------------------------------------------------------------------------------------------

__global__ void reductionWithoutBarrier(const int* in, int* out) {
  __shared__ int part[kThreads];
  part[threadIdx.x] = in[self()];
  __syncthreads();
  for (int half = kThreads / 2; half; half /= 2)
    if (int(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];  // HERE reductionWithoutBarrier
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
__global__ void fineReduction(const int* in, int* out) {
  __shared__ int part[kThreads];
  part[threadIdx.x] = in[self()];
  for (int half = kThreads / 2; half; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
// The last six steps count on the lanes of a warp going together.
__global__ void warpSynchronous(const int* in, int* out) {
  __shared__ int part[64];
  const int t = int(threadIdx.x);
  part[t] = in[t];
  __syncthreads();
  if (t < 32)
    for (int half = 32; half; half /= 2) part[t] += part[t + half];  // HERE warpSynchronous
  if (t == 0) out[0] = part[0];
}
__global__ void fineWarpSteps(const int* in, int* out) {
  __shared__ int part[64];
  const int t = int(threadIdx.x);
  part[t] = in[t];
  __syncthreads();
  if (t < 32) {
    int sum = part[t];
    for (int half = 32; half; half /= 2) {
      sum += part[t + half];
      __syncwarp();
      part[t] = sum;
      __syncwarp();
    }
  }
  if (t == 0) out[0] = part[0];
}
__global__ void fineGroupReduce(const int* in, int* out) {
  __shared__ int part[kThreads / 32];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int sum = cg::reduce(warp, in[self()], cg::plus<int>());
  if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = sum;
  block.sync();
  if (threadIdx.x == 0)
    for (int k = 0; k < kThreads / 32; ++k) atomicAdd(out, part[k]);
}
__device__ unsigned arrived;
__global__ void fineLastBlockSums(const int* in, int* parts, int* out) {
  __shared__ int part[kThreads];
  __shared__ bool last;
  part[threadIdx.x] = in[self()];
  for (int half = kThreads / 2; half; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned k = 0; k < gridDim.x; ++k) sum += parts[k];
    *out = sum;
  }
}

// Barriers of the block ---------------------------------------------------------------------------------------------

__device__ void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Each half meets at a barrier of its own, and reads the other's.
__global__ void barrierOfOneHalf(int* out) {
  __shared__ int value[kThreads];
  const int t = int(threadIdx.x), half = t / 64;
  value[t] = t;  // OTHER barrierOfOneHalf
  meet(1 + half, 64);
  out[self()] = value[(t + 64) % kThreads];  // HERE barrierOfOneHalf
}
__global__ void fineProducers(int* out) {
  __shared__ int value[64];
  const int t = int(threadIdx.x);
  for (int round = 0; round < 3; ++round) {
    if (t < 64) {
      value[t] = round + t;
      arrive(1, kThreads);
      meet(2, kThreads);
    } else {
      meet(1, kThreads);
      out[self()] = value[127 - t];
      arrive(2, kThreads);
    }
  }
}
// The buffer is filled anew while others still read it.
__global__ void bufferReusedTooEarly(const int* in, int* out) {
  __shared__ int buffer[kThreads];
  int sum = 0;
  for (int step = 0; step < kBlocks; ++step) {
    buffer[threadIdx.x] = in[step * kThreads + threadIdx.x];  // HERE bufferReusedTooEarly
    __syncthreads();
    sum += buffer[kThreads - 1 - threadIdx.x];  // OTHER bufferReusedTooEarly
  }
  out[self()] = sum;
}
__global__ void fineTwoBuffers(const int* in, int* out) {
  __shared__ int buffer[2][kThreads];
  int sum = 0;
  for (int step = 0; step < kBlocks; ++step) {
    buffer[step % 2][threadIdx.x] = in[step * kThreads + threadIdx.x];
    __syncthreads();
    sum += buffer[step % 2][kThreads - 1 - threadIdx.x];
  }
  out[self()] = sum;
}
__global__ void scanInPlace(const int* in, int* out) {
  __shared__ int value[kThreads];
  const int t = int(threadIdx.x);
  value[t] = in[t];
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    if (t >= step) value[t] += value[t - step];  // HERE scanInPlace
    __syncthreads();
  }
  out[t] = value[t];
}
__global__ void fineScan(const int* in, int* out) {
  __shared__ int value[kThreads];
  const int t = int(threadIdx.x);
  value[t] = in[t];
  for (int step = 1; step < kThreads; step *= 2) {
    __syncthreads();
    const int before = t >= step ? value[t - step] : 0;
    __syncthreads();
    value[t] += before;
  }
  out[t] = value[t];
}
__global__ void fineCounts(const int* in, int* out) {
  __shared__ int total;
  const int n = __syncthreads_count(in[self()] % 2);
  if (threadIdx.x == 0) total = n;
  __syncthreads();
  if (__syncthreads_or(in[self()] == 5)) out[self()] = total;
}

// Groups smaller than what talks in them ----------------------------------------------------------------------------

__global__ void tileTooSmall(int* out) {
  __shared__ int value[32];
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  value[threadIdx.x] = int(threadIdx.x);  // OTHER tileTooSmall
  tile.sync();
  out[threadIdx.x] = value[31 - threadIdx.x];  // HERE tileTooSmall
}
__global__ void fineTiles(int* out) {
  __shared__ int value[kThreads];
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int first = int(tile.meta_group_rank()) * 16;
  value[threadIdx.x] = int(threadIdx.x);
  tile.sync();
  out[self()] = value[first + 15 - int(tile.thread_rank())];
}
__global__ void fineCoalesced(const int* in, int* out) {
  __shared__ int value[32];
  if (in[threadIdx.x] % 3) {
    const auto group = cg::coalesced_threads();
    value[group.thread_rank()] = int(threadIdx.x);
    group.sync();
    out[threadIdx.x] = value[group.size() - 1 - group.thread_rank()];
  }
}

// Global memory -----------------------------------------------------------------------------------------------------

__global__ void inPlaceStencil(int* data) {
  const int i = self();
  if (i + 1 < kCount) data[i] = data[i + 1] + 1;  // HERE inPlaceStencil
}
__global__ void fineStencil(const int* in, int* out) {
  const int i = self();
  if (i && i + 1 < kCount) out[i] = in[i - 1] + in[i] + in[i + 1];
}
__global__ void indirectTwice(const int* where, int* data) {
  data[where[self()]] = self();  // HERE indirectTwice
}
__global__ void finePermutation(const int* where, int* data) { data[where[self()]] = self(); }
__global__ void sharedTemporary(const int* in, int* temporary, int* out) {
  *temporary = in[self()] * 3;  // HERE sharedTemporary
  out[self()] = *temporary;
}
__global__ void oneReadsTheLast(int* data, int* out) {
  const int i = self();
  data[i] = i + 7;                        // OTHER oneReadsTheLast
  if (i == 0) out[0] = data[kCount - 1];  // HERE oneReadsTheLast
}
__global__ void fineStrided(int* data) {
  for (int i = self(); i < 4 * kCount; i += int(gridDim.x * blockDim.x)) data[i] = i;
}
// A barrier of the grid of one's own making.
__device__ int gathered[3];
__global__ void fineOwnGridBarrier(int* data, int* out) {
  const int i = self();
  for (int round = 0; round < 3; ++round) {
    data[i] = i + round;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&gathered[round], 1);
      while (atomicAdd(&gathered[round], 0) % int(gridDim.x)) {
      }
      __threadfence();
    }
    __syncthreads();
    out[round * kCount + i] = data[(i + kThreads) % kCount];
    data += kCount;
  }
}
__device__ int ticket, serving, inside;
__global__ void fineTickets(int* out) {
  if (threadIdx.x) return;
  const int mine = atomicAdd(&ticket, 1);
  while (atomicAdd(&serving, 0) != mine) {
  }
  __threadfence();
  inside = inside + 1;
  *out = inside;
  __threadfence();
  atomicAdd(&serving, 1);
}
// One of two paths takes the lock.
__device__ int door, behindDoor;
__global__ void lockOfSome() {
  if (threadIdx.x) return;
  if (blockIdx.x % 2) {
    while (atomicCAS(&door, 0, 1)) {
    }
    __threadfence();
    behindDoor = behindDoor + 1;  // HERE lockOfSome
    __threadfence();
    atomicExch(&door, 0);
  } else {
    behindDoor = behindDoor + 1;  // OTHER lockOfSome
  }
}
struct Node {
  int value, next;
};
__device__ int head = -1;
__global__ void fineList(Node* nodes) {
  const int i = self();
  nodes[i].value = i;
  int seen = atomicAdd(&head, 0);
  for (;;) {
    nodes[i].next = seen;
    __threadfence();
    const int found = atomicCAS(&head, seen, i);
    if (found == seen) break;
    seen = found;
  }
}
__global__ void plainHistogram(const int* in, int* bins) {
  bins[in[self()] % 8] += 1;  // HERE plainHistogram
}
__global__ void fineHistogram(const int* in, int* bins) {
  __shared__ int mine[8];
  if (threadIdx.x < 8) mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[in[self()] % 8], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
// The halo of the tile is never loaded.
__global__ void haloForgotten(const int* in, int* out) {
  __shared__ int tile[kThreads + 2];
  const int t = int(threadIdx.x);
  tile[t + 1] = in[self()];
  __syncthreads();
  out[self()] = tile[t] + tile[t + 1] + tile[t + 2];  // HERE haloForgotten
}

// Barrier objects ---------------------------------------------------------------------------------------------------

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void objectNotAwaited(int* out) {
  __shared__ Barrier barrier;
  __shared__ int value[kThreads];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  value[threadIdx.x] = int(threadIdx.x);  // OTHER objectNotAwaited
  Barrier::arrival_token token = barrier.arrive();
  out[self()] = value[kThreads - 1 - threadIdx.x];  // HERE objectNotAwaited
  barrier.wait(std::move(token));
}
__global__ void fineObject(int* out) {
  __shared__ Barrier barrier;
  __shared__ int value[kThreads];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    value[threadIdx.x] = int(threadIdx.x) + round;
    barrier.arrive_and_wait();
    out[self()] = value[kThreads - 1 - threadIdx.x];
    barrier.arrive_and_wait();
  }
}
__global__ void finePipeline(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ alignas(16) int stage[2][kThreads];
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int used = 0, filled = 0; used < kBlocks; ++used) {
    for (; filled < kBlocks && filled < used + 2; ++filled) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[filled % 2], in + filled * kThreads, sizeof stage[0], pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += stage[used % 2][kThreads - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[self()] = sum;
}
__global__ void pipelineReleasedTooEarly(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  __shared__ int stage[kThreads];
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int round = 0; round < kBlocks; ++round) {
    pipeline.producer_acquire();
    stage[threadIdx.x] = in[round * kThreads + threadIdx.x];  // OTHER pipelineReleasedTooEarly
    pipeline.producer_commit();
    pipeline.consumer_wait();
    pipeline.consumer_release();
    out[self()] = stage[kThreads - 1 - threadIdx.x];  // HERE pipelineReleasedTooEarly
  }
}

// Clusters ----------------------------------------------------------------------------------------------------------

#ifdef CLUSTERS  // of compute capability 9.0 and later
#define CLUSTER __cluster_dims__(2, 1, 1)
__device__ void arriveAtCluster() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ void awaitCluster() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
__device__ void meetAligned() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ int* ofOther(int* mine) {
  const cg::cluster_group cluster = cg::this_cluster();
  return cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
}

__global__ void CLUSTER clusterWithoutBarrier(int* out) {
  __shared__ int value[kThreads];
  meetAligned();                                   // both have begun
  ofOther(value)[threadIdx.x] = int(threadIdx.x);  // OTHER clusterWithoutBarrier
  __syncthreads();
  out[self()] = value[threadIdx.x];  // HERE clusterWithoutBarrier
  meetAligned();
}
__global__ void CLUSTER clusterReadBeforeWait(int* out) {
  __shared__ int value[kThreads];
  value[threadIdx.x] = int(threadIdx.x);  // OTHER clusterReadBeforeWait
  arriveAtCluster();
  out[self()] = ofOther(value)[threadIdx.x];  // HERE clusterReadBeforeWait
  awaitCluster();
  meetAligned();
}
// What is written behind the arrival is not known behind the wait.
__global__ void CLUSTER clusterWrittenBehindArrival(int* out) {
  __shared__ int value[kThreads];
  meetAligned();
  arriveAtCluster();
  ofOther(value)[threadIdx.x] = int(threadIdx.x);  // OTHER clusterWrittenBehindArrival
  awaitCluster();
  out[self()] = value[threadIdx.x];  // HERE clusterWrittenBehindArrival
  meetAligned();
}
__global__ void CLUSTER clusterBarrierOfSome(int* out) {
  out[self()] = 1;
  if (threadIdx.x % 32 < 16) asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");  // HERE clusterBarrierOfSome
  if (threadIdx.x % 32 >= 16) asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void CLUSTER clusterWaitOfSome(int* out) {
  out[self()] = 1;
  arriveAtCluster();
  if (threadIdx.x % 32 < 16)
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");  // HERE clusterWaitOfSome
  else
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void CLUSTER clusterArrivesTwice(int* out) {
  arriveAtCluster();
  if (threadIdx.x < 32) asm volatile("barrier.cluster.arrive;" ::: "memory");  // HERE clusterArrivesTwice
  awaitCluster();
  out[self()] = 1;
}
__global__ void CLUSTER clusterAtomicsBesidePlain(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  meetAligned();
  atomicAdd(ofOther(&count), 1);  // OTHER clusterAtomicsBesidePlain
  out[self()] = count;            // HERE clusterAtomicsBesidePlain
  meetAligned();
}
__global__ void CLUSTER fineClusterExchange(int* out) {
  __shared__ int value[kThreads];
  for (int round = 0; round < 3; ++round) {
    meetAligned();
    ofOther(value)[threadIdx.x] = int(threadIdx.x) + round;
    meetAligned();
    out[self()] = value[kThreads - 1 - threadIdx.x];
  }
}
__global__ void CLUSTER fineClusterSplit(int* out) {
  __shared__ int value[kThreads];
  value[threadIdx.x] = int(threadIdx.x);
  arriveAtCluster();
  out[self()] = 3;
  awaitCluster();
  out[self()] += ofOther(value)[threadIdx.x];
  arriveAtCluster();
  awaitCluster();
}
// Without `.aligned` the lanes of a warp may come by different ways.
__global__ void CLUSTER fineClusterDivergent(int* out) {
  __shared__ int value[kThreads];
  value[threadIdx.x] = int(threadIdx.x);
  if (threadIdx.x % 2) {
    arriveAtCluster();
    awaitCluster();
  } else {
    arriveAtCluster();
    out[self()] = 2;
    awaitCluster();
  }
  out[self()] = ofOther(value)[kThreads - 1 - threadIdx.x];
  meetAligned();
}
__global__ void CLUSTER fineClusterAtomics(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  meetAligned();
  atomicAdd(ofOther(&count), 1);
  meetAligned();
  out[self()] = count;
}
// Some threads have ended before the others meet.
__global__ void CLUSTER fineClusterEnded(int* out) {
  __shared__ int value[kThreads];
  value[threadIdx.x] = int(threadIdx.x);
  meetAligned();
  if (threadIdx.x >= 64) return;
  out[self()] = ofOther(value)[threadIdx.x + 64];
  meetAligned();
}
#endif

template <class T>
static T* filled(size_t count, int from, int step) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(T)));
  T* const host = static_cast<T*>(std::malloc(count * sizeof(T)));
  for (size_t k = 0; k < count; ++k) host[k] = T(from + int(k) * step);
  CHECK(cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice));
  std::free(host);
  return data;
}

static void clusters(const char* name, int* out) {
#ifdef CLUSTERS
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  if (is("clusterWithoutBarrier")) clusterWithoutBarrier<<<kBlocks, kThreads>>>(out);
  if (is("clusterReadBeforeWait")) clusterReadBeforeWait<<<kBlocks, kThreads>>>(out);
  if (is("clusterWrittenBehindArrival")) clusterWrittenBehindArrival<<<kBlocks, kThreads>>>(out);
  if (is("clusterBarrierOfSome")) clusterBarrierOfSome<<<kBlocks, kThreads>>>(out);
  if (is("clusterWaitOfSome")) clusterWaitOfSome<<<kBlocks, kThreads>>>(out);
  if (is("clusterArrivesTwice")) clusterArrivesTwice<<<kBlocks, kThreads>>>(out);
  if (is("clusterAtomicsBesidePlain")) clusterAtomicsBesidePlain<<<kBlocks, kThreads>>>(out);
  if (is("fineClusterExchange")) fineClusterExchange<<<kBlocks, kThreads>>>(out);
  if (is("fineClusterSplit")) fineClusterSplit<<<kBlocks, kThreads>>>(out);
  if (is("fineClusterDivergent")) fineClusterDivergent<<<kBlocks, kThreads>>>(out);
  if (is("fineClusterAtomics")) fineClusterAtomics<<<kBlocks, kThreads>>>(out);
  if (is("fineClusterEnded")) fineClusterEnded<<<kBlocks, kThreads>>>(out);
#else
  std::printf("%s: this program has no clusters, %p\n", name, static_cast<void*>(out));
#endif
}

void run(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  int *const in = filled<int>(4 * kCount, 0, 1), *const data = filled<int>(4 * kCount, 1, 2),
             *const out = filled<int>(4 * kCount, 0, 0);
  if (is("reductionWithoutBarrier")) reductionWithoutBarrier<<<kBlocks, kThreads>>>(in, out);
  if (is("fineReduction")) fineReduction<<<kBlocks, kThreads>>>(in, out);
  if (is("warpSynchronous")) warpSynchronous<<<1, 64>>>(in, out);
  if (is("fineWarpSteps")) fineWarpSteps<<<1, 64>>>(in, out);
  if (is("fineGroupReduce")) fineGroupReduce<<<kBlocks, kThreads>>>(in, out);
  if (is("fineLastBlockSums")) fineLastBlockSums<<<kBlocks, kThreads>>>(in, data, out);
  if (is("barrierOfOneHalf")) barrierOfOneHalf<<<kBlocks, kThreads>>>(out);
  if (is("fineProducers")) fineProducers<<<kBlocks, kThreads>>>(out);
  if (is("bufferReusedTooEarly")) bufferReusedTooEarly<<<kBlocks, kThreads>>>(in, out);
  if (is("fineTwoBuffers")) fineTwoBuffers<<<kBlocks, kThreads>>>(in, out);
  if (is("scanInPlace")) scanInPlace<<<1, kThreads>>>(in, out);
  if (is("fineScan")) fineScan<<<1, kThreads>>>(in, out);
  if (is("fineCounts")) fineCounts<<<kBlocks, kThreads>>>(in, out);
  if (is("tileTooSmall")) tileTooSmall<<<1, 32>>>(out);
  if (is("fineTiles")) fineTiles<<<kBlocks, kThreads>>>(out);
  if (is("fineCoalesced")) fineCoalesced<<<1, 32>>>(in, out);
  if (is("inPlaceStencil")) inPlaceStencil<<<kBlocks, kThreads>>>(data);
  if (is("fineStencil")) fineStencil<<<kBlocks, kThreads>>>(in, out);
  if (is("indirectTwice")) indirectTwice<<<kBlocks, kThreads>>>(out, data);
  if (is("finePermutation")) finePermutation<<<kBlocks, kThreads>>>(in, data);
  if (is("sharedTemporary")) sharedTemporary<<<kBlocks, kThreads>>>(in, data, out);
  if (is("oneReadsTheLast")) oneReadsTheLast<<<kBlocks, kThreads>>>(data, out);
  if (is("fineStrided")) fineStrided<<<kBlocks, kThreads>>>(data);
  if (is("fineOwnGridBarrier")) fineOwnGridBarrier<<<kBlocks, kThreads>>>(data, out);
  if (is("fineTickets")) fineTickets<<<kBlocks, kThreads>>>(out);
  if (is("lockOfSome")) lockOfSome<<<kBlocks, kThreads>>>();
  if (is("fineList")) fineList<<<kBlocks, kThreads>>>(reinterpret_cast<Node*>(data));
  if (is("plainHistogram")) plainHistogram<<<kBlocks, kThreads>>>(in, out);
  if (is("fineHistogram")) fineHistogram<<<kBlocks, kThreads>>>(in, out);
  if (is("haloForgotten")) haloForgotten<<<kBlocks, kThreads>>>(in, out);
  if (is("objectNotAwaited")) objectNotAwaited<<<kBlocks, kThreads>>>(out);
  if (is("fineObject")) fineObject<<<kBlocks, kThreads>>>(out);
  if (is("finePipeline")) finePipeline<<<kBlocks, kThreads>>>(in, out);
  if (is("pipelineReleasedTooEarly")) pipelineReleasedTooEarly<<<kBlocks, kThreads>>>(in, out);
  if (std::strstr(name, "luster")) clusters(name, out);
}
