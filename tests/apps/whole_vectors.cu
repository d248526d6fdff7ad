// Vectors of 8 and 16 bytes that one block writes and others read: nobody may see half of an old and half of a new one.
// Look-back scans rely on it, which keep a tile's state beside its value.
#include "check.h"

constexpr int kSlots = 8;
constexpr unsigned kWrites = 4000000, kFew = 2000;

struct alignas(16) Slots {
  unsigned long long pairs[kSlots][2];
  unsigned quads[kSlots][4];
  unsigned twins[kSlots][2];
};

__device__ void write(Slots* slots, int slot, unsigned value) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" ::"l"(slots->pairs[slot]), "l"(value * 0x100000001ull)
               : "memory");
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(slots->quads[slot]), "r"(value) : "memory");
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %1};" ::"l"(slots->twins[slot]), "r"(value) : "memory");
}

__device__ bool torn(Slots* slots, int slot) {
  unsigned long long p, q;
  unsigned a, b, c, d, e, f;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(p), "=l"(q) : "l"(slots->pairs[slot]) : "memory");
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(slots->quads[slot])
               : "memory");
  asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(e), "=r"(f) : "l"(slots->twins[slot]) : "memory");
  return p != q || a != b || a != c || a != d || e != f;
}

// The first block writes, every thread of the others reads its own or one for all. Readers end with the writer.
__global__ void race(Slots* slots, int* started, volatile int* done, unsigned* seen, unsigned writes) {
  if (blockIdx.x == 0) {
    while (atomicAdd(started, 0) < int(gridDim.x) - 1)
      ;
    if (threadIdx.x < kSlots)
      for (unsigned i = 1; i <= writes; ++i) write(slots, threadIdx.x, i);
    __syncthreads();
    if (threadIdx.x == 0) *done = 1;
    return;
  }
  if (threadIdx.x == 0) atomicAdd(started, 1);
  unsigned count = 0;
  for (int i = 0; !*done; ++i) {
    count += torn(slots, threadIdx.x * 5 % kSlots);  // scattered
    count += torn(slots, i % kSlots);                // one address
    if (threadIdx.x % 3 == 0) count += torn(slots, threadIdx.x % kSlots);
  }
  if (count) atomicAdd(seen, count);
}

// With an argument few writes, for slow ways to run it.
int main(int argc, char**) {
  DeviceArray<Slots> slots(1);
  DeviceArray<int> started(1), done(1);
  DeviceArray<unsigned> seen(1);
  slots.clear();
  started.clear();
  done.clear();
  seen.clear();
  race<<<33, 32>>>(slots, started, done, seen, argc > 1 ? kFew : kWrites);
  CHECK_LAUNCH();
  EXPECT(seen.host()[0] == 0);
  return passed();
}
