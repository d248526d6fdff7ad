// Blocks that pass data on in lines of 128 bytes whose last word is a flag, as communication libraries do it: a warp
// writes lines with 16-byte stores, another one reads them again and again until all flags that its lanes have seen are
// those of the step. The reader tells how far it has come, so that the writer may use the room again. Half of a block
// writes to the next block while the other half reads from the one before.
#include "check.h"

namespace {

using Word = unsigned long long;

constexpr int kRoleWarps = 2, kRoleThreads = 32 * kRoleWarps;  // of those that write, and of those that read
constexpr int kSlots = 2, kVectors = 3;                        // of 16 bytes a lane and step
constexpr int kSlotWords = kRoleThreads * kVectors * 2;

__device__ __forceinline__ void store(Word* to, Word a, Word b) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}
__device__ __forceinline__ void load(const Word* from, Word& a, Word& b) {
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
}
__device__ __forceinline__ void meetRole(int role) {
  asm volatile("bar.sync %0, %1;" ::"r"(role + 1), "n"(kRoleThreads) : "memory");
}

__device__ Word valueOf(int block, int step, int thread, int k) {
  return (Word(block + 1) << 48) + (Word(step) << 24) + Word(thread * 16 + k);
}

__device__ void writeLines(Word* lines, volatile Word* read, int steps, int thread) {
  const bool hasFlag = thread % 8 == 7;
  for (int step = 0; step < steps; ++step) {
    if (thread == 0)
      while (*read + kSlots <= step) {
      }
    meetRole(0);
    Word* const slot = lines + step % kSlots * kSlotWords;
    for (int v = 0; v < kVectors; ++v) {
      const Word a = valueOf(blockIdx.x, step, thread, 2 * v), b = valueOf(blockIdx.x, step, thread, 2 * v + 1);
      store(slot + 2 * (v * kRoleThreads + thread), a, hasFlag ? Word(step + 1) : b);
    }
  }
}

__device__ int readLines(const Word* lines, volatile Word* read, int steps, int thread) {
  const bool hasFlag = thread % 8 == 7;
  const int from = (blockIdx.x + gridDim.x - 1) % gridDim.x;
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    const Word* const slot = lines + step % kSlots * kSlotWords;
    Word words[2 * kVectors];
    bool again;
    do {
      again = false;
      for (int v = 0; v < kVectors; ++v) {
        load(slot + 2 * (v * kRoleThreads + thread), words[2 * v], words[2 * v + 1]);
        again |= hasFlag && words[2 * v + 1] != Word(step + 1);
      }
    } while (__any_sync(~0u, again));
    for (int k = 0; k < 2 * kVectors; ++k)
      wrong += words[k] != (hasFlag && k % 2 ? Word(step + 1) : valueOf(from, step, thread, k));
    meetRole(1);
    if (thread == 0) *read = step + 1;
  }
  return wrong;
}

// `lines` and `read`: of each block those that it reads.
__global__ void passOn(Word* lines, Word* read, int steps, int* wrong) {
  const int role = threadIdx.x / kRoleThreads, thread = threadIdx.x % kRoleThreads;
  const int next = (blockIdx.x + 1) % gridDim.x;
  if (role == 0)
    writeLines(lines + next * kSlots * kSlotWords, read + next, steps, thread);
  else if (const int seen = readLines(lines + blockIdx.x * kSlots * kSlotWords, read + blockIdx.x, steps, thread))
    atomicAdd(wrong, seen);
}

void checkBlocks(int blocks, int steps) {
  DeviceArray<Word> lines(size_t(blocks) * kSlots * kSlotWords), read(blocks);
  DeviceArray<int> wrong(1);
  lines.clear();
  read.clear();
  wrong.clear();
  passOn<<<blocks, 2 * kRoleThreads>>>(lines, read, steps, wrong);
  CHECK_LAUNCH();
  EXPECT(wrong.host()[0] == 0);
  for (const Word done : read.host()) EXPECT(done == Word(steps));
}

}  // namespace

int main(int argc, char**) {
  const int steps = argc > 1 ? 10 : 200;  // an argument: few
  checkBlocks(1, steps);
  checkBlocks(2, steps);
  checkBlocks(5, steps);
  return passed();
}
