// Host functions and callbacks in a stream run in order, after what precedes them and before what follows.
#include <atomic>

#include "check.h"

__global__ void store(int* where, int value) { *where = value; }
__global__ void addTo(int* where, int value) { *where += value; }

struct Log {
  int* mapped;
  std::atomic<int> calls{0};
  int seen[64];
};

static void noteValue(void* data) {
  Log* log = static_cast<Log*>(data);
  log->seen[log->calls++] = *log->mapped;
  *log->mapped += 1000;
}

static void noteStatus(cudaStream_t, cudaError_t status, void* data) {
  Log* log = static_cast<Log*>(data);
  log->seen[log->calls++] = status == cudaSuccess ? *log->mapped : -1;
}

int main() {
  Log log;
  CHECK(cudaHostAlloc(&log.mapped, sizeof(int), cudaHostAllocMapped));
  int* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, log.mapped, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  for (int i = 0; i < 10; ++i) {
    store<<<1, 1, 0, stream>>>(device, i);
    CHECK(cudaLaunchHostFunc(stream, noteValue, &log));
    addTo<<<1, 1, 0, stream>>>(device, 7);
    CHECK(cudaStreamAddCallback(stream, noteStatus, &log, 0));
  }
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(log.calls == 20);
  for (int i = 0; i < 10; ++i) EXPECT(log.seen[2 * i] == i && log.seen[2 * i + 1] == i + 1007);

  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(log.mapped));
  return passed();
}
