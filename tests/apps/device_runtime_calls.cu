// What kernels may ask for beside launches: copies and fills in stream order, memory, attributes, limits, occupancy,
// and the errors of calls that are wrong. The numbers are what an H100 answers.
#include "check.h"

namespace {

constexpr int kMostResults = 64;

// What a kernel found, in the order in which it asked.
struct Results {
  int count;
  long long values[kMostResults];
};
__device__ void tell(Results* results, long long value) { results->values[results->count++] = value; }

__global__ void nothing(int) {}
__global__ void __launch_bounds__(128) small(int) {}
extern __shared__ int dynamicShared[];
__global__ void shared(int value) { dynamicShared[0] = value; }

__device__ int lastErrorOnce() {
  const cudaError_t peeked = cudaPeekAtLastError(), got = cudaGetLastError();
  return peeked == got && cudaGetLastError() == cudaSuccess ? got : -1;
}

__global__ void wrongLaunches(Results* results) {
  nothing<<<1, 1025>>>(0), tell(results, lastErrorOnce());
  nothing<<<1, dim3(1, 1, 65)>>>(0), tell(results, lastErrorOnce());
  nothing<<<0, 1>>>(0), tell(results, lastErrorOnce());
  nothing<<<1, 0>>>(0), tell(results, lastErrorOnce());
  nothing<<<dim3(1, 65536), 1>>>(0), tell(results, lastErrorOnce());
  small<<<1, 256>>>(0), tell(results, lastErrorOnce());
  shared<<<1, 1, 300000>>>(0), tell(results, lastErrorOnce());
  nothing<<<1, 1>>>(0), tell(results, lastErrorOnce());
  nothing<<<1, 1, 0, cudaStreamPerThread>>>(0), tell(results, lastErrorOnce());
}

__global__ void inherits(Results* results) { tell(results, cudaGetLastError()); }
// Each thread has an error of its own, and children begin without.
__global__ void ownErrors(Results* results) {
  if (threadIdx.x == 1) nothing<<<1, 2000>>>(0);
  __syncthreads();
  for (int i = 0; i < blockDim.x; ++i) {
    if (threadIdx.x == i) tell(results, cudaPeekAtLastError());
    __syncthreads();
  }
  if (threadIdx.x == 1) inherits<<<1, 1>>>(results);
}

__global__ void streamsAndEvents(Results* results) {
  cudaStream_t stream = nullptr, none;
  cudaEvent_t event = nullptr, other;
  tell(results, cudaStreamCreateWithFlags(&none, 2));
  tell(results, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  tell(results, cudaEventCreateWithFlags(&other, cudaEventDefault));
  tell(results, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  tell(results, cudaStreamWaitEvent(stream, event, 0));
  tell(results, cudaEventRecord(event, stream));
  tell(results, cudaEventRecord(event, cudaStreamTailLaunch));
  tell(results, cudaEventRecord(event, cudaStreamFireAndForget));
  tell(results, cudaStreamWaitEvent(0, event, 0));
  tell(results, cudaStreamWaitEvent(cudaStreamTailLaunch, event, 0));
  tell(results, cudaEventDestroy(event));
  tell(results, cudaStreamDestroy(stream));
  tell(results, cudaStreamDestroy(0));
  tell(results, cudaGetLastError());
}

__global__ void increment(int* cells) { ++cells[threadIdx.x]; }

// Copies and fills take their turn among the launches of a stream.
__global__ void copyAndFill(int* cells, int* box, Results* results) {
  tell(results, cudaMemsetAsync(cells, 0, 64 * sizeof(int), 0));
  increment<<<1, 64>>>(cells);
  tell(results, cudaMemcpyAsync(cells + 64, cells, 64 * sizeof(int), cudaMemcpyDeviceToDevice, 0));
  increment<<<1, 64>>>(cells + 64);
  tell(results, cudaMemcpyAsync(cells + 128, cells + 64, 64 * sizeof(int), cudaMemcpyDefault, cudaStreamTailLaunch));
  tell(results, cudaMemcpyAsync(cells, cells + 64, 4, cudaMemcpyHostToDevice, 0));
  tell(results, cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, 0));
  // A box of 3 x 2 x 2 in one of 8 x 4 x 2.
  tell(results, cudaMemset2DAsync(box, 32, 1, 32, 8, 0));
  const cudaPitchedPtr all = {box, 32, 32, 4};
  tell(results, cudaMemset3DAsync(all, 2, {12, 2, 2}, 0));
  tell(results, cudaMemcpy2DAsync(box + 64, 16, box, 32, 16, 8, cudaMemcpyDeviceToDevice, 0));
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = all;
  parameters.dstPtr = {box + 96, 16, 16, 2};
  parameters.srcPos = {4, 1, 0};
  parameters.extent = {16, 2, 2};
  parameters.kind = cudaMemcpyDeviceToDevice;
  tell(results, cudaMemcpy3DAsync(&parameters, 0));
  tell(results, cudaMemcpy2DAsync(box, 8, box + 64, 8, 16, 4, cudaMemcpyDeviceToDevice, 0));
  tell(results, cudaMemset2DAsync(box, 8, 1, 16, 4, 0));
}

__global__ void memory(Results* results) {
  int* piece = nullptr;
  tell(results, cudaMalloc(&piece, 0));
  tell(results, cudaMalloc(&piece, 1000));
  piece[249] = 5;
  tell(results, piece[249]);
  tell(results, cudaFree(piece));
  tell(results, cudaMalloc(&piece, size_t(1) << 40));
  tell(results, cudaFree(nullptr));
}

__global__ void questions(Results* results) {
  int value = -1;
  size_t limit = 0;
  tell(results, cudaGetDevice(&value)), tell(results, value);
  tell(results, cudaGetDeviceCount(&value)), tell(results, value);
  tell(results, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0)), tell(results, value);
  tell(results, cudaDeviceGetAttribute(&value, cudaDeviceAttr(1000), 0));
  tell(results, cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount)), tell(results, limit);
  tell(results, cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth));
  cudaFuncAttributes attributes;
  tell(results, cudaFuncGetAttributes(&attributes, small)), tell(results, attributes.maxThreadsPerBlock);
  tell(results, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 0, 0));
  tell(results, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 2000, 0)), tell(results, value);
  tell(results, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 1024, 0)), tell(results, value);
}

__global__ void names(char* out) {
  const char* const texts[] = {cudaGetErrorName(cudaErrorInvalidConfiguration),
                               cudaGetErrorString(cudaErrorLaunchPendingCountExceeded),
                               cudaGetErrorName(cudaError_t(12345))};
  for (const char* text : texts)
    for (; *text || (*out++ = '\n', false); ++text) *out++ = *text;
  *out = 0;
}

// As many tail launches as may be pending, and those beyond.
__global__ void tooMany(Results* results, int launches) {
  int good = 0;
  for (int i = 0; i < launches; ++i) {
    nothing<<<1, 1, 0, cudaStreamTailLaunch>>>(i);
    const cudaError_t error = cudaGetLastError();
    good += error == cudaSuccess;
    if (i + 1 == launches) tell(results, error);
  }
  tell(results, good);
}
// Others run meanwhile, and so may be many.
__global__ void manyMore(Results* results, int* counters, int launches) {
  for (int i = 0; i < launches; ++i) increment<<<1, 1>>>(counters);
  tell(results, cudaGetLastError());
}

__global__ void store(int* where) { *where = 1; }
__global__ void badChild(Results* results) {
  store<<<1, 1>>>(reinterpret_cast<int*>(16));
  tell(results, cudaGetLastError());
}

void expect(DeviceArray<Results>& results, std::vector<long long> expected, const char* what) {
  const Results got = results.host()[0];
  for (size_t i = 0; i < expected.size() && i < size_t(got.count); ++i) {
    if (got.values[i] == expected[i]) continue;
    std::fprintf(stderr, "%s: answer %zu is %lld, not %lld\n", what, i, got.values[i], expected[i]);
    std::_Exit(1);
  }
  EXPECT(size_t(got.count) == expected.size());
  results.clear();
}

void expectBoxes(const std::vector<int>& cells) {
  const int one = 0x01010101, two = 0x02020202;
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 8; ++x) {
        const int expected = x < 3 && y < 2 ? two : one;
        EXPECT(cells[32 * z + 8 * y + x] == expected);
        if (x < 4) EXPECT(cells[64 + 4 * (4 * z + y) + x] == expected);
      }
    for (int x = 0; x < 4; ++x) {
      EXPECT(cells[96 + 8 * z + x] == (x < 2 ? two : one));  // row 1, from column 1 on
      EXPECT(cells[96 + 8 * z + 4 + x] == one);
    }
  }
}

}  // namespace

// "boxes": copies and fills in two and three dimensions are looked at. On an H100 driver 580.159.04 answers success and
// writes nothing.
int main(int argc, char** argv) {
  const bool boxes = argc > 1 && !std::strcmp(argv[1], "boxes");
  DeviceArray<Results> results(1);
  results.clear();
  wrongLaunches<<<1, 1>>>(results);
  CHECK_LAUNCH();
  expect(results, {9, 9, 9, 9, 9, 9, 9, 0, 0}, "wrong launches");

  ownErrors<<<1, 3>>>(results);
  CHECK_LAUNCH();
  expect(results, {0, 9, 0, 0}, "errors of threads");

  streamsAndEvents<<<1, 1>>>(results);
  CHECK_LAUNCH();
  expect(results, {1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1}, "streams and events");

  DeviceArray<int> cells(192), box(128);
  box.clear();
  copyAndFill<<<1, 1>>>(cells, box, results);
  CHECK_LAUNCH();
  expect(results, {0, 0, 0, 21, 0, 0, 0, 0, 0, 12, 1}, "copies and fills");
  for (int i = 0; i < 192; ++i) EXPECT(cells.host()[i] == (i < 64 ? 1 : 2));
  if (boxes) expectBoxes(box.host());

  memory<<<1, 1>>>(results);
  CHECK_LAUNCH();
  expect(results, {1, 0, 5, 0, 2, 0}, "memory");

  int device, devices, perMultiprocessor;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perMultiprocessor, nothing, 1024, 0));
  questions<<<1, 1>>>(results);
  CHECK_LAUNCH();
  expect(results, {0, device, 0, devices, 0, 32, 1, 0, 2048, 215, 0, 128, 1, 0, 0, 0, perMultiprocessor}, "questions");

  DeviceArray<char> text(1000);
  names<<<1, 1>>>(text);
  CHECK_LAUNCH();
  EXPECT(!std::strcmp(text.host().data(),
                      "cudaErrorInvalidConfiguration\nlaunch failed because launch would exceed "
                      "cudaLimitDevRuntimePendingLaunchCount\nunrecognized error code\n"));

  tooMany<<<1, 1>>>(results, 2100);
  CHECK_LAUNCH();
  expect(results, {cudaErrorLaunchPendingCountExceeded, 2048}, "too many tail launches");
  CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 100));
  tooMany<<<1, 1>>>(results, 200);
  CHECK_LAUNCH();
  expect(results, {cudaErrorLaunchPendingCountExceeded, 100}, "too many tail launches of a lower limit");
  CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2048));
  cells.clear();
  manyMore<<<1, 1>>>(results, cells, 5000);
  CHECK_LAUNCH();
  expect(results, {0}, "many launches");
  EXPECT(cells.host()[0] == 5000);

  badChild<<<1, 1>>>(results);
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_CODE(cudaGetLastError(), cudaErrorIllegalAddress);
  return passed();
}
