// Variables of every kind that nvcc -G describes, in lanes that take two ways (gdb_test.py).
#include <cstdio>

struct Pair {
  int first;
  float second;
};
__global__ void both(int* out, int count, Pair pair);

int main() {
  int *out = nullptr, results[256] = {};
  cudaMalloc(&out, sizeof results);
  both<<<4, 64>>>(out, 3, Pair{5, 2.5f});
  if (cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  std::printf("%d %d\n", results[0], results[1]);
  return results[0] == 63 && results[1] == 17 ? 0 : 1;
}

enum Colour { Red, Green = 5 };
__device__ int factor = 2;

__device__ int scaled(int value) {
  int result = value * factor;
  return result;  // line 24
}

__global__ void both(int* out, int count, Pair pair) {
  __shared__ int tile[64];
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  int array[4] = {index, index + 1, index + 2, index + 3};
  float half = index * 0.5f;
  Colour colour = index & 1 ? Green : Red;
  tile[threadIdx.x] = index;
  __syncthreads();
  for (int k = 0; k < count; ++k) {
    int more = scaled(array[k % 4]);
    half += more;  // line 37
  }
  if (colour == Green)
    out[index] = (int)half + pair.first;  // line 40
  else
    out[index] = tile[63 - threadIdx.x];  // line 42
}
