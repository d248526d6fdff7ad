// Several devices: allocations of each, peer copies, kernels on the one waiting for events of the other, peer pointers.
#include "check.h"

__global__ void fill(int* values, int size, int start) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) values[i] = start + i;
}

__global__ void addInto(int* values, const int* others, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) values[i] += others[i];
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count < 2) {
    std::puts("skipped: fewer than two devices");
    return 77;
  }
  constexpr int kSize = 20000;
  int *first = nullptr, *second = nullptr, *copied = nullptr;
  cudaStream_t streams[2];
  cudaEvent_t filled;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&first, kSize * sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&second, kSize * sizeof(int)));
  CHECK(cudaMalloc(&copied, kSize * sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));

  fill<<<4, 128, 0, streams[1]>>>(second, kSize, 1000);
  CHECK(cudaSetDevice(0));
  fill<<<4, 128, 0, streams[0]>>>(first, kSize, 5);
  CHECK(cudaEventRecord(filled, streams[0]));
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamWaitEvent(streams[1], filled));
  CHECK(cudaMemcpyPeerAsync(copied, 1, first, 0, kSize * sizeof(int), streams[1]));
  addInto<<<4, 128, 0, streams[1]>>>(second, copied, kSize);
  CHECK(cudaStreamSynchronize(streams[1]));
  std::vector<int> seen(kSize);
  CHECK(cudaMemcpy(seen.data(), second, kSize * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kSize; ++i) EXPECT(seen[i] == 1005 + 2 * i);

  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, second));
  EXPECT(attributes.device == 1);
  CHECK(cudaPointerGetAttributes(&attributes, first));
  EXPECT(attributes.device == 0);

  int reachable = 0;
  CHECK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
  if (reachable) {
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_CODE(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    addInto<<<4, 128, 0, streams[1]>>>(second, first, kSize);
    CHECK(cudaStreamSynchronize(streams[1]));
    CHECK(cudaMemcpy(seen.data(), second, kSize * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kSize; ++i) EXPECT(seen[i] == 1010 + 3 * i);
    CHECK(cudaDeviceDisablePeerAccess(0));
  }
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpy(first, second, kSize * sizeof(int), cudaMemcpyDefault));
  CHECK(cudaMemcpy(seen.data(), first, kSize * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(seen[0] >= 1005);
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
  CHECK(cudaFree(copied));
  return passed();
}
