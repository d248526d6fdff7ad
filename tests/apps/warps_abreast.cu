// Programs that count on warps of a block advancing together: behind a barrier all read a shared value, and some warp
// stores the next one there without a barrier in between; or a loop reads what the other warps, in a loop or not, have
// written before it. On a GPU the others have come that far long before. Many programs are written so by oversight and
// come out right on every GPU.
#include <algorithm>
#include <functional>
#include <numeric>

#include "check.h"

constexpr int kItems = 40;  // rounds of each block, one item a thread
int blocks = 6;
constexpr int kLong = 12;  // steps that take a warp longer than others need to read

__device__ int mixed(int value) { return (value * 1103515245 + 12345) >> 7 & 0xffff; }
int mixedOnHost(int value) {
  return static_cast<int>(static_cast<unsigned>(value) * 1103515245u + 12345u) >> 7 & 0xffff;
}

__inline__ __device__ int warpMax(int value) {
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_down_sync(0xffffffff, value, offset));
  return value;
}
__inline__ __device__ int warpSum(int value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

// Of all threads, by the first warp; every warp stores to what all have read of the reduction before.
template <bool kIsMax>
__device__ int blockReduce(int value, int* scratch) {
  value = kIsMax ? warpMax(value) : warpSum(value);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? scratch[threadIdx.x] : 0;
    value = kIsMax ? warpMax(value) : warpSum(value);
    if (threadIdx.x == 0) scratch[0] = value;
  }
  __syncthreads();
  return scratch[0];
}
__device__ __noinline__ int blockReduceCalled(int value, bool isMax, int* scratch) {
  return isMax ? blockReduce<true>(value, scratch) : blockReduce<false>(value, scratch);
}

__global__ void softmax(const int* in, int* out) {
  __shared__ int scratch[32];
  const int n = blockDim.x, row = blockIdx.x;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + threadIdx.x];
    const int most = blockReduce<true>(x, scratch);
    const int weight = mixed(most - x);
    const int sum = blockReduce<false>(weight, scratch);
    out[(row * kItems + item) * n + threadIdx.x] = weight + sum;
  }
}

__global__ void softmaxOfCalls(const int* in, int* out) {
  extern __shared__ int dynamic[];
  const int n = blockDim.x, row = blockIdx.x;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + threadIdx.x];
    const int most = blockReduceCalled(x, true, dynamic);
    const int weight = mixed(most - x);
    const int sum = blockReduceCalled(weight, false, dynamic);
    out[(row * kItems + item) * n + threadIdx.x] = weight + sum;
  }
}

// Trees in shared memory, the result read by all, the next tree in the same array.
__global__ void softmaxOfTrees(const int* in, int* out) {
  extern __shared__ int tree[];
  const int n = blockDim.x, row = blockIdx.x, t = threadIdx.x;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + t];
    tree[t] = x;
    __syncthreads();
    for (int half = n / 2; half > 0; half /= 2) {
      if (t < half) tree[t] = max(tree[t], tree[t + half]);
      __syncthreads();
    }
    const int most = tree[0];
    int weight = most - x;
    for (int k = 0; k < kLong; ++k) weight = mixed(weight);
    tree[t] = weight;
    __syncthreads();
    for (int half = n / 2; half > 0; half /= 2) {
      if (t < half) tree[t] += tree[t + half];
      __syncthreads();
    }
    out[(row * kItems + item) * n + t] = weight + tree[0];
    __syncthreads();
  }
}

void softmaxOnHost(const int* in, int n, int steps, int* out) {
  const int most = *std::max_element(in, in + n);
  int sum = 0;
  for (int t = 0; t < n; ++t) {
    out[t] = most - in[t];
    for (int k = 0; k < steps; ++k) out[t] = mixedOnHost(out[t]);
    sum += out[t];
  }
  for (int t = 0; t < n; ++t) out[t] += sum;
}

// Thread 0 says what all go on with: one barrier a round. Threads may leave before, by what memory says; none does.
template <bool kMayLeave>
__global__ void sampler(const int* in, int* out) {
  __shared__ int chosen, largest;
  const int n = blockDim.x, row = blockIdx.x;
  if (kMayLeave && (in[row * kItems * n + threadIdx.x] & 1 << 30) != 0) return;
  int state = row;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + threadIdx.x];
    if (threadIdx.x == 0) {
      chosen = (state + item) % n;
      largest = 0;
    }
    __syncthreads();
    const int mine = mixed(x + chosen);
    atomicMax(&largest, warpMax(mine));
    __syncthreads();
    state = state * 5 + largest + chosen;
    out[(row * kItems + item) * n + threadIdx.x] = mine + state;
  }
}

void samplerOnHost(const int* in, int n, int row, int items, int* out) {
  int state = row;
  for (int item = 0; item < items; ++item) {
    const int chosen = (state + item) % n;
    int largest = 0;
    for (int t = 0; t < n; ++t) largest = std::max(largest, mixedOnHost(in[item * n + t] + chosen));
    state = static_cast<int>(static_cast<unsigned>(state) * 5u + static_cast<unsigned>(largest + chosen));
    for (int t = 0; t < n; ++t)
      out[item * n + t] = static_cast<int>(static_cast<unsigned>(mixedOnHost(in[item * n + t] + chosen)) +
                                           static_cast<unsigned>(state));
  }
}

// Counts of a digit, their running sum, the counts cleared for the next item by who has read them.
__global__ void histogramScan(const int* in, int* out) {
  __shared__ int counts[32], sums[33];
  const int n = blockDim.x, row = blockIdx.x, t = threadIdx.x;
  if (t < 32) counts[t] = 0;
  __syncthreads();
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + t];
    atomicAdd(&counts[x & 31], 1);
    __syncthreads();
    const int own = counts[x & 31];
    if (t < 32) {
      int sum = counts[t];
      for (int offset = 1; offset < 32; offset *= 2) {
        const int before = __shfl_up_sync(0xffffffff, sum, offset);
        if (t >= offset) sum += before;
      }
      sums[t + 1] = sum;
      if (t == 0) sums[0] = 0;
      counts[t] = 0;
    }
    __syncthreads();
    out[(row * kItems + item) * n + t] = sums[x & 31] * 2048 + own;
  }
}

void histogramOnHost(const int* in, int n, int* out) {
  int counts[33] = {};
  for (int t = 0; t < n; ++t) ++counts[(in[t] & 31) + 1];
  std::partial_sum(counts, counts + 33, counts);
  for (int t = 0; t < n; ++t) {
    const int* const at = counts + (in[t] & 31);
    out[t] = at[0] * 2048 + at[1] - at[0];
  }
}

// What all warps give is read by all, then each gives its next one: with one barrier a round.
__global__ void matrixVector(const int* in, int* out) {
  __shared__ int partial[32];
  const int n = blockDim.x, row = blockIdx.x, t = threadIdx.x;
  int sum = 0;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + t];
    const int ofWarp = warpSum(x);
    if (t % 32 == 0) partial[t / 32] = ofWarp;
    __syncthreads();
    int all = 0;
    for (int w = 0; w < n / 32; ++w) all += partial[w];
    sum += all * ((all & 7) + 1);
    out[(row * kItems + item) * n + t] = sum + x;
  }
}

void matrixVectorOnHost(const int* in, int n, int items, int* out) {
  unsigned sum = 0;
  for (int item = 0; item < items; ++item) {
    const int all = std::accumulate(in + item * n, in + (item + 1) * n, 0);
    sum += static_cast<unsigned>(all) * static_cast<unsigned>((all & 7) + 1);
    for (int t = 0; t < n; ++t) out[item * n + t] = static_cast<int>(sum + static_cast<unsigned>(in[item * n + t]));
  }
}

// Half of the warps meet at a barrier of their own; the other half goes another way.
__global__ void halves(const int* in, int* out) {
  __shared__ int scratch[2][32];
  const int n = blockDim.x, row = blockIdx.x, t = threadIdx.x, half = t >= n / 2;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + t];
    int result;
    if (half == 0) {
      int sum = warpSum(x);
      if (t % 32 == 0) scratch[0][t / 32] = sum;
      asm volatile("bar.sync 1, %0;" ::"r"(n / 2) : "memory");
      int all = 0;
      for (int w = 0; w < n / 64; ++w) all += scratch[0][w];
      sum = warpSum(mixed(x + all));
      if (t % 32 == 0) scratch[0][t / 32] = sum;
      asm volatile("bar.sync 1, %0;" ::"r"(n / 2) : "memory");
      result = 0;
      for (int w = 0; w < n / 64; ++w) result += scratch[0][w];
      asm volatile("bar.sync 1, %0;" ::"r"(n / 2) : "memory");
    } else {
      const int most = warpMax(x);
      if (t % 32 == 0) scratch[1][t / 32 - n / 64] = most;
      asm volatile("bar.sync 2, %0;" ::"r"(n / 2) : "memory");
      result = 0;
      for (int w = 0; w < n / 64; ++w) result = max(result, scratch[1][w]);
      if (x & 1) result += 3;  // lanes part
      __syncwarp();
      const int again = warpMax(mixed(result + x));
      if (t % 32 == 0) scratch[1][t / 32 - n / 64] = again;
      asm volatile("bar.sync 2, %0;" ::"r"(n / 2) : "memory");
      for (int w = 0; w < n / 64; ++w) result = max(result, scratch[1][w]);
      asm volatile("bar.sync 2, %0;" ::"r"(n / 2) : "memory");
    }
    out[(row * kItems + item) * n + t] = result;
  }
}

// Only some warps read, and store again what others of them read; all meet behind it.
__global__ void halfDivergent(const int* in, int* out) {
  __shared__ int scratch[32];
  const int n = blockDim.x, row = blockIdx.x, t = threadIdx.x;
  for (int item = 0; item < kItems; ++item) {
    const int x = in[(row * kItems + item) * n + t];
    const int most = warpMax(x);
    if (t % 32 == 0) scratch[t / 32] = most;
    __syncthreads();
    int all = 0;
    if (t < n / 2) {
      for (int w = 0; w < n / 32; ++w) all = max(all, scratch[w]);
      const int sum = warpSum(mixed(all - x));
      if (t % 32 == 0) scratch[t / 32] = sum;
    }
    __syncthreads();
    int result = all;
    for (int w = 0; w < n / 64; ++w) result += scratch[w];
    out[(row * kItems + item) * n + t] = result;
    __syncthreads();
  }
}

void halvesOnHost(const int* in, int n, bool divergent, int* out) {
  const int half = n / 2;
  if (divergent) {
    const int most = *std::max_element(in, in + n);
    int sum = 0;
    for (int t = 0; t < half; ++t) sum += mixedOnHost(most - in[t]);
    for (int t = 0; t < n; ++t) out[t] = (t < half ? most : 0) + sum;
    return;
  }
  const int all = std::accumulate(in, in + half, 0);
  int sum = 0;
  for (int t = 0; t < half; ++t) sum += mixedOnHost(in[t] + all);
  std::fill(out, out + half, sum);
  const int most = *std::max_element(in + half, in + n);
  int again = 0;
  for (int t = half; t < n; ++t) again = std::max(again, mixedOnHost(most + (in[t] & 1 ? 3 : 0) + in[t]));
  for (int t = half; t < n; ++t) out[t] = std::max(most + (in[t] & 1 ? 3 : 0), again);
}

using Kernel = void (*)(const int*, int*);
// A loop of all threads over memory of the device, and behind it, without a barrier, one of some that reads what the
// others have written. What there is to do stands in constant memory.
struct Work {
  int* sums;  // of all blocks
  int round;  // 0: nothing to do
};
__constant__ Work work;

__global__ void sumsOfRows(const int* in, int* out) {
  const int n = blockDim.x, first = blockIdx.x * kItems * n;
  int* const mine = work.sums + first;
  if (work.round != 0) {
    for (int i = threadIdx.x; i < kItems * n; i += n) mine[i] = mixed(in[first + i]);
    for (int row = threadIdx.x; row < kItems; row += n) {
      int sum = 0;
      for (int i = row; i < kItems * n; i += kItems) mine[i] = sum += mine[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kItems * n; i += n) out[first + i] = mine[i];
  }
}

// The same by a function that is given shared memory, or the device's.
constexpr int kFew = 256;  // threads
__device__ __noinline__ void fill(int* numbers, const int* in, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) numbers[i] = mixed(in[i]);
}
template <bool kIsShared>
__global__ void sumsOfRowsCalled(const int* in, int* out) {
  __shared__ int shared[kItems * kFew];
  const int count = kItems * blockDim.x, first = blockIdx.x * count;
  int* const mine = kIsShared ? shared : work.sums + first;
  if (work.round != 0) {
    fill(mine, in + first, count);
    for (int row = threadIdx.x; row < kItems; row += blockDim.x) {
      int sum = 0;
      for (int i = row; i < count; i += kItems) mine[i] = sum += mine[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) out[first + i] = mine[i];
  }
}

void sumsOfRowsOnHost(const int* in, int n, int* out) {
  for (int i = 0; i < kItems * n; ++i) out[i] = mixedOnHost(in[i]) + (i < kItems ? 0 : out[i - kItems]);
}

// Every thread stores what it has; then, without a barrier, one thread or one warp goes through all of it, its own
// first.
enum class Reader { Thread, ThreadByBytes, ThreadUnrolled, Warp, BulkCopy };
template <Reader kReader>
__global__ void readWhatAllStored(const int* in, int* out) {
  extern __shared__ __align__(16) int stored[];
  const int n = blockDim.x, t = threadIdx.x;
  for (int item = 0; item < kItems; ++item) {
    const int first = (blockIdx.x * kItems + item) * n;
    stored[t] = mixed(in[first + t]);
    if (kReader == Reader::Thread && t == 0)
      for (int k = 0; k < n; ++k) out[first + k] = stored[k];
    if (kReader == Reader::ThreadByBytes && t == 0) {
      const auto* const from = reinterpret_cast<const unsigned char*>(stored);
      auto* const to = reinterpret_cast<unsigned char*>(out + first);
      for (int k = 0; k < n * 4; ++k) to[k] = from[k];
    }
    if (kReader == Reader::ThreadUnrolled && t == 0)
#pragma unroll
      for (int k = 0; k < 64; ++k) out[first + k] = stored[k];
    if (kReader == Reader::ThreadUnrolled && t >= 64) out[first + t] = stored[t];
#ifdef WITH_BULK
    if (kReader == Reader::BulkCopy) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if (t == 0)
        asm volatile(
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n cp.async.bulk.commit_group;\n"
            "cp.async.bulk.wait_group 0;" ::"l"(out + first),
            "r"(unsigned(__cvta_generic_to_shared(stored))), "r"(n * 4)
            : "memory");
    }
#endif
    if (kReader == Reader::Warp && t < 32)
      for (int k = t; k < n; k += 32) out[first + k] = stored[k];
    __syncthreads();
  }
}

void readWhatAllStoredOnHost(const int* in, int n, int* out) { std::transform(in, in + n, out, mixedOnHost); }

using Reference = std::function<void(const int* in, int n, int row, int* out)>;  // of all items of a row

void compare(const char* name, Kernel kernel, int threads, const Reference& reference, unsigned seed) {
  std::vector<int> in(static_cast<size_t>(blocks) * kItems * threads);
  RandomWords random(seed);
  for (int& value : in) value = static_cast<int>(random() % 1000);
  DeviceArray<int> from(in), to(in.size());
  kernel<<<blocks, threads, threads * sizeof(int)>>>(from, to);
  CHECK_LAUNCH();
  std::vector<int> wanted(in.size()), got(in.size());
  CHECK(cudaMemcpy(got.data(), to, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  const size_t rowSize = static_cast<size_t>(kItems) * threads;
  for (int row = 0; row < blocks; ++row) reference(&in[row * rowSize], threads, row, &wanted[row * rowSize]);
  size_t wrong = 0;
  for (size_t n = 0; n < in.size(); ++n) wrong += got[n] != wanted[n];
  if (wrong) {
    std::fprintf(stderr, "%s with %d threads: %zu of %zu values are wrong\n", name, threads, wrong, in.size());
    std::exit(1);
  }
}

Reference itemByItem(const std::function<void(const int*, int, int*)>& one) {
  return [one](const int* in, int n, int, int* out) {
    for (int item = 0; item < kItems; ++item) one(in + item * n, n, out + item * n);
  };
}

// With an argument only a part, for slow ways to run it.
int main(int argc, char**) {
  blocks = argc > 1 ? 1 : 6;
  for (int threads : {64, 128, 192, 256, 512, 1024}) {
    if (argc > 1 && threads != 64 && threads != 192 && threads != 256) continue;
    const auto seed = static_cast<unsigned>(threads);
    const auto of = [](int steps) {
      return itemByItem([steps](const int* in, int n, int* out) { softmaxOnHost(in, n, steps, out); });
    };
    compare("softmax", softmax, threads, of(1), seed);
    compare("softmaxOfCalls", softmaxOfCalls, threads, of(1), seed);
    if ((threads & (threads - 1)) == 0) compare("softmaxOfTrees", softmaxOfTrees, threads, of(kLong), seed);
    const Reference sampled = [](const int* in, int n, int row, int* out) { samplerOnHost(in, n, row, kItems, out); };
    compare("sampler", sampler<false>, threads, sampled, seed);
    compare("sampler that threads may leave", sampler<true>, threads, sampled, seed);
    compare("histogramScan", histogramScan, threads, itemByItem(histogramOnHost), seed);
    compare(
        "matrixVector", matrixVector, threads,
        [](const int* in, int n, int, int* out) { matrixVectorOnHost(in, n, kItems, out); }, seed);
    const Reference stored = itemByItem(readWhatAllStoredOnHost);
    compare("readWhatAllStored, thread", readWhatAllStored<Reader::Thread>, threads, stored, seed);
    compare("readWhatAllStored, bytes", readWhatAllStored<Reader::ThreadByBytes>, threads, stored, seed);
    compare("readWhatAllStored, unrolled", readWhatAllStored<Reader::ThreadUnrolled>, threads, stored, seed);
#ifdef WITH_BULK
    compare("readWhatAllStored, bulk copy", readWhatAllStored<Reader::BulkCopy>, threads, stored, seed);
#endif
    compare("readWhatAllStored, warp", readWhatAllStored<Reader::Warp>, threads, stored, seed);
    DeviceArray<int> sums(static_cast<size_t>(blocks) * kItems * threads);
    const Work given{sums, 1};
    CHECK(cudaMemcpyToSymbol(work, &given, sizeof(given)));
    const Reference rows = [](const int* in, int n, int, int* out) { sumsOfRowsOnHost(in, n, out); };
    compare("sumsOfRows", sumsOfRows, threads, rows, seed);
    if (threads <= kFew) {
      compare("sumsOfRowsCalled, shared", sumsOfRowsCalled<true>, threads, rows, seed);
      compare("sumsOfRowsCalled, global", sumsOfRowsCalled<false>, threads, rows, seed);
    }
    if (threads % 64 == 0 && threads != 192) {
      compare("halves", halves, threads,
              itemByItem([](const int* in, int n, int* out) { halvesOnHost(in, n, false, out); }), seed);
      compare("halfDivergent", halfDivergent, threads,
              itemByItem([](const int* in, int n, int* out) { halvesOnHost(in, n, true, out); }), seed);
    }
  }
  return passed();
}
