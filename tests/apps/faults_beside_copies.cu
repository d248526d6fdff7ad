// A kernel that stores to nowhere while copies in both directions are under way: every stream ends with its error, and
// so do copies that wait for it; the process that forked this one, and the next one, do not notice.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

namespace {

constexpr size_t kBytes = size_t{8} << 20;
constexpr int kStreams = 4, kRounds = 8;

__global__ void storeLater(int* where, const volatile int* now) {
  while (!*now) {
  }
  *where = 1;
}

struct Pair {
  Pair() : device(kBytes) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, kBytes));
  }
  void copy(bool in) {
    if (in)
      CHECK(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));
    else
      CHECK(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream));
  }

  DeviceArray<char> device;
  cudaStream_t stream;
  char* host;
};

void copiesEndWell() {
  Pair pair;
  memset(pair.host, 7, kBytes);
  pair.copy(true);
  CHECK(cudaMemsetAsync(pair.device, 8, kBytes / 2, pair.stream));
  pair.copy(false);
  CHECK(cudaStreamSynchronize(pair.stream));
  EXPECT(pair.host[0] == 8 && pair.host[kBytes / 2 - 1] == 8 && pair.host[kBytes / 2] == 7 &&
         pair.host[kBytes - 1] == 7);
}

void fault() {
  Pair* const pairs = new Pair[kStreams];
  cudaStream_t kernels;
  cudaEvent_t behind;
  int* now = nullptr;
  CHECK(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&behind, cudaEventDisableTiming));
  CHECK(cudaMallocHost(&now, sizeof *now));
  *now = 0;
  for (int i = 0; i < kRounds * kStreams; ++i) pairs[i % kStreams].copy(i % 2);
  storeLater<<<1, 1, 0, kernels>>>(nullptr, now);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(behind, kernels));
  for (int i = 0; i < kStreams; ++i) {
    CHECK(cudaStreamWaitEvent(pairs[i].stream, behind, 0));
    pairs[i].copy(i % 2);
  }
  *static_cast<volatile int*>(now) = 1;
  EXPECT_CODE(cudaStreamSynchronize(kernels), cudaErrorIllegalAddress);
  for (int i = 0; i < kStreams; ++i) EXPECT_CODE(cudaStreamSynchronize(pairs[i].stream), cudaErrorIllegalAddress);
  EXPECT_CODE(cudaEventSynchronize(behind), cudaErrorIllegalAddress);
  EXPECT_CODE(cudaMemcpy(pairs[0].host, pairs[0].device, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
}

}  // namespace

// The parent has no device before its children have ended.
int main() {
  for (const auto work : {fault, copiesEndWell, fault}) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      std::_Exit(0);
    }
    int status = -1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  copiesEndWell();
  return passed();
}
