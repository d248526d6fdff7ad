// What a process pays before and around its first kernel. Prints "NAME MICROSECONDS" lines; run it in fresh processes.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Clock = std::chrono::steady_clock;

static double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

static void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s gave %d\n", what, code);
  std::exit(1);
}
#define CHECK(call) check(int(call), #call)

__global__ void empty() {}

__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float tileA[32][32], tileB[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < n; start += 32) {
    tileA[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
    tileB[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

static double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

int main() {
  auto start = Clock::now();
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) check(1, "dlopen libcuda.so.1");
  std::printf("load %.2f\n", microsecondsSince(start));

  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  void* context = nullptr;
  start = Clock::now();
  CHECK(init(0));
  CHECK(retain(&context, 0));
  std::printf("init+context %.2f\n", microsecondsSince(start));

  start = Clock::now();
  CHECK(cudaFree(nullptr));
  std::printf("runtime %.2f\n", microsecondsSince(start));

  constexpr int kSide = 32;
  float* values = nullptr;
  CHECK(cudaMalloc(&values, kSide * kSide * sizeof(float)));
  CHECK(cudaMemset(values, 0, kSide * kSide * sizeof(float)));
  start = Clock::now();
  sgemm<<<1, dim3(32, 32)>>>(values, values, values, kSide);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("first-launch %.2f\n", microsecondsSince(start));

  empty<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  std::vector<double> both, launchOnly;
  for (int i = 0; i < 3000; ++i) {
    start = Clock::now();
    empty<<<1, 1>>>();
    const double launched = microsecondsSince(start);
    CHECK(cudaDeviceSynchronize());
    both.push_back(microsecondsSince(start));
    launchOnly.push_back(launched);
  }
  std::printf("empty-launch+sync %.3f\n", median(both));
  std::printf("empty-launch %.3f\n", median(launchOnly));
  CHECK(cudaFree(values));
  return 0;
}
