// Heat spreads over a plate that two devices share: each owns half of the rows and is driven by a host thread of its
// own. After every step the devices hand each other their border rows with peer copies, ordered by events; the host
// waits only at the end. Exits with 77 when there are fewer than two devices.
#include <cuda_runtime.h>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                 \
  do {                                                                                              \
    const cudaError_t code = (call);                                                                \
    if (code != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
      std::_Exit(1);                                                                                \
    }                                                                                               \
  } while (0)

constexpr int kWidth = 500, kRowsEach = 200, kRows = 2 * kRowsEach, kSteps = 200;

// Row 0 and row kRowsEach + 1 of a half are its neighbours' rows (or the plate's fixed edge).
__global__ void step(const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= kWidth || y > kRowsEach) return;
  const float* here = in + y * kWidth + x;
  const float west = x > 0 ? here[-1] : 0, east = x < kWidth - 1 ? here[1] : 0;
  const float around = __fadd_rn(__fadd_rn(west, east), __fadd_rn(here[-kWidth], here[kWidth]));
  out[y * kWidth + x] = fmaf(0.15f, fmaf(-4.0f, *here, around), *here);
}

// Two threads wait here for each other.
class Meeting {
 public:
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    if (++arrived_ == 2) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0, round_ = 0;
};

struct Half {
  int device;
  float* rows[2];  // this step's and the next one's; kRowsEach + 2 rows each
  cudaStream_t stream;
  cudaEvent_t stepped[2];  // this half's rows of an even or odd step are ready
  cudaEvent_t copied[2];   // and its neighbour's border has arrived
};

static Half makeHalf(int device, const std::vector<float>& plate) {
  Half half = {};
  half.device = device;
  CHECK(cudaSetDevice(device));
  CHECK(cudaStreamCreateWithFlags(&half.stream, cudaStreamNonBlocking));
  const size_t bytes = size_t(kRowsEach + 2) * kWidth * sizeof(float);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMalloc(&half.rows[i], bytes));
    CHECK(cudaMemset(half.rows[i], 0, bytes));
    CHECK(cudaEventCreateWithFlags(&half.stepped[i], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&half.copied[i], cudaEventDisableTiming));
  }
  const int first = device * kRowsEach;  // also the border row, so that the first step can begin at once
  const int from = device == 0 ? 0 : first - 1, to = device == 0 ? kRowsEach + 1 : kRows;
  CHECK(cudaMemcpy(half.rows[0] + (from - first + 1) * kWidth, &plate[size_t(from) * kWidth],
                   size_t(to - from) * kWidth * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  return half;
}

static void drive(Half& mine, Half& other, Meeting& meeting) {
  CHECK(cudaSetDevice(mine.device));
  const dim3 block(32, 4), grid((kWidth + 31) / 32, (kRowsEach + 3) / 4);
  // Where the neighbour's border row goes to, and which of its rows that is.
  const int border = mine.device == 0 ? kRowsEach + 1 : 0, theirs = mine.device == 0 ? 1 : kRowsEach;
  for (int s = 0; s < kSteps; ++s) {
    const int now = s % 2, next = 1 - now;
    // The neighbour must have fetched the rows that this step overwrites.
    if (s > 0) CHECK(cudaStreamWaitEvent(mine.stream, other.copied[now]));
    step<<<grid, block, 0, mine.stream>>>(mine.rows[now], mine.rows[next]);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(mine.stepped[next], mine.stream));
    meeting.wait();  // both have recorded
    CHECK(cudaStreamWaitEvent(mine.stream, other.stepped[next]));
    CHECK(cudaMemcpyPeerAsync(mine.rows[next] + border * kWidth, mine.device, other.rows[next] + theirs * kWidth,
                              other.device, kWidth * sizeof(float), mine.stream));
    CHECK(cudaEventRecord(mine.copied[next], mine.stream));
    meeting.wait();
  }
  CHECK(cudaStreamSynchronize(mine.stream));
}

static std::vector<float> onHost(std::vector<float> plate) {
  std::vector<float> next(plate.size());
  const auto at = [&](int x, int y) {
    return x < 0 || y < 0 || x >= kWidth || y >= kRows ? 0.0f : plate[size_t(y) * kWidth + x];
  };
  for (int s = 0; s < kSteps; ++s) {
    for (int y = 0; y < kRows; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const float around = (at(x - 1, y) + at(x + 1, y)) + (at(x, y - 1) + at(x, y + 1));
        next[size_t(y) * kWidth + x] = std::fma(0.15f, std::fma(-4.0f, at(x, y), around), at(x, y));
      }
    std::swap(plate, next);
  }
  return plate;
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::printf("skipped: this example needs two devices, there is %d\n", devices);
    return 77;
  }
  std::vector<float> plate(size_t(kRows) * kWidth);
  for (int y = 0; y < kRows; ++y)
    for (int x = 0; x < kWidth; ++x)
      plate[size_t(y) * kWidth + x] = std::hypot(x - 240.0f, y - 190.0f) < 60 ? 100.0f : float((x * 7 + y * 13) % 20);

  Half halves[2] = {makeHalf(0, plate), makeHalf(1, plate)};
  Meeting meeting;
  std::thread second([&] { drive(halves[1], halves[0], meeting); });
  drive(halves[0], halves[1], meeting);
  second.join();

  std::vector<float> result(plate.size());
  for (const Half& half : halves)
    CHECK(cudaMemcpy(&result[size_t(half.device) * kRowsEach * kWidth], half.rows[kSteps % 2] + kWidth,
                     size_t(kRowsEach) * kWidth * sizeof(float), cudaMemcpyDeviceToHost));
  const std::vector<float> expected = onHost(plate);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (result[i] == expected[i]) continue;
    std::fprintf(stderr, "(%zu, %zu) is %.9g, not %.9g\n", i % kWidth, i / kWidth, result[i], expected[i]);
    return 1;
  }
  std::printf("%d steps on two devices, %zu values: OK\n", kSteps, expected.size());

  for (Half& half : halves) {
    CHECK(cudaSetDevice(half.device));
    CHECK(cudaStreamDestroy(half.stream));
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaEventDestroy(half.stepped[i]));
      CHECK(cudaEventDestroy(half.copied[i]));
      CHECK(cudaFree(half.rows[i]));
    }
  }
  return 0;
}
