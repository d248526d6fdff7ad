// Cooperative launches: a reduction and a prefix of neighbours with grid-wide barriers, grids sized by the occupancy
// calculator, and the error for grids that cannot be resident.
#include <cooperative_groups.h>

#include <numeric>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void reduceInPlace(int* values, int size, int* out) {
  cg::grid_group grid = cg::this_grid();
  const int threads = int(grid.size()), me = int(grid.thread_rank());
  int sum = 0;
  for (int i = me; i < size; i += threads) sum += values[i];
  grid.sync();
  values[me] = sum;
  for (int half = 1; half < threads; half *= 2) {
    grid.sync();
    if (me % (2 * half) == 0 && me + half < threads) values[me] += values[me + half];
  }
  if (me == 0) *out = values[0];
}

// Every step reads what neighbours wrote in the step before; arrive and wait are apart.
__global__ void diffuse(float* a, float* b, int size, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = int(grid.thread_rank()); i < size; i += int(grid.size()))
      b[i] = (a[(i + size - 1) % size] + a[(i + 1) % size]) * 0.5f;
    auto token = grid.barrier_arrive();
    float* const other = a;
    a = b;
    b = other;
    grid.barrier_wait(std::move(token));
  }
}

static void testReduction() {
  std::vector<int> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = int(i * 7 % 1000) - 300;
  const int expected = std::accumulate(values.begin(), values.end(), 0);
  for (int threads : {32, 96, 256}) {
    int each = 0, count = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, reduceInPlace, threads, 0));
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    DeviceArray<int> in(values), out(1);
    int *data = in, *result = out, size = int(values.size());
    void* arguments[] = {&data, &size, &result};
    const int blocks = std::min(each * count, 20);
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(reduceInPlace), blocks, threads, arguments, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    EXPECT(out.host()[0] == expected);
  }
}

static void testDiffusion() {
  const int size = 3000, steps = 50;
  std::vector<float> a(size), b(size);
  for (int i = 0; i < size; ++i) a[i] = float(i % 17);
  DeviceArray<float> first(a), second(size_t{size});
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < size; ++i) b[i] = (a[(i + size - 1) % size] + a[(i + 1) % size]) * 0.5f;
    std::swap(a, b);
  }
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2, 3, 2);
  config.blockDim = dim3(32, 2);
  config.attrs = &cooperative;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, diffuse, static_cast<float*>(first), static_cast<float*>(second), size, steps));
  CHECK(cudaDeviceSynchronize());
  EXPECT(first.host() == a);
}

static void testLimit() {
  int each = 0, count = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, reduceInPlace, 256, 0));
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  int *data = nullptr, size = 0;
  void* arguments[] = {&data, &size, &data};
  EXPECT_CODE(
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(reduceInPlace), each * count + 1, 256, arguments, 0, nullptr),
      cudaErrorCooperativeLaunchTooLarge);
  (void)cudaGetLastError();
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(supported == 1);
}

int main() {
  testReduction();
  testDiffusion();
  testLimit();
  return passed();
}
