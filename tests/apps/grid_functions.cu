// The device runtime's functions of grids, called by name as compilers without the header of cooperative groups do,
// beside that header's own barrier: size and rank of each thread, and sums that go round all blocks step by step.
#include <cooperative_groups.h>
#include <cuda_device_runtime_api.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void describe(unsigned* sizes, unsigned* ranks, int* answers) {
  const unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
  unsigned threads = 0, grids = 0, thread = 0, rank = 7;
  int answer = cudaCGGetSize(&threads, &grids, grid) | cudaCGGetRank(&thread, &rank, grid);
  answer |= cudaCGGetSize(nullptr, nullptr, grid) | cudaCGGetRank(nullptr, nullptr, grid);
  answer |= cudaCGSynchronize(grid, 0);
  const unsigned me = cg::this_grid().thread_rank();
  sizes[me] = threads * 10 + grids;
  ranks[me] = thread * 10 + rank;
  answers[me] = answer;
}

// Each step every thread adds what the thread a block further had before.
__global__ void goRound(unsigned* a, unsigned* b, int steps) {
  const unsigned long long handle = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
  const unsigned me = blockIdx.x * blockDim.x + threadIdx.x, size = gridDim.x * blockDim.x;
  for (int step = 0; step < steps; ++step) {
    b[me] = a[me] + a[(me + blockDim.x) % size];
    if (step % 3 == 0) cg::this_grid().sync();
    if (step % 3 == 1) cudaCGSynchronize(handle, 0);
    if (step % 3 == 2) cudaCGSynchronizeGrid(handle, 0);
    unsigned* const other = a;
    a = b;
    b = other;
  }
}

static void testDescription() {
  const dim3 blocks(3, 2, 2), threads(8, 4, 3);
  const int all = 12 * 96;
  DeviceArray<unsigned> sizes(all), ranks(all);
  DeviceArray<int> answers(all);
  unsigned *s = sizes, *r = ranks;
  int* o = answers;
  void* arguments[] = {&s, &r, &o};
  CHECK(cudaLaunchCooperativeKernel(describe, blocks, threads, arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  const auto size = sizes.host(), rank = ranks.host();
  const auto answer = answers.host();
  for (int i = 0; i < all; ++i) EXPECT(size[i] == all * 10u + 1 && rank[i] == i * 10u && answer[i] == 0);
}

static void testBarriers() {
  int blocks = 8, steps = 20;
  const int threads = 64, all = blocks * threads;
  std::vector<unsigned> expected(all);
  for (int i = 0; i < all; ++i) expected[i] = i;
  DeviceArray<unsigned> first(expected), second(all);
  unsigned *a = first, *b = second;
  void* arguments[] = {&a, &b, &steps};
  CHECK(cudaLaunchCooperativeKernel(goRound, blocks, threads, arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  for (int step = 0; step < steps; ++step) {
    const std::vector<unsigned> before = expected;
    for (int i = 0; i < all; ++i) expected[i] = before[i] + before[(i + threads) % all];
  }
  EXPECT(first.host() == expected);
}

int main() {
  testDescription();
  testBarriers();
  return 0;
}
