// Loops over places that come out of memory, which lanes leave one by one: what they take from outside and leave
// behind, of all types, their exits, loops in them and around them. The source of lane_loops.ptx:
//   nvcc -arch=sm_90 -ptx -o lane_loops.ptx lane_loops.cu
#include <cstdint>

#include "kernel.h"

// Sums of several types over a list whose beginning and length come from memory.
KERNEL sums(ARGS) {
  const int thread = linear();
  const unsigned first = in[thread % n], count = in[(thread + 3) % n] % 11;
  unsigned words = thread;
  float floats = 0;
  double doubles = 1;
  uint64_t longs = 5;
  for (unsigned e = first; e < first + count; ++e) {
    const unsigned other = in[e % n] % n;
    words += in[other] ^ e;
    floats += float(in[(other + 1) % n] & 255);
    doubles += double(in[(other + 2) % n] & 1023) * 0.5;
    longs = longs * 3 + in[(other + 5) % n];
  }
  out[thread * 4] = words;
  out[thread * 4 + 1] = __float_as_uint(floats);
  out[thread * 4 + 2] = unsigned(__double_as_longlong(doubles) >> 20);
  out[thread * 4 + 3] = unsigned(longs ^ longs >> 32);
}

// Two ways out, each with values of its own, and one out of the kernel.
KERNEL exits(ARGS) {
  const int thread = linear();
  const unsigned first = in[thread % n];
  unsigned steps = 0, found = 77;
  bool isOdd = false;
  for (;; ++steps) {
    const unsigned next = in[(first + steps * 7) % n];
    if (next % 16 == 3) {
      out[thread * 2] = ~steps;
      return;
    }
    if (next % 7 == 1) {
      found = next;
      isOdd = steps & 1;
      break;
    }
    if (steps > 9) {
      found = steps * thread;
      break;
    }
  }
  if (isOdd) found ^= 0x5555;
  out[thread * 2] = found;
  out[thread * 2 + 1] = steps;
}

// Lists of lists, with rounds that are cut short; each thread stores to bytes of its own.
KERNEL lists(ARGS) {
  const int thread = linear();
  auto* const flags = reinterpret_cast<uint8_t*>(out + thread * 8);
  for (int k = 0; k < 8; ++k) out[thread * 8 + k] = 0;
  const unsigned outer = in[(thread * 5) % n] % 5;
  for (unsigned o = 0; o < outer; ++o) {
    const unsigned list = in[(thread + o * 7) % n];
    if (list % 3 == 0) continue;
    for (unsigned e = 0; e < list % 6; ++e) {
      const unsigned other = in[(list + e) % n];
      if (!flags[other % 28]) flags[other % 28] = uint8_t(other >> 8 | 1);
      if (other % 31 == 0) break;
    }
  }
}

// Lanes come to the loop from both ways of a branch, with different values, and shuffle behind it.
KERNEL joined(ARGS) {
  const int thread = linear();
  unsigned at, value;
  if (in[thread % n] & 4) {
    at = in[(thread + 1) % n];
    value = 1;
  } else {
    at = thread * 3;
    value = threadIdx.x;
  }
  while (in[at % n] % 5) {
    value = value * 2 + in[in[at % n] % n];
    at += 3;
    if (value & 0x100) break;
  }
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  if (threads % 32 == 0) value += __shfl_xor_sync(~0u, value, 5);
  out[thread] = value;
}

// Rounds with barriers around such a loop, which reads a table in shared memory.
KERNEL rounds(ARGS) {
  __shared__ unsigned table[256];
  const int thread = linear(), threads = blockDim.x * blockDim.y * blockDim.z;
  const int own = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned sum = 0;
  for (int round = 0; round < 3; ++round) {
    for (int k = own; k < 256; k += threads) table[k] = in[(k + round * 11) % n] >> 3;
    __syncthreads();
    const unsigned at = in[(thread + round) % n] % 256;
    for (unsigned k = 0; k < table[at] % 9; ++k) sum += table[(at * 5 + k) % 256] ^ in[table[(at + k) % 256] % n];
    __syncthreads();
  }
  out[thread] = sum;
}

// Threads with even numbers only, and the others go on with what they had.
KERNEL someLanes(ARGS) {
  const int thread = linear();
  const unsigned first = in[thread % n];
  unsigned value = first, last = thread;
  if (!(thread & 1))
    for (unsigned k = 0; k < first % 8; ++k) {
      last = in[(first + k) % n];
      value ^= in[last % n] << k;
    }
  out[thread * 2] = value;
  out[thread * 2 + 1] = last;
}

// Lists, in which each place depends on the one before: lanes stay together.
KERNEL chains(ARGS) {
  const int thread = linear();
  unsigned at = in[thread % n] % n, steps = 0;
  while (in[at] % 9 && steps < 12) at = (in[at] + ++steps) % n;
  out[thread * 2] = at;
  out[thread * 2 + 1] = steps;
}
