// Launches from kernels: the order of a block's launches, of named streams, of events; what runs before its parent is
// done, and what after; and that everybody sees what was written before.
#include "check.h"

namespace {

constexpr int kBlocks = 40, kSteps = 20;

// A list that kernels append to.
struct Log {
  int count;
  int entries[4096];
};

__device__ void append(Log* log, int entry) { log->entries[atomicAdd(&log->count, 1)] = entry; }

__global__ void note(Log* log, int entry) { append(log, entry); }

// Each step needs the one before it.
__global__ void step(int* counter, int expected, int* wrong) {
  if (threadIdx.x) return;
  if (*counter != expected) atomicAdd(wrong, 1);
  *counter = expected + 1;
}

// All launches of a block's threads into the NULL stream run in the order in which they are made.
__global__ void nullStreams(int* counters, int* wrong) {
  for (int i = 0; i < kSteps; ++i) {
    if (threadIdx.x == i % blockDim.x) step<<<1, 32>>>(counters + blockIdx.x, i, wrong);
    __syncthreads();
  }
}

__global__ void leaf(Log* log, int entry) {
  note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, entry + 1);
  note<<<1, 1>>>(log, entry);
}

// Children first, whatever the order of the lines; then tail launches, each with all its own.
__global__ void tails(Log* log) {
  append(log, 0);
  leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 10);
  leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 20);
  note<<<1, 1>>>(log, 1);
}

__global__ void count(int* counter) { atomicAdd(counter, 1); }

// Hundreds of grids that nobody orders; the next launch of the host sees them all.
__global__ void forget(int* counter, int depth) {
  count<<<1, 32, 0, cudaStreamFireAndForget>>>(counter);
  if (depth) forget<<<2, 1, 0, cudaStreamFireAndForget>>>(counter, depth - 1);
}

__global__ void readCounter(const int* counter, int* result) { *result = *counter; }

__global__ void write(int* cells, int value) { cells[threadIdx.x] = value + threadIdx.x; }
__global__ void add(const int* a, const int* b, int* sum) { sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

// Two streams, joined by an event.
__global__ void join(int* a, int* b, int* sum) {
  cudaStream_t first, second;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  write<<<1, 64, 0, first>>>(a, 100);
  cudaEventRecord(ready, first);
  write<<<1, 64, 0, second>>>(b, 1000);
  cudaStreamWaitEvent(second, ready, 0);
  add<<<1, 64, 0, second>>>(a, b, sum);
  cudaEventDestroy(ready);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

// What a thread wrote before it launches, its child sees; what the child wrote, the parent's tail launch sees.
__global__ void twice(int* cells) { cells[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
__global__ void plusOne(int* cells) { cells[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void handOver(int* cells) {
  cells[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x) return;
  twice<<<2, 64>>>(cells);
  plusOne<<<4, 32, 0, cudaStreamTailLaunch>>>(cells);
}

// A chain as deep as one likes: each grid is the child of the one before.
__global__ void descend(int* deepest, int depth, int last) {
  *deepest = depth;
  if (depth < last) descend<<<1, 1>>>(deepest, depth + 1, last);
}
// And one that goes on by itself: a grid launches its successor.
__global__ void repeat(int* sum, int left) {
  *sum += left;
  if (left) repeat<<<1, 1, 0, cudaStreamTailLaunch>>>(sum, left - 1);
}

// Parameters of every size and alignment.
struct Mixed {
  char letter;
  double number;
  short three[3];
};
__global__ void take(char a, double b, Mixed c, float4 d, const int* e, bool f, double* out) {
  out[0] = a + b + c.letter + c.number + c.three[2] + d.x + d.w + *e + f;
}
__global__ void pass(const int* e, double* out) {
  take<<<1, 1>>>(1, 2.5, Mixed{3, 4.25, {0, 0, 5}}, float4{6, 0, 0, 7}, e, true, out);
}

// Dynamic shared memory, and blocks of every shape.
__global__ void shapes(int* out) {
  extern __shared__ int shared[];
  const int me = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  shared[me] = me;
  __syncthreads();
  atomicAdd(out, shared[threads - 1 - me] + blockIdx.x + 10 * blockIdx.y);
}
__global__ void launchShapes(int* out) {
  shapes<<<dim3(3, 2), dim3(7, 3, 2), 42 * sizeof(int)>>>(out);
  shapes<<<1, 64, 64 * sizeof(int)>>>(out + 1);
}

typedef void (*Kernel)(int*, int);
__device__ Kernel chosen = write;
__global__ void throughPointer(int* cells) { (*chosen)<<<1, 64>>>(cells, 7); }

}  // namespace

int main() {
  DeviceArray<int> counters(std::vector<int>(kBlocks + 1, 0));
  nullStreams<<<kBlocks, 64>>>(counters, counters + kBlocks);
  CHECK_LAUNCH();
  for (int i = 0; i < kBlocks; ++i) EXPECT(counters.host()[i] == kSteps);
  EXPECT(counters.host()[kBlocks] == 0);

  DeviceArray<Log> log(1);
  log.clear();
  tails<<<1, 1>>>(log);
  CHECK_LAUNCH();
  const Log seen = log.host()[0];
  EXPECT(seen.count == 6);
  const int order[] = {0, 1, 10, 11, 20, 21};
  for (int i = 0; i < 6; ++i) EXPECT(seen.entries[i] == order[i]);

  counters.clear();
  forget<<<1, 1>>>(counters, 5);
  readCounter<<<1, 1>>>(counters, counters + 1);
  CHECK_LAUNCH();
  EXPECT(counters.host()[1] == 32 * (1 + 2 + 4 + 8 + 16 + 32));

  DeviceArray<int> cells(std::vector<int>(3 * 64, 0));
  join<<<1, 1>>>(cells, cells + 64, cells + 128);
  CHECK_LAUNCH();
  for (int i = 0; i < 64; ++i) EXPECT(cells.host()[128 + i] == 1100 + 2 * i);

  DeviceArray<int> handed(128);
  handOver<<<1, 128>>>(handed);
  CHECK_LAUNCH();
  for (int i = 0; i < 128; ++i) EXPECT(handed.host()[i] == 2 * i + 1);

  descend<<<1, 1>>>(counters, 0, 60);
  repeat<<<1, 1>>>(counters + 1, 0);
  CHECK_LAUNCH();
  EXPECT(counters.host()[0] == 60);
  counters.clear();
  repeat<<<1, 1>>>(counters, 500);
  CHECK_LAUNCH();
  EXPECT(counters.host()[0] == 500 * 501 / 2);

  DeviceArray<int> eight(std::vector<int>{8});
  DeviceArray<double> total(1);
  pass<<<1, 1>>>(eight, total);
  CHECK_LAUNCH();
  EXPECT(total.host()[0] == 1 + 2.5 + 3 + 4.25 + 5 + 6 + 7 + 8 + 1);

  counters.clear();
  launchShapes<<<1, 1>>>(counters);
  CHECK_LAUNCH();
  EXPECT(counters.host()[0] == 6 * (41 * 42 / 2) + 42 * (2 * 3 + 3 * 10));
  EXPECT(counters.host()[1] == 63 * 64 / 2);

  throughPointer<<<1, 1>>>(cells);
  CHECK_LAUNCH();
  EXPECT(cells.host()[63] == 70);
  return passed();
}
