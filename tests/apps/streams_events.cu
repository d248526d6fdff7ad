// Work on several streams ordered by events; queries, timing, priorities, the legacy stream and non-blocking ones.
#include "check.h"

__global__ void addOne(int* values, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) values[i] += 1;
}

__global__ void multiply(const int* in, int* out, int size, int factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) out[i] = in[i] * factor;
}

static void pipeline() {
  constexpr int kStreams = 4, kSize = 10000;
  int* host = nullptr;
  CHECK(cudaMallocHost(&host, kStreams * kSize * sizeof(int)));
  for (int i = 0; i < kStreams * kSize; ++i) host[i] = i;
  DeviceArray<int> device(kStreams * kSize);
  cudaStream_t streams[kStreams];
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (int round = 0; round < 20; ++round) {
    for (int s = 0; s < kStreams; ++s) {
      int* part = device + s * kSize;
      CHECK(cudaMemcpyAsync(part, host + s * kSize, kSize * sizeof(int), cudaMemcpyHostToDevice, streams[s]));
      addOne<<<8, 128, 0, streams[s]>>>(part, kSize);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(host + s * kSize, part, kSize * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
    }
  }
  for (auto& stream : streams) CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kStreams * kSize; ++i) EXPECT(host[i] == i + 20);
  for (auto& stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(host));
}

static void waitAcrossStreams() {
  constexpr int kSize = 50000;
  DeviceArray<int> a(std::vector<int>(kSize, 1)), b(kSize), c(kSize);
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t ready, done;
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int round = 1; round <= 50; ++round) {
    addOne<<<4, 128, 0, first>>>(a, kSize);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready));
    multiply<<<4, 128, 0, second>>>(a, b, kSize, round);
    CHECK(cudaEventRecord(done, second));
    CHECK(cudaStreamWaitEvent(first, done));
    multiply<<<4, 128, 0, first>>>(b, c, kSize, 2);
  }
  CHECK(cudaStreamSynchronize(first));
  EXPECT(c.host() == std::vector<int>(kSize, 51 * 50 * 2));
  CHECK(cudaStreamQuery(second));
  CHECK(cudaEventQuery(done));
  CHECK(cudaEventDestroy(ready));
  CHECK(cudaEventDestroy(done));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
}

static void timing() {
  cudaEvent_t start, middle, stop, untimed;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&middle));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  DeviceArray<int> values(1 << 20);
  values.clear();
  CHECK(cudaEventRecord(start));
  addOne<<<64, 256>>>(values, 1 << 20);
  CHECK(cudaEventRecord(middle));
  for (int i = 0; i < 10; ++i) addOne<<<64, 256>>>(values, 1 << 20);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventRecord(untimed));
  CHECK(cudaEventSynchronize(stop));
  float one = -1, ten = -1, all = -1;
  CHECK(cudaEventElapsedTime(&one, start, middle));
  CHECK(cudaEventElapsedTime(&ten, middle, stop));
  CHECK(cudaEventElapsedTime(&all, start, stop));
  EXPECT(one > 0 && ten > 0 && std::fabs(one + ten - all) < 0.01f + 0.001f * all);
  CHECK(cudaDeviceSynchronize());
  EXPECT_CODE(cudaEventElapsedTime(&one, start, untimed), cudaErrorInvalidResourceHandle);
  cudaEvent_t never;
  CHECK(cudaEventCreate(&never));
  EXPECT_CODE(cudaEventElapsedTime(&one, start, never), cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(never));
  cudaGetLastError();
  for (cudaEvent_t event : {start, middle, stop, untimed, never}) CHECK(cudaEventDestroy(event));
}

// The legacy stream waits for blocking streams and they wait for it.
static void legacyOrder() {
  constexpr int kSize = 1 << 18;
  DeviceArray<int> a(std::vector<int>(kSize, 0)), b(kSize);
  cudaStream_t blocking;
  CHECK(cudaStreamCreate(&blocking));
  for (int i = 0; i < 15; ++i) {
    addOne<<<4, 128, 0, blocking>>>(a, kSize);
    multiply<<<4, 128, 0, cudaStreamLegacy>>>(a, b, kSize, 3);
    multiply<<<4, 128, 0, blocking>>>(b, a, kSize, 1);
  }
  CHECK_LAUNCH();
  int expected = 0;
  for (int i = 0; i < 15; ++i) expected = (expected + 1) * 3;
  std::vector<int> actual = a.host();
  EXPECT(actual == std::vector<int>(kSize, expected));
  CHECK(cudaStreamDestroy(blocking));
}

static void properties() {
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  int priority = 99;
  unsigned flags = 99;
  CHECK(cudaStreamGetPriority(stream, &priority));
  CHECK(cudaStreamGetFlags(stream, &flags));
  EXPECT(priority == greatest && flags == cudaStreamNonBlocking);
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  pipeline();
  waitAcrossStreams();
  timing();
  legacyOrder();
  properties();
  return passed();
}
