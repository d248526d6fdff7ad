// Host and device change the same managed words at the same time, each with operations that the other must see whole.
#include "check.h"

constexpr int kBlocks = 16, kThreads = 64, kRounds = 200;
constexpr int kDeviceAdds = kBlocks * kThreads * kRounds, kHostAdds = 20000;

struct Words {
  int sum, most, least, bits, lock, guarded;
  unsigned long long wide;
};

__global__ void change(Words* words) {
  const int thread = int(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < kRounds; ++round) {
    atomicAdd_system(&words->sum, 1);
    atomicAdd_system(&words->wide, 1ull << 32);
  }
  atomicMax_system(&words->most, thread);
  atomicMin_system(&words->least, -thread);
  atomicOr_system(&words->bits, 1 << (thread % 16));
  // One thread a block takes a lock that the host takes, too.
  if (threadIdx.x == 0) {
    while (atomicCAS_system(&words->lock, 0, 1)) __nanosleep(1000);
    volatile int& guarded = words->guarded;
    guarded = guarded + 1;
    __threadfence_system();
    atomicExch_system(&words->lock, 0);
  }
}

int main() {
  Words* words = nullptr;
  CHECK(cudaMallocManaged(&words, sizeof *words));
  *words = {0, -1, 1, 0, 0, 0, 0};
  int concurrent = 0;
  CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  change<<<kBlocks, kThreads>>>(words);
  CHECK(cudaGetLastError());
  if (!concurrent) CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kHostAdds; ++i) {
    __atomic_fetch_add(&words->sum, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&words->wide, 1ull, __ATOMIC_SEQ_CST);
  }
  __atomic_fetch_or(&words->bits, 1 << 20, __ATOMIC_SEQ_CST);
  for (int free = 0; !__atomic_compare_exchange_n(&words->lock, &free, 1, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);)
    free = 0;
  volatile int& guarded = words->guarded;
  guarded = guarded + 1;
  __atomic_store_n(&words->lock, 0, __ATOMIC_SEQ_CST);
  CHECK(cudaDeviceSynchronize());
  EXPECT(words->sum == kDeviceAdds + kHostAdds);
  EXPECT(words->wide == (static_cast<unsigned long long>(kDeviceAdds) << 32) + kHostAdds);
  EXPECT(words->most == kBlocks * kThreads - 1);
  EXPECT(words->least == -(kBlocks * kThreads - 1));
  EXPECT(words->bits == (0xffff | 1 << 20));
  EXPECT(words->lock == 0);
  EXPECT(words->guarded == kBlocks + 1);
  CHECK(cudaFree(words));
  return passed();
}
