// Lanes of one warp that wait for each other where the wait is not a plain loop: some tests that leave early, loops
// within loops, pauses that grow, as the waits of <cuda/latch>, <cuda/barrier>, <cuda/semaphore> and <cuda/atomic> are;
// in functions that are called, in functions that stand in a kernel twice, and through another warp.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <new>

#include "check.h"

// --- Waits of every shape
// ---------------------------------------------------------------------------------------------

template <int kEarly, int kLevels, bool kPauses, bool kByFlag>
struct Wait {
  static __device__ __forceinline__ bool same(volatile int* place, int old) { return *place == old; }

  template <int kLevel>
  static __device__ __forceinline__ void loop(volatile int* place, int old) {
    int rounds = 0;
    while (same(place, old)) {
      const long long since = clock64();
      if (!same(place, old)) return;
      if constexpr (kLevel > 1) loop<kLevel - 1>(place, old);
      if (kPauses && ++rounds > 16) __nanosleep(clock64() - since > 4000 ? 1000 : 100);
    }
  }

  static __device__ __forceinline__ void run(volatile int* place, int old) {
#pragma unroll
    for (int n = 0; n < kEarly; ++n)
      if (!same(place, old)) return;
    if constexpr (kByFlag) {
      bool done = false;
      while (!done)
        if (!same(place, old)) done = true;
    } else {
      loop<kLevels>(place, old);
    }
  }
};

// Called, not inlined.
template <class W>
__device__ __noinline__ void called(volatile int* place, int old) {
  W::run(place, old);
}

enum class Way { Inlined, Called, Twice };

template <class W, Way kWay>
__device__ __forceinline__ void waitIn(volatile int* place, int old) {
  if (kWay == Way::Called) {
    called<W>(place, old);
  } else if (kWay == Way::Twice && threadIdx.x % 3 == 0) {
    W::run(place, old);
    __threadfence_block();
  } else {
    W::run(place, old);
  }
}

// The lanes that are `odd` wait for the others, which signal once each.
template <class W, Way kWay>
__global__ void partOnce(int odd, int* out) {
  __shared__ int left, open;
  if (threadIdx.x == 0) left = blockDim.x / 2, open = 0;
  __syncthreads();
  if (threadIdx.x % 2 == odd)
    waitIn<W, kWay>(&open, 0);
  else if (atomicSub(&left, 1) == 1)
    atomicExch(&open, 1);
  atomicAdd(out, 1);
}

// All lanes meet by a counter and a phase, a round after the other; in round 2 the odd ones count themselves out.
template <class W, Way kWay>
__global__ void dropOut(int, int* out) {
  __shared__ int expected, arrived, phase;
  if (threadIdx.x == 0) expected = arrived = blockDim.x, phase = 0;
  __syncthreads();
  const auto arrive = [&] {
    const int old = atomicAdd(&phase, 0);
    if (atomicSub(&arrived, 1) == 1) {
      arrived = atomicAdd(&expected, 0);
      __threadfence_block();
      atomicExch(&phase, 1 - old);
    }
    return old;
  };
  int rounds = 0;
  for (int n = 0; n < 5; ++n) {
    waitIn<W, kWay>(&phase, arrive());
    ++rounds;
    if (n == 2 && threadIdx.x % 2) {
      atomicSub(&expected, 1);
      arrive();
      break;
    }
  }
  atomicAdd(out, rounds == (threadIdx.x % 2 ? 3 : 5));
}

// A lane waits for its own place, which the second warp writes once the lane before it has left its own wait.
template <class W, Way kWay>
__global__ void throughAnotherWarp(int, int* out) {
  __shared__ int asked[32], told[32];
  if (threadIdx.x < 32) asked[threadIdx.x] = threadIdx.x == 0, told[threadIdx.x] = 0;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    waitIn<W, kWay>(&told[lane], 0);
    if (lane < 31) atomicExch(&asked[lane + 1], 1);
    atomicAdd(out, 2);
  } else if (lane == 0) {
    for (int n = 0; n < 32; ++n) {
      while (*static_cast<volatile int*>(&asked[n]) == 0) {
      }
      *static_cast<volatile int*>(&told[n]) = 1;
    }
  }
}

template <class W, Way kWay>
void checkWait(const char* name) {
  const auto runs = [&](auto kernel, const char* what, int odd, int threads) {
    DeviceArray<int> out(1);
    out.clear();
    kernel<<<1, threads>>>(odd, out);
    CHECK_LAUNCH();
    int got = 0;
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    if (got != threads) failAt(__FILE__, __LINE__, name, what);
  };
  for (int odd : {0, 1}) runs(partOnce<W, kWay>, "partOnce", odd, 32);
  for (int threads : {2, 32, 96}) runs(dropOut<W, kWay>, "dropOut", 0, threads);
  runs(throughAnotherWarp<W, kWay>, "throughAnotherWarp", 0, 64);
}

void checkWaits() {
  checkWait<Wait<0, 1, false, false>, Way::Inlined>("a plain loop");
  checkWait<Wait<0, 1, false, true>, Way::Inlined>("a flag");
  checkWait<Wait<17, 2, true, false>, Way::Inlined>("early tests, two loops, pauses");
  checkWait<Wait<1, 3, false, false>, Way::Inlined>("three loops");
  checkWait<Wait<40, 1, true, true>, Way::Inlined>("many early tests, a flag");
  checkWait<Wait<3, 2, true, false>, Way::Called>("a function");
  checkWait<Wait<17, 1, false, true>, Way::Called>("a function with a flag");
  checkWait<Wait<5, 2, false, false>, Way::Twice>("the same code twice");
}

// --- The toolkit's objects
// --------------------------------------------------------------------------------------------

template <class T>
struct InShared {
  alignas(T) char bytes[sizeof(T)];
  __device__ T* object() { return reinterpret_cast<T*>(bytes); }
};

__global__ void latches(int kind, int* out) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ InShared<Latch> memory;
  Latch* const latch = memory.object();
  if (threadIdx.x == 0) new (latch) Latch(blockDim.x / 2);
  __syncthreads();
  if (threadIdx.x & 1) {
    latch->wait();
  } else {
    if (kind == 1)
      for (unsigned n = 0; n < threadIdx.x; ++n) atomicAdd(out + 1, 1);
    if (kind == 2)
      latch->arrive_and_wait();
    else
      latch->count_down();
    if (kind == 3 && threadIdx.x == 6) latch->wait();
  }
  atomicAdd(out, 1);
}

struct Count {
  int* counter;
  __device__ void operator()() noexcept { ++*counter; }
};

__global__ void barriers(int kind, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Count>;
  __shared__ InShared<Barrier> memory;
  __shared__ int completions;
  Barrier* const barrier = memory.object();
  if (threadIdx.x == 0) {
    completions = 0;
    new (barrier) Barrier(blockDim.x, Count{&completions});
  }
  __syncthreads();
  for (int n = 0; n < 5; ++n) {
    if (kind == 0) {
      barrier->arrive_and_wait();
    } else {
      auto token = barrier->arrive();
      barrier->wait(std::move(token));
    }
    if (n == 2 && threadIdx.x % 2) {
      barrier->arrive_and_drop();
      break;
    }
  }
  if (threadIdx.x == 0) atomicAdd(out + 1, completions);
  atomicAdd(out, 1);
}

// Lanes take and release in pairs; one of each pair comes first.
__global__ void semaphores(int kind, int* out) {
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 64>;
  __shared__ InShared<Semaphore> ping, pong;
  if (threadIdx.x == 0) {
    new (ping.object()) Semaphore(0);
    new (pong.object()) Semaphore(0);
  }
  __syncthreads();
  for (int n = 0; n < 4; ++n)
    if (threadIdx.x % 2 == kind) {
      ping.object()->release();
      pong.object()->acquire();
    } else {
      ping.object()->acquire();
      pong.object()->release();
    }
  atomicAdd(out, 1);
}

// From the last lane to the first, or the other way.
__global__ void atomicWaits(int kind, int* out) {
  using Atomic = cuda::atomic<int, cuda::thread_scope_block>;
  __shared__ InShared<Atomic> flags[97];
  const int t = threadIdx.x, last = blockDim.x, from = kind ? t + 1 : t, to = kind ? t : t + 1;
  new (flags[t].object()) Atomic(0);
  if (t == 0) new (flags[last].object()) Atomic(0);
  __syncthreads();
  if (t == (kind ? last - 1 : 0)) flags[from].object()->store(1);
  flags[from].object()->wait(0);
  flags[to].object()->store(1);
  flags[to].object()->notify_all();
  atomicAdd(out, 1);
}

template <class Kernel>
void checkObjects(const char* name, Kernel kernel, int kinds, int completions, std::initializer_list<int> sizes) {
  for (int kind = 0; kind < kinds; ++kind)
    for (int threads : sizes) {
      DeviceArray<int> out(2);
      out.clear();
      kernel<<<1, threads>>>(kind, out);
      CHECK_LAUNCH();
      int got[2] = {};
      CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
      if (got[0] != threads) failAt(__FILE__, __LINE__, name, "lanes are missing");
      if (completions && got[1] != completions) failAt(__FILE__, __LINE__, name, "phases are missing");
    }
}

int main() {
  checkWaits();
  checkObjects("latches", latches, 4, 0, {32, 96});
  checkObjects("barriers", barriers, 2, 5, {2, 32, 96});
  checkObjects("semaphores", semaphores, 2, 0, {2, 32});
  checkObjects("atomicWaits", atomicWaits, 2, 0, {32, 96});
  return passed();
}
