// Eight host threads use one device at once, each with its default stream, its own memory and the shared kernel.
#include <atomic>
#include <thread>

#include "check.h"

__global__ void mix(unsigned* values, int size, unsigned seed) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x)
    values[i] = values[i] * 1664525u + seed;
}

__device__ unsigned total = 0;
__global__ void addToTotal(unsigned value) { atomicAdd(&total, value); }

static void work(unsigned id, std::atomic<int>* finished) {
  constexpr int kSize = 3001, kRounds = 40;
  DeviceArray<unsigned> values(std::vector<unsigned>(kSize, id));
  unsigned expected = id;
  for (int round = 0; round < kRounds; ++round) {
    mix<<<4, 64>>>(values, kSize, id + round);
    CHECK(cudaGetLastError());
    expected = expected * 1664525u + id + round;
    if (round % 10 == 3) CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  }
  addToTotal<<<1, 1>>>(id);
  // The copy is not ordered after the per-thread stream unless this program is built for per-thread streams.
  CHECK(cudaDeviceSynchronize());
  expectEqual(values.host(), std::vector<unsigned>(kSize, expected), "mix");
  ++*finished;
}

int main() {
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (unsigned id = 1; id <= 8; ++id) threads.emplace_back(work, id, &finished);
  for (auto& thread : threads) thread.join();
  EXPECT(finished == 8);
  unsigned sum = 0;
  CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
  EXPECT(sum == 36);
  return passed();
}
