// Blocks that wait for each other without a barrier of the grid: a scan in one pass that looks back at earlier blocks,
// a lock between blocks and between the threads of a warp, workers that live as long as their queue.
#include <cuda/atomic>

#include <numeric>

#include "check.h"

constexpr unsigned kNothing = 0, kPartial = 1, kWhole = 2;

struct Tile {
  unsigned state;
  int sum;
};
static_assert(sizeof(Tile) == 8);

__device__ Tile look(unsigned long long* tiles, int tile) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> word(tiles[tile]);
  const unsigned long long bits = word.load(cuda::memory_order_acquire);
  return {unsigned(bits >> 32), int(unsigned(bits))};
}
__device__ void publish(unsigned long long* tiles, int tile, unsigned state, int sum) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> word(tiles[tile]);
  word.store(static_cast<unsigned long long>(state) << 32 | unsigned(sum), cuda::memory_order_release);
}

// Inclusive scan of 128 values a block.
__global__ void scanLookingBack(const int* in, int* out, unsigned long long* tiles, unsigned* ticket) {
  __shared__ int tile, sums[4], before;
  if (threadIdx.x == 0) tile = int(atomicAdd(ticket, 1));
  __syncthreads();
  int value = in[tile * 128 + threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = value;
  __syncthreads();
  for (unsigned warp = 0; warp < threadIdx.x / 32; ++warp) value += sums[warp];
  if (threadIdx.x == 127) {
    publish(tiles, tile, tile ? kPartial : kWhole, value);
    int prefix = 0;
    for (int back = tile - 1; back >= 0; --back) {
      Tile seen;
      do seen = look(tiles, back);
      while (seen.state == kNothing);
      prefix += seen.sum;
      if (seen.state == kWhole) break;
    }
    if (tile) publish(tiles, tile, kWhole, prefix + value);
    before = prefix;
  }
  __syncthreads();
  out[tile * 128 + threadIdx.x] = before + value;
}

static void testScan() {
  const int tiles = 500;
  std::vector<int> in(tiles * 128), expected(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 31 % 19) - 9;
  std::partial_sum(in.begin(), in.end(), expected.begin());
  DeviceArray<int> deviceIn(in), out(in.size());
  DeviceArray<unsigned long long> states(tiles);
  DeviceArray<unsigned> ticket(1);
  states.clear();
  ticket.clear();
  scanLookingBack<<<tiles, 128>>>(deviceIn, out, states, ticket);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "scan that looks back");
}

// Every thread takes the lock in turn, also those of one warp.
__global__ void countUnderLock(int* lock, volatile int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *counter = *counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void countUnderWarpLocks(int* lock, volatile int* counter) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(lock, 0, 1)) __nanosleep(20);
    __threadfence();
    *counter = *counter + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

static void testLocks() {
  DeviceArray<int> lock(1), counter(1);
  lock.clear();
  counter.clear();
  countUnderLock<<<20, 64>>>(lock, counter);
  CHECK_LAUNCH();
  EXPECT(counter.host()[0] == 20 * 64);
  counter.clear();
  countUnderWarpLocks<<<20, 256>>>(lock, counter);
  CHECK_LAUNCH();
  EXPECT(counter.host()[0] == 20 * 8);
}

// As many blocks as fit take numbers from a queue that they fill themselves: n gives n / 2 and n / 3.
__global__ void countTree(int* queue, unsigned* head, unsigned* tail, unsigned* open, unsigned* done) {
  while (true) {
    if (*static_cast<volatile unsigned*>(open) == 0) return;
    unsigned at = *static_cast<volatile unsigned*>(head);
    if (at >= *static_cast<volatile unsigned*>(tail) || atomicCAS(head, at, at + 1) != at) continue;
    int n;
    while ((n = static_cast<volatile int*>(queue)[at]) == 0) {
    }
    for (int child : {n / 2, n / 3})
      if (child) {
        atomicAdd(open, 1);
        atomicExch(&queue[atomicAdd(tail, 1)], child);
      }
    atomicAdd(done, 1);
    __threadfence();
    atomicSub(open, 1);
  }
}

static unsigned treeSize(int n) { return n ? 1 + treeSize(n / 2) + treeSize(n / 3) : 0; }

static void testPersistent() {
  int each = 0, count = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, countTree, 1, 0));
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  const int start = 1000;
  std::vector<int> first(1 << 14);
  first[0] = start;
  DeviceArray<int> queue(first);
  DeviceArray<unsigned> words(std::vector<unsigned>{0, 1, 1, 0});
  countTree<<<std::min(each * count, 16), 1>>>(queue, words, words + 1, words + 2, words + 3);
  CHECK_LAUNCH();
  EXPECT(words.host()[3] == treeSize(start));
}

int main() {
  testScan();
  testLocks();
  testPersistent();
  return passed();
}
