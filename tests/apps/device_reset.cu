// cudaDeviceReset frees everything; the device is used again afterwards, several times over, with fresh variables.
#include "check.h"

__device__ int generation = 5;
__constant__ int step = 2;

__global__ void advance(int* out) {
  generation += step;
  *out = generation;
}

int main() {
  for (int round = 0; round < 4; ++round) {
    int *device = nullptr, value = 0;
    CHECK(cudaMalloc(&device, sizeof(int)));
    const int newStep = 10 + round;
    CHECK(cudaMemcpyToSymbol(step, &newStep, sizeof newStep));
    advance<<<1, 1>>>(device);
    advance<<<1, 1>>>(device);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 5 + 2 * newStep);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    advance<<<1, 1, 0, stream>>>(device);
    CHECK(cudaDeviceReset());
  }
  CHECK(cudaFree(nullptr));
  CHECK(cudaDeviceSynchronize());
  return passed();
}
