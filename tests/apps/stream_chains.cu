// Long chains of copies, fills and kernels that nobody waits for: within streams, and from stream to stream by events.
// A model on the host says what must be where at the end.
#include <random>
#include <vector>

#include "check.h"

constexpr int kWords = 16384, kSide = 128;  // of a buffer; kSide rows of kSide words
constexpr size_t kBytes = kWords * sizeof(int);

__global__ void add(int* values, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kWords) values[i] += what;
}

static bool allAre(const int* values, int expected) {
  for (int i = 0; i < kWords; ++i)
    if (values[i] != expected) return false;
  return true;
}

// A stream with memory of its own, all words of a buffer alike, and what they should be when its work is done.
struct Chain {
  static constexpr int kSlots = 4;
  cudaStream_t stream;
  int *device[2], *pinned;
  int inDevice[2] = {0, 0}, inSlot[kSlots] = {};

  Chain() {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int*& memory : device) {
      CHECK(cudaMalloc(&memory, kBytes));
      CHECK(cudaMemset(memory, 0, kBytes));
    }
    CHECK(cudaMallocHost(&pinned, kSlots * kBytes));
    memset(pinned, 0, kSlots * kBytes);
  }
  ~Chain() {
    for (int* memory : device) CHECK(cudaFree(memory));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(stream));
  }
  Chain(const Chain&) = delete;

  int* slot(int number) const { return pinned + number * kWords; }
  void add(int what) {
    ::add<<<kWords / 256, 256, 0, stream>>>(device[0], what);
    CHECK(cudaGetLastError());
    inDevice[0] += what;
  }
  void in(int number) {
    CHECK(cudaMemcpyAsync(device[0], slot(number), kBytes, cudaMemcpyHostToDevice, stream));
    inDevice[0] = inSlot[number];
  }
  void out(int number) {
    CHECK(cudaMemcpyAsync(slot(number), device[0], kBytes, cudaMemcpyDeviceToHost, stream));
    inSlot[number] = inDevice[0];
  }
  // The left half and the right half of all rows.
  void outByHalves(int number) {
    constexpr size_t kPitch = kSide * sizeof(int);
    for (const int half : {0, kSide / 2})
      CHECK(cudaMemcpy2DAsync(slot(number) + half, kPitch, device[0] + half, kPitch, kPitch / 2, kSide,
                              cudaMemcpyDeviceToHost, stream));
    inSlot[number] = inDevice[0];
  }
  void inside() {
    CHECK(cudaMemcpyAsync(device[1], device[0], kBytes, cudaMemcpyDeviceToDevice, stream));
    inDevice[1] = inDevice[0];
  }
  void back() {
    CHECK(cudaMemcpyAsync(device[0], device[1], kBytes, cudaMemcpyDeviceToDevice, stream));
    inDevice[0] = inDevice[1];
  }
  void fill() {
    CHECK(cudaMemsetAsync(device[0], 1, kBytes, stream));
    inDevice[0] = 0x01010101;
  }
  bool right() const {
    std::vector<int> found(kWords);
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaMemcpy(found.data(), device[i], kBytes, cudaMemcpyDeviceToHost));
      if (!allAre(found.data(), inDevice[i])) return false;
    }
    for (int i = 0; i < kSlots; ++i)
      if (!allAre(slot(i), inSlot[i])) return false;
    return true;
  }
};

static void streamsByThemselves() {
  std::mt19937 random(1);
  std::vector<Chain> chains(11);
  for (int step = 0; step < 3000; ++step) {
    Chain& chain = chains[random() % chains.size()];
    const int slot = static_cast<int>(random() % Chain::kSlots);
    switch (random() % 8) {
      case 0:
      case 1:
        chain.in(slot);
        break;
      case 2:
        chain.out(slot);
        break;
      case 3:
        chain.outByHalves(slot);
        break;
      case 4:
        chain.inside();
        break;
      case 5:
        random() % 4 ? chain.back() : chain.fill();
        break;
      default:
        chain.add(static_cast<int>(random() % 100));
    }
  }
  CHECK(cudaDeviceSynchronize());
  for (const Chain& chain : chains) EXPECT(chain.right());
}

// A number goes round from stream to stream through pinned memory, and each adds one.
static void onceRound() {
  constexpr int kStreams = 12, kRounds = 40;
  std::vector<Chain> chains(kStreams);
  std::vector<cudaEvent_t> events(kStreams);
  for (cudaEvent_t& event : events) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (int step = 0; step < kRounds * kStreams; ++step) {
    const int mine = step % kStreams, before = (step + kStreams - 1) % kStreams;
    Chain& chain = chains[mine];
    if (step) {
      CHECK(cudaStreamWaitEvent(chain.stream, events[before]));
      CHECK(cudaMemcpyAsync(chain.device[0], chains[before].slot(0), kBytes, cudaMemcpyHostToDevice, chain.stream));
    }
    chain.add(1);
    chain.outByHalves(0);
    CHECK(cudaEventRecord(events[mine], chain.stream));
  }
  CHECK(cudaEventSynchronize(events.back()));
  EXPECT(allAre(chains.back().slot(0), kRounds * kStreams));
  CHECK(cudaDeviceSynchronize());
  for (cudaEvent_t event : events) CHECK(cudaEventDestroy(event));
}

// Several wait for one, and one for all of them, again and again.
static void forksAndJoins() {
  constexpr int kBranches = 5, kRounds = 60;
  std::vector<Chain> chains(kBranches);
  cudaEvent_t fork, joins[kBranches];
  CHECK(cudaEventCreate(&fork));
  for (cudaEvent_t& join : joins) CHECK(cudaEventCreate(&join));
  for (int round = 0; round < kRounds; ++round) {
    chains[0].add(1);
    chains[0].out(0);
    CHECK(cudaEventRecord(fork, chains[0].stream));
    for (int i = 1; i < kBranches; ++i) {
      CHECK(cudaStreamWaitEvent(chains[i].stream, fork));
      CHECK(cudaMemcpyAsync(chains[i].device[0], chains[0].slot(0), kBytes, cudaMemcpyHostToDevice, chains[i].stream));
      chains[i].inDevice[0] = round + 1;
      chains[i].add(i);
      chains[i].out(1);
      CHECK(cudaEventRecord(joins[i], chains[i].stream));
    }
    for (int i = 1; i < kBranches; ++i) CHECK(cudaStreamWaitEvent(chains[0].stream, joins[i]));
  }
  CHECK(cudaStreamSynchronize(chains[0].stream));
  for (const Chain& chain : chains) EXPECT(chain.right());
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, fork, joins[kBranches - 1]));
  EXPECT(milliseconds > 0);
  CHECK(cudaEventDestroy(fork));
  for (cudaEvent_t join : joins) CHECK(cudaEventDestroy(join));
}

int main() {
  streamsByThemselves();
  onceRound();
  forksAndJoins();
  return passed();
}
