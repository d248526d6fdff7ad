// What the tests look for in native code: every kind of section, attribute and relocation that a program causes.
#include <cassert>
#include <cstdio>

__constant__ int table[16] = {1, 2, 3};
__device__ int counter = 7;
__device__ int zeroes[100];
__device__ int* toCounter = &counter;
__constant__ int* constantToCounter = &counter;
__managed__ int shared = 5;

struct Odd {
  char c;
  double d;
  short s;
};

extern "C" __global__ void nothing() {}

extern "C" __global__ void __launch_bounds__(256, 2) many(int a, Odd b, float* out, char c) {
  __shared__ float staging[64];
  staging[threadIdx.x & 63] = a + b.d + table[a & 15] + *constantToCounter;
  __syncthreads();
  out[threadIdx.x] = staging[(threadIdx.x + c) & 63] + counter + zeroes[a & 63] + shared + *toCounter;
}

extern "C" __global__ void talks(int a) {
  printf("hello %d\n", a);
  assert(a != 3);
}

extern "C" __global__ void allocates(int** out, int bytes) {
  out[0] = static_cast<int*>(malloc(bytes));
  free(out[1]);
}

__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void recurses(int* out, int n) { *out = factorial(n); }

extern "C" __global__ void local(int* out, int n) {
  int values[100];
  for (int i = 0; i < 100; i++) values[i] = i * n;
  *out = values[n];
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(int* out) { *out = clock(); }
struct Large {
  char bytes[20000];
};
extern "C" __global__ void large(int a, Large b, long* out) { *out = b.bytes[a]; }
#endif
