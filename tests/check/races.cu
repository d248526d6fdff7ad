// Kernels, copies and fills that meet in global memory, by name: `races NAME` runs one. What begins with `fine` orders
// them in a way that CUDA promises, and checked mode must say nothing; the others leave it out. Faults are compared by
// compare.py with expected-races.tsv and must name the lines marked "HERE" and "OTHER".
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <atomic>
#include <cstring>

#include <cuda/barrier>

#include "one_case.h"

namespace cg = cooperative_groups;

constexpr int kBlocks = 8, kThreads = 64, kCount = kBlocks * kThreads;

__device__ int counter, done, flag;
__device__ volatile int volatileFlag;

// Between blocks ----------------------------------------------------------------------------------------------------

__global__ void blocksWriteOne(int* out) {
  if (threadIdx.x == 0) *out = int(blockIdx.x);  // HERE blocksWriteOne OTHER blocksWriteOne
}

__global__ void countPlainly() {
  counter = counter + 1;  // HERE countPlainly
}

__global__ void readNeighbour(int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;                               // OTHER readNeighbour
  out[i] = data[(i + blockDim.x) % kCount];  // HERE readNeighbour
}

// The flag is right, but only what thread 0 did itself is known behind it.
__global__ void lastBlockTooEarly(int* data, int* out) {
  __shared__ bool last;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;  // OTHER lastBlockTooEarly
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&done, 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (int k = threadIdx.x; k < kCount; k += blockDim.x) sum += data[k];  // HERE lastBlockTooEarly
  out[threadIdx.x] = sum;
}

// Only thread 0 has seen the flag; the others do not wait for it.
__global__ void flagOfOneThread(int* data, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = int(threadIdx.x);  // OTHER flagOfOneThread
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(&flag, 1);
    }
    return;
  }
  if (threadIdx.x == 0) {
    while (!atomicAdd(&flag, 0)) {
    }
    __threadfence();
  }
  out[threadIdx.x] = data[threadIdx.x];  // HERE flagOfOneThread
}

__global__ void plainBesideAtomics(int* out) {
  if (threadIdx.x == 0) atomicAdd(&counter, 1);     // OTHER plainBesideAtomics
  if (threadIdx.x == 1) out[blockIdx.x] = counter;  // HERE plainBesideAtomics
}

__global__ void gridWithoutSync(int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;  // OTHER gridWithoutSync
  __syncthreads();
  out[i] = data[kCount - 1 - i];  // HERE gridWithoutSync
}

__global__ void bytesOverlap(unsigned char* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = static_cast<unsigned char>(i + 1);                                      // OTHER bytesOverlap
  if (threadIdx.x == kThreads - 1 && blockIdx.x + 1 < gridDim.x) data[i + 1] = 99;  // HERE bytesOverlap
}

__global__ void doublesOverlap(double* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;  // OTHER doublesOverlap
  if (threadIdx.x == 0)
    reinterpret_cast<int*>(data)[(2 * i + 2 * kThreads + 1) % (2 * kCount)] = -1;  // HERE doublesOverlap
}

__global__ void __cluster_dims__(2, 1, 1) clusterTooEarly(int* out) {
  __shared__ int value[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  value[threadIdx.x] = int(threadIdx.x);  // OTHER clusterTooEarly
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x];  // HERE clusterTooEarly
  cluster.sync();
}

// Within a block ----------------------------------------------------------------------------------------------------

__global__ void blockWithoutBarrier(int* data, int* out) {
  data[threadIdx.x] = int(threadIdx.x);       // OTHER blockWithoutBarrier
  out[threadIdx.x] = data[threadIdx.x ^ 32];  // HERE blockWithoutBarrier
}

// Between kernels, copies and fills ---------------------------------------------------------------------------------

__global__ void fill(int* data, int value) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;  // OTHER fill
}
__global__ void add(const int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] += data[i];  // HERE add
}

// Fine --------------------------------------------------------------------------------------------------------------

__global__ void fineLastBlock(int* data, int* out) {
  __shared__ bool last;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&done, 1) == int(gridDim.x) - 1;
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (int k = threadIdx.x; k < kCount; k += blockDim.x) sum += data[k];
  out[threadIdx.x] = sum;
}

static __device__ void tellOthers(int* data) {
  data[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  if (threadIdx.x) return;
  __threadfence();
  volatileFlag = 1;
}

__global__ void fineFlag(int* data, int* out) {
  if (blockIdx.x == 0) return tellOthers(data);
  if (threadIdx.x == 0) {
    while (!volatileFlag) {
    }
    __threadfence();
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[threadIdx.x];
}

// The same, but all threads wait for the flag, of more warps than checked mode remembers reads of at a time.
__global__ void fineFlagOfAll(int* data, int* out) {
  if (blockIdx.x == 0) return tellOthers(data);
  while (!volatileFlag) {
  }
  __threadfence();
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[threadIdx.x];
}

// A chain: what block 0 wrote reaches the last one through all others.
__global__ void fineChain(int* data, int* flags) {
  if (threadIdx.x) return;
  if (blockIdx.x)
    while (!*const_cast<volatile int*>(flags + blockIdx.x - 1)) {
    }
  __threadfence();
  if (!blockIdx.x) data[0] = 1;
  if (blockIdx.x + 1 == gridDim.x) data[1] = data[0];
  __threadfence();
  *const_cast<volatile int*>(flags + blockIdx.x) = 1;
}

__global__ void fineLock(int* sum) {
  if (threadIdx.x) return;
  while (atomicCAS(&flag, 0, 1)) {
  }
  __threadfence();
  *sum += int(blockIdx.x);
  __threadfence();
  atomicExch(&flag, 0);
}

__global__ void fineAcquireRelease(int* data, int* out) {
  int* const word = &flag;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    data[0] = 5;
    asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(word) : "memory");
  }
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    int seen = 0;
    while (!seen) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    out[0] = data[0];
  }
}

// As cooperative groups do: one lane learns that others are ready, and tells its warp by a shuffle.
__global__ void fineShuffledFlag(int* data, int* out) {
  int* const word = &flag;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 5;
    __syncwarp();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(word) : "memory");
    return;
  }
  int seen = 0;
  if (threadIdx.x == 0)
    while (!seen) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
  seen = __shfl_sync(0xffffffff, seen, 0);
  out[threadIdx.x] = data[threadIdx.x + seen - 1];
}

__global__ void fineGridSync(int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    data[i] = i + round;
    cg::this_grid().sync();
    out[i] = data[kCount - 1 - i];
    cg::this_grid().sync();
  }
}

__global__ void fineAtomics(int* bins) { atomicAdd(bins + (threadIdx.x + blockIdx.x) % 7, 1); }
__global__ void fineSameValue(int* out) { *out = 7; }

__global__ void fineBytes(unsigned char* data) {
  const int i = blockIdx.x + threadIdx.x * gridDim.x;
  data[i] = static_cast<unsigned char>(i);
}

__global__ void __cluster_dims__(2, 1, 1) fineCluster(int* out) {
  __shared__ int value[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int round = 0; round < 3; ++round) {
    value[threadIdx.x] = int(threadIdx.x) + round;
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
  }
}

__global__ void fineHostFlag(int* data, volatile int* shared) {
  data[threadIdx.x] = 3;
  __syncthreads();
  if (threadIdx.x) return;
  __threadfence_system();
  *shared = 1;
}

__global__ void fineHeap(int* out) {
  for (int round = 0; round < 4; ++round) {
    int* const piece = static_cast<int*>(malloc(64));
    if (!piece) return;
    for (int k = 0; k < 16; ++k) piece[k] = k + int(blockIdx.x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = piece[3];
    free(piece);
  }
}

// -------------------------------------------------------------------------------------------------------------------

static int* allocate(size_t count) {
  int* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(int)));
  CHECK(cudaMemset(data, 0, count * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  return data;
}

static cudaStream_t stream() {
  cudaStream_t made;
  CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

static cudaEvent_t event() {
  cudaEvent_t made;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  return made;
}

static void launchTogether(void (*kernel)(int*, int*), int* data, int* out) {
  void* arguments[] = {&data, &out};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), kBlocks, kThreads, arguments));
}

static void inGraph(bool edge, int* data, int* out) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  int value = 4;
  void *writes[] = {&data, &value}, *reads[] = {&data, &out};
  cudaKernelNodeParams first{}, second{};
  first.func = reinterpret_cast<void*>(fill);
  second.func = reinterpret_cast<void*>(add);
  first.gridDim = second.gridDim = kBlocks;
  first.blockDim = second.blockDim = kThreads;
  first.kernelParams = writes;
  second.kernelParams = reads;
  cudaGraphNode_t one, other;
  CHECK(cudaGraphAddKernelNode(&one, graph, nullptr, 0, &first));
  CHECK(cudaGraphAddKernelNode(&other, graph, &one, edge ? 1 : 0, &second));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  const cudaStream_t s = stream();
  for (int round = 0; round < 3; ++round) CHECK(cudaGraphLaunch(executable, s));
}

static void captured(int* data, int* out) {
  const cudaStream_t s = stream(), t = stream();
  const cudaEvent_t fork = event(), join = event();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
  CHECK(cudaEventRecord(fork, s));
  CHECK(cudaStreamWaitEvent(t, fork, 0));
  add<<<kBlocks, kThreads, 0, t>>>(data, out);
  CHECK(cudaEventRecord(join, t));
  CHECK(cudaStreamWaitEvent(s, join, 0));
  fill<<<kBlocks, kThreads, 0, s>>>(data, 2);
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int round = 0; round < 3; ++round) CHECK(cudaGraphLaunch(executable, s));
  add<<<kBlocks, kThreads, 0, s>>>(data, out);
}

static void chainOfHostFunctions(int* data, int* out) {
  static std::atomic<bool> called{false};
  const cudaStream_t s = stream(), t = stream();
  fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
  CHECK(cudaLaunchHostFunc(
      s, [](void*) { called = true; }, nullptr));
  while (!called) {
  }
  add<<<kBlocks, kThreads, 0, t>>>(data, out);
}

static void flagForTheHost(int* data, int* out) {
  int *host = nullptr, *shared = nullptr;
  CHECK(cudaHostAlloc(&host, 4096, cudaHostAllocMapped));
  *host = 0;
  CHECK(cudaHostGetDevicePointer(&shared, host, 0));
  fineHostFlag<<<1, kThreads, 0, stream()>>>(data, shared);
  while (!*static_cast<volatile int*>(host)) {
  }
  add<<<1, kThreads, 0, stream()>>>(data, out);
}

// Copies to shared memory that run beside their threads.
static __device__ int self() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ unsigned sharedAddress(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }
static __device__ void copyTo(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sharedAddress(to)), "l"(from) : "memory");
}
static __device__ void bulkCopyTo(void* to, const void* from, int bytes,
                                  cuda::barrier<cuda::thread_scope_block>& tells) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   sharedAddress(to)),
               "l"(from), "r"(bytes), "r"(sharedAddress(cuda::device::barrier_native_handle(tells)))
               : "memory");
}

__global__ void copyNotAwaited(const int* data, int* out) {
  __shared__ int tile[kThreads];
  copyTo(&tile[threadIdx.x], &data[self()]);  // OTHER copyNotAwaited
  __pipeline_commit();
  out[self()] = tile[threadIdx.x];  // HERE copyNotAwaited
  __pipeline_wait_prior(0);
}
__global__ void copyOfLastGroup(const int* data, int* out) {
  __shared__ int tile[2][kThreads];
  copyTo(&tile[0][threadIdx.x], &data[self()]);
  __pipeline_commit();
  copyTo(&tile[1][threadIdx.x], &data[self()]);  // OTHER copyOfLastGroup
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[self()] = tile[0][threadIdx.x ^ 1] + tile[1][threadIdx.x];  // HERE copyOfLastGroup
  __pipeline_wait_prior(0);
}
__global__ void copyWithoutBarrier(const int* data, int* out) {
  __shared__ int tile[kThreads];
  copyTo(&tile[threadIdx.x], &data[self()]);  // OTHER copyWithoutBarrier
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[self()] = tile[threadIdx.x ^ 32];  // HERE copyWithoutBarrier
}
__global__ void copyAwaitedTooLate(const int* data, int* out) {
  __shared__ int tile[kThreads];
  copyTo(&tile[threadIdx.x], &data[self()]);  // OTHER copyAwaitedTooLate
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  out[self()] = tile[threadIdx.x ^ 32];  // HERE copyAwaitedTooLate
}
__global__ void copyOverRead(const int* data, int* out) {
  __shared__ int tile[kThreads];
  tile[threadIdx.x] = 0;
  __syncthreads();
  out[self()] = tile[threadIdx.x ^ 32];       // OTHER copyOverRead
  copyTo(&tile[threadIdx.x], &data[self()]);  // HERE copyOverRead
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
__global__ void copyOverwritten(const int* data, int* out) {
  __shared__ int tile[kThreads];
  copyTo(&tile[threadIdx.x], &data[self()]);  // OTHER copyOverwritten
  __pipeline_commit();
  tile[threadIdx.x] = -5;  // HERE copyOverwritten
  __pipeline_wait_prior(0);
  out[self()] = tile[threadIdx.x];
}
__global__ void fineCopies(const int* data, int* out) {
  __shared__ int tile[2][kThreads];
  int sum = 0;
  copyTo(&tile[0][threadIdx.x], &data[threadIdx.x]);
  __pipeline_commit();
  for (int k = 1; k <= 100; ++k) {
    if (k < 100) copyTo(&tile[k % 2][threadIdx.x], &data[k % kBlocks * kThreads + threadIdx.x]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    sum += tile[(k - 1) % 2][threadIdx.x];
    __syncthreads();
    sum += tile[(k - 1) % 2][threadIdx.x ^ 32];
    __syncthreads();
  }
  out[self()] = sum;
}
__global__ void fineCopiesOfSome(const int* data, int* out) {
  __shared__ int tile[kThreads];
  if (threadIdx.x % 3) {
    copyTo(&tile[threadIdx.x], &data[self()]);
    __pipeline_commit();
    __pipeline_wait_prior(0);
  } else {
    tile[threadIdx.x] = 0;
  }
  __syncthreads();
  out[self()] = tile[threadIdx.x ^ 32];
}
__global__ void fineCopiesByBarrier(const int* data, int* out) {
  __shared__ int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  if (threadIdx.x == 0) init(&arrived, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &data[self()], sizeof(int), arrived);
  arrived.arrive_and_wait();
  out[self()] = tile[threadIdx.x ^ 32];
}

__global__ void bulkNotAwaited(const int* data, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  if (threadIdx.x == 0) init(&arrived, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkCopyTo(tile, data, sizeof tile, arrived);  // OTHER bulkNotAwaited
    (void)cuda::device::barrier_arrive_tx(arrived, 1, sizeof tile);
  }
  __syncthreads();
  out[self()] = tile[threadIdx.x];  // HERE bulkNotAwaited
}
__global__ void fineBulkCopies(const int* data, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  if (threadIdx.x == 0) init(&arrived, 1);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x == 0) {
      bulkCopyTo(tile, data + round * kThreads, sizeof tile, arrived);
      (void)cuda::device::barrier_arrive_tx(arrived, 1, sizeof tile);
    }
    arrived.wait_parity(round % 2);
    sum += tile[threadIdx.x ^ 32];
    __syncthreads();
  }
  out[self()] = sum;
}

static void copies(const char* name, int* data, int* out) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  fill<<<kBlocks, kThreads>>>(data, 1);
  if (is("copyNotAwaited")) copyNotAwaited<<<kBlocks, kThreads>>>(data, out);
  if (is("copyOfLastGroup")) copyOfLastGroup<<<kBlocks, kThreads>>>(data, out);
  if (is("copyWithoutBarrier")) copyWithoutBarrier<<<kBlocks, kThreads>>>(data, out);
  if (is("copyAwaitedTooLate")) copyAwaitedTooLate<<<kBlocks, kThreads>>>(data, out);
  if (is("copyOverRead")) copyOverRead<<<kBlocks, kThreads>>>(data, out);
  if (is("copyOverwritten")) copyOverwritten<<<kBlocks, kThreads>>>(data, out);
  if (is("bulkNotAwaited")) bulkNotAwaited<<<kBlocks, kThreads>>>(data, out);
  if (is("fineBulkCopies")) fineBulkCopies<<<kBlocks, kThreads>>>(data, out);
  if (is("fineCopies")) fineCopies<<<kBlocks, kThreads>>>(data, out);
  if (is("fineCopiesOfSome")) fineCopiesOfSome<<<kBlocks, kThreads>>>(data, out);
  if (is("fineCopiesByBarrier")) fineCopiesByBarrier<<<kBlocks, kThreads>>>(data, out);
}

void run(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  int *const data = allocate(2 * kCount), *const out = allocate(kCount);
  const cudaStream_t s = stream(), t = stream();
  int* host = nullptr;
  CHECK(cudaMallocHost(&host, kCount * sizeof(int)));
  const size_t bytes = kCount * sizeof(int);
  if (is("blocksWriteOne")) blocksWriteOne<<<kBlocks, kThreads>>>(out);
  if (is("countPlainly")) countPlainly<<<kBlocks, 1>>>();
  if (is("readNeighbour")) readNeighbour<<<kBlocks, kThreads>>>(data, out);
  if (is("lastBlockTooEarly")) lastBlockTooEarly<<<kBlocks, kThreads>>>(data, out);
  if (is("flagOfOneThread")) flagOfOneThread<<<2, kThreads>>>(data, out);
  if (is("plainBesideAtomics")) plainBesideAtomics<<<kBlocks, kThreads>>>(out);
  if (is("gridWithoutSync")) launchTogether(gridWithoutSync, data, out);
  if (is("bytesOverlap")) bytesOverlap<<<kBlocks, kThreads>>>(reinterpret_cast<unsigned char*>(data));
  if (is("doublesOverlap")) doublesOverlap<<<kBlocks, kThreads>>>(reinterpret_cast<double*>(data));
  if (is("clusterTooEarly")) clusterTooEarly<<<kBlocks, kThreads>>>(out);
  if (is("blockWithoutBarrier")) blockWithoutBarrier<<<1, kThreads>>>(data, out);
  if (is("twoStreams")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    add<<<kBlocks, kThreads, 0, t>>>(data, out);
  }
  if (is("eventTooEarly")) {
    const cudaEvent_t e = event();
    CHECK(cudaEventRecord(e, s));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaStreamWaitEvent(t, e, 0));
    add<<<kBlocks, kThreads, 0, t>>>(data, out);
  }
  if (is("copyBesideKernel")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, t));  // HERE copyBesideKernel
  }
  if (is("kernelBesideCopy")) {
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, t));  // OTHER kernelBesideCopy
    add<<<kBlocks, kThreads, 0, s>>>(data, out);
  }
  if (is("fillBesideKernel")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaMemsetAsync(data, 0, bytes, t));  // HERE fillBesideKernel
  }
  if (is("copyBesideFill")) {
    CHECK(cudaMemsetAsync(data, 1, bytes, s));                             // OTHER copyBesideFill
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, t));  // HERE copyBesideFill
  }
  if (is("beforeAllocation") || is("afterFree")) {
    int* piece = nullptr;
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&piece), bytes, s));  // OTHER beforeAllocation
    if (is("beforeAllocation")) fill<<<kBlocks, kThreads, 0, t>>>(piece, 1);
    if (is("beforeAllocation")) CHECK(cudaStreamSynchronize(t));
    fill<<<kBlocks, kThreads, 0, s>>>(piece, 1);
    if (is("afterFree")) {
      CHECK(cudaStreamSynchronize(s));
      fill<<<kBlocks, kThreads, 0, t>>>(piece, 2);
    }
    CHECK(cudaFreeAsync(piece, s));  // HERE afterFree
  }
  if (is("graphWithoutEdge")) inGraph(false, data, out);
  if ((std::strstr(name, "copy") || std::strstr(name, "bulk") || std::strstr(name, "fineCopies") ||
       std::strstr(name, "Bulk")) &&
      !std::strstr(name, "Beside"))
    copies(name, data, out);

  if (is("fineLastBlock")) fineLastBlock<<<kBlocks, kThreads>>>(data, out);
  if (is("fineFlag")) fineFlag<<<4, kThreads>>>(data, out);
  if (is("fineFlagOfAll")) fineFlagOfAll<<<4, kCount / 4>>>(data, out);
  if (is("fineChain")) fineChain<<<kBlocks, 32>>>(data, out);
  for (int k = 0; is("fineLock") && k < 20; ++k) fineLock<<<kBlocks, 32>>>(out);
  if (is("fineAcquireRelease")) fineAcquireRelease<<<2, 32>>>(data, out);
  if (is("fineShuffledFlag")) fineShuffledFlag<<<2, 32>>>(data, out);
  if (is("fineGridSync")) launchTogether(fineGridSync, data, out);
  if (is("fineAtomics")) fineAtomics<<<kBlocks, kThreads>>>(out);
  if (is("fineSameValue")) fineSameValue<<<kBlocks, kThreads>>>(out);
  if (is("fineBytes")) fineBytes<<<kBlocks, kThreads>>>(reinterpret_cast<unsigned char*>(data));
  if (is("fineCluster")) fineCluster<<<kBlocks, kThreads>>>(out);
  if (is("fineHeap")) fineHeap<<<kBlocks, kThreads>>>(out);
  if (is("fineHostFlag")) flagForTheHost(data, out);
  if (is("fineHostFunction")) chainOfHostFunctions(data, out);
  if (is("fineGraph")) inGraph(true, data, out);
  if (is("fineCapture")) captured(data, out);
  if (is("fineEvent")) {
    const cudaEvent_t e = event();
    for (int round = 0; round < 3; ++round) {
      fill<<<kBlocks, kThreads, 0, s>>>(data, round);
      CHECK(cudaEventRecord(e, s));
      CHECK(cudaStreamWaitEvent(t, e, 0));
      add<<<kBlocks, kThreads, 0, t>>>(data, out);
      CHECK(cudaEventRecord(e, t));
      CHECK(cudaStreamWaitEvent(s, e, 0));
    }
  }
  if (is("fineSynchronize")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaStreamSynchronize(s));
    add<<<kBlocks, kThreads, 0, t>>>(data, out);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, s));
    while (cudaStreamQuery(s) != cudaSuccess) {
    }
    add<<<kBlocks, kThreads, 0, t>>>(data, out);
  }
  if (is("fineDefaultStream")) {
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    fill<<<kBlocks, kThreads, 0, blocking>>>(data, 1);
    add<<<kBlocks, kThreads>>>(data, out);
    fill<<<kBlocks, kThreads, 0, blocking>>>(data, 2);
    CHECK(cudaMemcpy(host, data, bytes, cudaMemcpyDeviceToHost));
  }
  if (is("fineReuse")) {
    for (int round = 0; round < 4; ++round) {
      int* piece = nullptr;
      CHECK(cudaMallocAsync(&piece, bytes, round % 2 ? s : t));
      fill<<<kBlocks, kThreads, 0, round % 2 ? s : t>>>(piece, 1);
      CHECK(cudaFreeAsync(piece, round % 2 ? s : t));
    }
  }
  if (is("fineManyKernels"))
    for (int round = 0; round < 40; ++round) {
      fill<<<kBlocks, kThreads, 0, s>>>(data, round);
      add<<<kBlocks, kThreads, 0, s>>>(data, out);
    }
}
