// Classes of faults that public suites have and the other programs of this folder do not (docs/testing.md lists
// them): `suites NAME` runs one. What begins with `fine` is right by CUDA's rules, and checked mode must say
// nothing with all its tools; of the others it must name the lines marked "HERE" and "OTHER" (expected-suites.tsv).
#include <cooperative_groups.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include <cuda/atomic>

#include "one_case.h"

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 128, kCount = kBlocks * kThreads;

static __device__ int self() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

// Scopes: what is enough inside of a block and not between blocks ---------------------------------------------------

__global__ void atomicsOfBlock(int* counter) {
  atomicAdd_block(counter, 1);  // HERE atomicsOfBlock
}
// One side is enough to spoil it.
__global__ void atomicsOfTwoScopes(int* counter) {
  if (blockIdx.x == 0)
    atomicAdd_block(counter, 1);  // HERE atomicsOfTwoScopes
  else
    atomicAdd(counter, 1);  // OTHER atomicsOfTwoScopes
}
__global__ void fineAtomicsOfBlock(int* counters, int* all) {
  atomicAdd_block(&counters[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(all, counters[blockIdx.x]);
}
__global__ void referenceOfBlock(int* counter) {
  cuda::atomic_ref<int, cuda::thread_scope_block> mine(*counter);
  mine.fetch_add(1, cuda::memory_order_relaxed);
}
__global__ void fenceOfBlock(int* data, int* flag, int* out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 7;  // HERE fenceOfBlock
    __threadfence_block();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 1) {
    while (!atomicAdd(flag, 0)) {
    }
    __threadfence_block();
    out[0] = data[0];  // OTHER fenceOfBlock
  }
}
__global__ void fineFence(int* data, int* flag, int* out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 1) {
    while (!atomicAdd(flag, 0)) {
    }
    __threadfence();
    out[0] = data[0];
  }
}
// From one warp to another of the same block.
__global__ void fineFenceOfBlock(int* data, int* flags, int* out) {
  int* const mine = data + blockIdx.x * kThreads;
  if (threadIdx.x == 0) {
    mine[0] = 7;
    __threadfence_block();
    atomicExch_block(&flags[blockIdx.x], 1);
  }
  if (threadIdx.x == 32) {
    while (!atomicAdd_block(&flags[blockIdx.x], 0)) {
    }
    __threadfence_block();
    out[blockIdx.x] = mine[0];
  }
}
__global__ void lockOfBlock(int* lock, int* data) {
  if (threadIdx.x) return;
  while (atomicCAS_block(lock, 0, 1)) {
  }
  __threadfence();
  data[0] = data[0] + 1;  // HERE lockOfBlock
  __threadfence();
  atomicExch_block(lock, 0);
}
__global__ void flagOfBlock(int* data, int* word, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_block> flag(*word);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 7;  // HERE flagOfBlock
    flag.store(1, cuda::memory_order_release);
  } else if (blockIdx.x == 1) {
    for (int k = 0; k < 1000 && !flag.load(cuda::memory_order_acquire); ++k) {
    }
    out[0] = data[0];  // OTHER flagOfBlock
  }
}
__global__ void fineFlag(int* data, int* word, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(*word);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 7;
    flag.store(1, cuda::memory_order_release);
  } else if (blockIdx.x == 1) {
    while (!flag.load(cuda::memory_order_acquire)) {
    }
    out[0] = data[0];
  }
}

// Irregular codes: guards, work lists, roots ------------------------------------------------------------------------

__global__ void guardedMaximum(const int* in, int* most) {
  if (in[self()] > *most) *most = in[self()];  // HERE guardedMaximum
}
__global__ void fineMaximum(const int* in, int* most) { atomicMax(most, in[self()]); }
__global__ void fineGuardedMaximum(const int* in, int* most) {
  if (in[self()] > *static_cast<volatile int*>(most)) atomicMax(most, in[self()]);
}
__global__ void slotTakenPlainly(const int* in, int* list, int* size) {
  if (in[self()] % 3) return;
  const int slot = *size;  // OTHER slotTakenPlainly
  list[slot] = self();
  *size = slot + 1;  // HERE slotTakenPlainly
}
__global__ void fineSlots(const int* in, int* list, int* size) {
  if (in[self()] % 3 == 0) list[atomicAdd(size, 1)] = self();
}
// Each shortens the way of its own element while others walk over it.
__global__ void rootsPlainly(int* parent) {
  int at = self();
  while (parent[at] != at) {  // HERE rootsPlainly
    parent[at] = parent[parent[at]];
    at = parent[at];
  }
}
__global__ void neighboursOfAll(const int* first, const int* to, int* level, int now, int vertices) {
  const int v = self();
  if (v >= vertices || level[v] != now) return;
  for (int e = first[v]; e < first[v + 1]; ++e)
    if (level[to[e]] < 0) level[to[e]] = now + 1 + v % 2;  // HERE neighboursOfAll
}
__global__ void fineNeighbours(const int* first, const int* to, const int* level, int* next, int now, int vertices) {
  const int v = self();
  if (v >= vertices || level[v] != now) return;
  for (int e = first[v]; e < first[v + 1]; ++e) atomicMax(&next[to[e]], now + 1);
}
// Indices, pointers to functions, structures ------------------------------------------------------------------------

__global__ void halfTheIndex(int* data) {
  data[self() / 2] = self();  // HERE halfTheIndex
}
__global__ void rowsOverlap(int* data) {
  for (int k = 0; k < 3; ++k) data[2 * self() + k] = self();  // HERE rowsOverlap
}
__device__ void addOne(int* cell) { *cell = *cell + 1; }  // HERE throughPointer
__device__ void addTwo(int* cell) { *cell = *cell + 2; }  // OTHER throughPointer
__device__ void (*const kAdders[])(int*) = {addOne, addTwo};
__global__ void throughPointer(int* data, int which) { kAdders[(which + blockIdx.x) % 2](data); }
__global__ void fineThroughPointer(int* data, int which) { kAdders[(which + blockIdx.x) % 2](data + self()); }
struct Pair {
  char small;
  int large;
};
__global__ void fineMembers(Pair* pairs) {
  if (self() % 2)
    pairs[self() / 2].small = char(self());
  else
    pairs[self() / 2].large = self();
}
__global__ void wholeStructure(Pair* pairs) {
  if (self() % 2)
    pairs[self() / 2].large = self();  // HERE wholeStructure
  else
    pairs[self() / 2] = Pair{1, -self() - 1};
}
__global__ void bytesOfNeighbour(char* data) {
  memcpy(data + 4 * self(), "12345", 5);  // HERE bytesOfNeighbour
}
__global__ void sharedState(unsigned* state, unsigned* out) {
  unsigned s = *state;  // OTHER sharedState
  s = s * 1664525u + 1013904223u + self();
  *state = s;  // HERE sharedState
  out[self()] = s;
}

// What nobody has written -------------------------------------------------------------------------------------------

__global__ void partlyFilled(const int* data, int* out) {
  out[self()] = data[self()];  // HERE partlyFilled
}

// Groups ------------------------------------------------------------------------------------------------------------

__global__ void tileForgotten(int* data) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  __shared__ int part[kThreads];
  part[threadIdx.x] = self();
  if (tile.thread_rank() == 0) data[self()] = part[threadIdx.x + 15];  // HERE tileForgotten
}
__global__ void fineTile(int* data) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  __shared__ int part[kThreads];
  part[threadIdx.x] = self();
  tile.sync();
  if (tile.thread_rank() == 0) data[self()] = part[threadIdx.x + 15];
}
__global__ void gridBarrierTooEarly(int* data, int* out) {
  data[self()] = self();  // OTHER gridBarrierTooEarly
  cg::this_thread_block().sync();
  out[self()] = data[(self() + kThreads) % kCount];  // HERE gridBarrierTooEarly
}
__global__ void fineGridBarrier(int* data, int* out) {
  data[self()] = self();
  cg::this_grid().sync();
  out[self()] = data[(self() + kThreads) % kCount];
}

static int* filled(size_t count, int from, int step) {
  int* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(int)));
  int* const host = static_cast<int*>(std::malloc(count * sizeof(int)));
  for (size_t k = 0; k < count; ++k) host[k] = from + int(k) * step;
  CHECK(cudaMemcpy(data, host, count * sizeof(int), cudaMemcpyHostToDevice));
  std::free(host);
  return data;
}

// What a library of Verdigris's own has computed on the processor, and told.
__global__ void fineTold(const int* in, int* out) { out[self()] = in[self()]; }
static void runTold(int* out) {
  int* fresh = nullptr;
  CHECK(cudaMalloc(&fresh, kCount * sizeof(int)));
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto told = reinterpret_cast<void (*)(const void*, size_t)>(dlsym(library, "verdigris_written"));
  for (int k = 0; k < kCount; ++k) fresh[k] = k;
  told(fresh, kCount * sizeof(int));
  fineTold<<<kBlocks, kThreads>>>(fresh, out);
}

static void together(void (*kernel)(int*, int*), int* a, int* b) {
  void* arguments[] = {&a, &b};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(kBlocks), dim3(kThreads), arguments, 0,
                                    nullptr));
}

// A ring of vertices with two edges each.
static void graphs(const char* name, int* out) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  int *const first = filled(kCount + 1, 0, 2), *const to = filled(2 * kCount, 0, 0),
             *const level = filled(kCount, -1, 0);
  int host[2 * kCount];
  for (int v = 0; v < kCount; ++v) {
    host[2 * v] = (v + 1) % kCount;
    host[2 * v + 1] = (v / 2) % 7;
  }
  CHECK(cudaMemcpy(to, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(level + 100, 0, 200 * sizeof(int)));
  if (is("neighboursOfAll")) neighboursOfAll<<<kBlocks, kThreads>>>(first, to, level, 0, kCount);
  if (is("fineNeighbours")) fineNeighbours<<<kBlocks, kThreads>>>(first, to, level, out, 0, kCount);
}

static void scopes(const char* name, int* data, int* word, int* out) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  if (is("atomicsOfBlock")) atomicsOfBlock<<<kBlocks, kThreads>>>(word);
  if (is("atomicsOfTwoScopes")) atomicsOfTwoScopes<<<kBlocks, kThreads>>>(word);
  if (is("fineAtomicsOfBlock")) fineAtomicsOfBlock<<<kBlocks, kThreads>>>(out, word);
  if (is("referenceOfBlock")) referenceOfBlock<<<kBlocks, kThreads>>>(word);
  if (is("fenceOfBlock")) fenceOfBlock<<<kBlocks, kThreads>>>(data, word, out);
  if (is("fineFence")) fineFence<<<kBlocks, kThreads>>>(data, word, out);
  if (is("fineFenceOfBlock")) fineFenceOfBlock<<<kBlocks, kThreads>>>(data, word, out);
  if (is("lockOfBlock")) lockOfBlock<<<kBlocks, kThreads>>>(word, data);
  if (is("flagOfBlock")) flagOfBlock<<<kBlocks, kThreads>>>(data, word, out);
  if (is("fineFlag")) fineFlag<<<kBlocks, kThreads>>>(data, word, out);
}

void run(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  int *const in = filled(4 * kCount, 1, 1), *const data = filled(4 * kCount, 1, 2),
             *const out = filled(4 * kCount, 0, 0), *const word = filled(kBlocks, 0, 0);
  scopes(name, data, word, out);
  if (is("guardedMaximum")) guardedMaximum<<<kBlocks, kThreads>>>(in, word);
  if (is("fineMaximum")) fineMaximum<<<kBlocks, kThreads>>>(in, word);
  if (is("fineGuardedMaximum")) fineGuardedMaximum<<<kBlocks, kThreads>>>(in, word);
  if (is("slotTakenPlainly")) slotTakenPlainly<<<kBlocks, kThreads>>>(in, out, word);
  if (is("fineSlots")) fineSlots<<<kBlocks, kThreads>>>(in, out, word);
  if (is("rootsPlainly")) {
    int host[kCount];
    for (int k = 0; k < kCount; ++k) host[k] = k / 2;
    CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    rootsPlainly<<<kBlocks, kThreads>>>(data);
  }
  graphs(name, out);
  if (is("halfTheIndex")) halfTheIndex<<<kBlocks, kThreads>>>(data);
  if (is("rowsOverlap")) rowsOverlap<<<kBlocks, kThreads>>>(data);
  if (is("throughPointer")) throughPointer<<<kBlocks, kThreads>>>(data, 1);
  if (is("fineThroughPointer")) fineThroughPointer<<<kBlocks, kThreads>>>(data, 1);
  if (is("fineMembers")) fineMembers<<<kBlocks, kThreads>>>(reinterpret_cast<Pair*>(data));
  if (is("wholeStructure")) wholeStructure<<<kBlocks, kThreads>>>(reinterpret_cast<Pair*>(data));
  if (is("bytesOfNeighbour")) bytesOfNeighbour<<<kBlocks, kThreads>>>(reinterpret_cast<char*>(data));
  if (is("sharedState"))
    sharedState<<<kBlocks, kThreads>>>(reinterpret_cast<unsigned*>(word), reinterpret_cast<unsigned*>(out));
  if (is("partlyFilled")) {
    int* fresh = nullptr;
    CHECK(cudaMalloc(&fresh, kCount * sizeof(int)));
    CHECK(cudaMemset(fresh, 0, kCount));  // so many bytes, not numbers
    partlyFilled<<<kBlocks, kThreads>>>(fresh, out);
  }
  if (is("fineTold")) runTold(out);
  if (is("tileForgotten")) tileForgotten<<<kBlocks, kThreads>>>(data);
  if (is("fineTile")) fineTile<<<kBlocks, kThreads>>>(data);
  if (is("gridBarrierTooEarly")) together(gridBarrierTooEarly, data, out);
  if (is("fineGridBarrier")) together(fineGridBarrier, data, out);
}
