// Blocks whose size is no multiple of a warp, in one, two and three dimensions, with barriers and early returns.
#include "check.h"

__global__ void identify(int4* out) {
  const int inBlock = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int perBlock = blockDim.x * blockDim.y * blockDim.z;
  out[block * perBlock + inBlock] = make_int4(threadIdx.x + 1000 * threadIdx.y + 1000000 * threadIdx.z,
                                              blockIdx.x + 1000 * blockIdx.y + 1000000 * blockIdx.z, inBlock, warpSize);
}

__global__ void neighbourSum(const int* in, int* out) {
  extern __shared__ int local[];
  const int size = blockDim.x * blockDim.y * blockDim.z;
  const int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int base = blockIdx.x * size;
  local[i] = in[base + i];
  __syncthreads();
  const int sum = local[(i + 1) % size] + local[(i + size - 1) % size];
  __syncthreads();
  local[i] = sum;
  __syncthreads();
  out[base + i] = local[size - 1 - i];
}

// Lanes that have left do not take part in the barriers of the others.
__global__ void earlyReturn(int* out, int limit) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x >= limit) {
    out[threadIdx.x] = -1;
    return;
  }
  if (threadIdx.x % 3 == 1) {
    out[threadIdx.x] = -3;
    return;
  }
  atomicAdd(&sum, 1);
  __syncthreads();
  out[threadIdx.x] = sum;
}

static void checkShape(dim3 grid, dim3 block) {
  const int perBlock = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
  DeviceArray<int4> ids(perBlock * blocks);
  identify<<<grid, block>>>(ids);
  CHECK_LAUNCH();
  const auto seen = ids.host();
  int at = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz)
    for (unsigned by = 0; by < grid.y; ++by)
      for (unsigned bx = 0; bx < grid.x; ++bx)
        for (int i = 0; i < perBlock; ++i, ++at) {
          const int x = i % block.x, y = i / block.x % block.y, z = i / (block.x * block.y);
          EXPECT(seen[at].x == x + 1000 * y + 1000000 * z && seen[at].z == i && seen[at].w == 32);
          EXPECT(seen[at].y == int(bx + 1000 * by + 1000000 * bz));
        }

  std::vector<int> in, expected;
  for (unsigned word : randomWords(perBlock * 5, 1000, 34)) in.push_back(int(word));
  for (int b = 0; b < 5; ++b)
    for (int i = perBlock - 1; i >= 0; --i)
      expected.push_back(in[b * perBlock + (i + 1) % perBlock] + in[b * perBlock + (i + perBlock - 1) % perBlock]);
  DeviceArray<int> deviceIn(in), out(in.size());
  neighbourSum<<<5, block, perBlock * sizeof(int)>>>(deviceIn, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "neighbourSum");
}

int main() {
  checkShape(3, 33);
  checkShape(dim3(2, 3), dim3(7, 5));
  checkShape(dim3(2, 2, 3), dim3(3, 5, 7));
  checkShape(4, 1);
  checkShape(dim3(1, 5), dim3(16, 3));
  checkShape(dim3(2, 1, 2), dim3(8, 8, 8));
  checkShape(2, dim3(1, 1, 64));
  checkShape(2, dim3(1, 100));
  checkShape(1, 1024);
  checkShape(1, dim3(12, 9, 5));
  for (int threads : {32, 33, 100, 256}) {
    for (int limit : {1, 17, 32, 70, 256}) {
      DeviceArray<int> out(threads);
      earlyReturn<<<1, threads>>>(out, limit);
      CHECK_LAUNCH();
      const auto seen = out.host();
      int stayed = 0;
      for (int i = 0; i < std::min(threads, limit); ++i) stayed += i % 3 != 1;
      for (int i = 0; i < threads; ++i) EXPECT(seen[i] == (i >= limit ? -1 : i % 3 == 1 ? -3 : stayed));
    }
  }
  return passed();
}
