// Threads of one warp that wait for each other: locks, tickets, a semaphore, flags. Each goes on although the lanes
// beside it do not.
#include "check.h"

#define TOUCH(x) (*(volatile int*)&(x))

__device__ int lockWord, ticket, serving, counter, flags[64];

__device__ void count() {
  TOUCH(counter) = TOUCH(counter) + 1;
  __threadfence();
}

__global__ void exchangeLock() {
  while (atomicCAS(&lockWord, 0, 1) != 0) {
  }
  count();
  atomicExch(&lockWord, 0);
}

__global__ void patientLock() {
  do {
    while (TOUCH(lockWord) != 0) {
    }
  } while (atomicCAS(&lockWord, 0, 1) != 0);
  count();
  atomicExch(&lockWord, 0);
}

__global__ void ticketLock() {
  const int mine = atomicAdd(&ticket, 1);
  while (TOUCH(serving) != mine) {
  }
  count();
  atomicAdd(&serving, 1);
}

__global__ void ticketReadByAtomics() {
  const int mine = atomicAdd(&ticket, 1);
  while (atomicAdd(&serving, 0) != mine) {
  }
  count();
  atomicAdd(&serving, 1);
}

// At most three are inside.
__global__ void semaphore() {
  while (true) {
    const int inside = TOUCH(lockWord);
    if (inside < 3 && atomicCAS(&lockWord, inside, inside + 1) == inside) break;
  }
  atomicAdd(&counter, 1);
  __threadfence();
  atomicSub(&lockWord, 1);
}

// The same, with a try that goes on from what it has seen.
__global__ void eagerSemaphore() {
  int inside = TOUCH(lockWord);
  while (true) {
    if (inside >= 3) {
      inside = TOUCH(lockWord);
      continue;
    }
    const int seen = atomicCAS(&lockWord, inside, inside + 1);
    if (seen == inside) break;
    if (seen < 3 && atomicCAS(&lockWord, seen, seen + 1) == seen) break;
    inside = seen;
  }
  atomicAdd(&counter, 1);
  __threadfence();
  atomicSub(&lockWord, 1);
}

// The first lane goes another way than the one that it waits for.
__global__ void waitsOnOneSide() {
  if (threadIdx.x == 5) {
    atomicExch(&flags[0], 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flags[0], 0) == 0) {
    }
    counter = 7;
  }
}

__global__ void waitForOne(int* wrong) {
  if (threadIdx.x == 31) {
    counter = 42;
    __threadfence();
    atomicExch(&flags[3], 1);
  } else {
    while (TOUCH(flags[3]) == 0) {
    }
    __threadfence();
    if (TOUCH(counter) != 42) atomicAdd(wrong, 1);
  }
}

// Two lanes in turn.
__global__ void pingPong(int rounds) {
  if (threadIdx.x >= 2) return;
  for (int i = 0; i < rounds; ++i) {
    while (TOUCH(flags[0]) % 2 != int(threadIdx.x)) {
    }
    count();
    TOUCH(flags[0]) = TOUCH(flags[0]) + 1;
  }
}

// Every lane waits for the one below or above.
__global__ void chain(int step) {
  const int i = threadIdx.x, other = i + step;
  if (other >= 0 && other < 32)
    while (TOUCH(flags[other]) == 0) {
    }
  count();
  TOUCH(flags[i]) = 1;
}

int counted() {
  CHECK_LAUNCH();
  int value = 0;
  const int zeros[64] = {};
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  CHECK(cudaMemcpyToSymbol(counter, zeros, sizeof(int)));
  CHECK(cudaMemcpyToSymbol(lockWord, zeros, sizeof(int)));
  CHECK(cudaMemcpyToSymbol(ticket, zeros, sizeof(int)));
  CHECK(cudaMemcpyToSymbol(serving, zeros, sizeof(int)));
  CHECK(cudaMemcpyToSymbol(flags, zeros, sizeof zeros));
  return value;
}

int main() {
  for (void (*kernel)() : {exchangeLock, patientLock, ticketLock, ticketReadByAtomics, semaphore, eagerSemaphore})
    for (const int threads : {32, 80}) {
      kernel<<<2, threads>>>();
      EXPECT(counted() == 2 * threads);
    }
  waitsOnOneSide<<<1, 32>>>();
  EXPECT(counted() == 7);
  DeviceArray<int> wrong(1);
  wrong.clear();
  waitForOne<<<1, 32>>>(wrong);
  EXPECT(counted() == 42);
  EXPECT(wrong.host()[0] == 0);
  pingPong<<<1, 32>>>(10);
  EXPECT(counted() == 20);
  for (const int step : {-1, 1}) {
    chain<<<1, 32>>>(step);
    EXPECT(counted() == 32);
  }
  return passed();
}
