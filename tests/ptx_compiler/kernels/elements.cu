// Elements of one, two, four and eight bytes that lie apart: a constant step from lane to lane, in a place that each
// lane computes, in global, shared and local memory, for all lanes and for some. The source of elements.ptx:
//   nvcc -arch=sm_90 -ptx -o elements.ptx elements.cu
#include <cstdint>

#include "kernel.h"

// From a pointer that is not aligned to words, by steps that are and that are not.
template <class T, int kStep>
__device__ __forceinline__ unsigned steps(const T* table, int at) {
  return unsigned(table[at * kStep]) ^ unsigned(table[at * kStep + 1]) * 257;
}

KERNEL bytesInSteps(ARGS) {
  auto* const bytes = reinterpret_cast<const uint8_t*>(in) + in[0] % 4;
  auto* const signedBytes = reinterpret_cast<const int8_t*>(in) + in[1] % 4;
  const int at = int(threadIdx.x) % 200;
  unsigned sum = steps<uint8_t, 3>(bytes, at) + steps<uint8_t, 4>(bytes, at) + steps<int8_t, 5>(signedBytes, at);
  if (in[linear() % n] & 1) sum ^= steps<uint8_t, 7>(bytes, at) + steps<int8_t, 8>(signedBytes, at);
  out[linear()] = sum;
}

KERNEL halvesInSteps(ARGS) {
  auto* const halves = reinterpret_cast<const uint16_t*>(in) + in[0] % 2;
  auto* const signedHalves = reinterpret_cast<const int16_t*>(in) + in[1] % 2;
  const int at = int(threadIdx.x) % 150;
  unsigned sum = steps<uint16_t, 3>(halves, at) + steps<uint16_t, 2>(halves, at) + steps<int16_t, 6>(signedHalves, at);
  if (in[linear() % n] % 3) sum ^= steps<int16_t, 4>(signedHalves, 160 - at);
  out[linear()] = sum;
}

KERNEL wordsInSteps(ARGS) {
  const int at = int(threadIdx.x) % 100;
  unsigned sum = steps<unsigned, 3>(in, at) + steps<unsigned, 5>(in, 100 - at);
  auto* const longs = reinterpret_cast<const uint64_t*>(in);
  if (in[linear() % n] & 2) sum += unsigned(longs[at * 2] >> 7) + steps<unsigned, 4>(in, at);
  out[linear() * 3] = sum;
  out[linear() * 3 + 1] = ~sum;
  if (sum & 4) out[linear() * 3 + 2] = sum * 3;
}

KERNEL tables(ARGS) {
  __shared__ uint8_t bytes[1024];
  __shared__ uint16_t halves[1024];
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  for (int at = thread; at < 1024; at += threads) {
    bytes[at] = uint8_t(in[at % n] >> 3);
    halves[1023 - at] = uint16_t(in[at % n] >> 5);
  }
  __syncthreads();
  const unsigned word = in[linear() % n];
  unsigned sum = bytes[word % 1024] + halves[word / 7 % 1024] * 3;
  auto* const global = reinterpret_cast<const uint8_t*>(in);
  auto* const globalHalves = reinterpret_cast<const int16_t*>(in);
  sum ^= global[word % (4 * n)] + unsigned(globalHalves[word % (2 * n)]) * 5;
  if (word & 8) sum += reinterpret_cast<const int8_t*>(bytes)[word % 1000] + bytes[thread * 3 % 1024];
  if (word % 5) sum ^= global[word / 3 % (4 * n)];
  out[linear()] = sum;
}

// Arrays of each thread, with places that all share and places of its own.
KERNEL ownBytes(ARGS) {
  uint8_t state[64];
  uint16_t wide[24];
  for (int i = 0; i < 64; ++i) state[i] = uint8_t(i);
  for (int i = 0; i < 24; ++i) wide[i] = uint16_t(in[(linear() + i) % n]);
  const unsigned key = in[linear() % n];
#pragma unroll 1
  for (unsigned i = 0, j = 0; i < 64; ++i) {
    j = (j + state[i] + key + i) % 64;
    const uint8_t kept = state[i];
    state[i] = state[j];
    state[j] = kept;
    if (j & 1) wide[j % 24] = uint16_t(wide[i % 24] * 5 + 1);
  }
  unsigned sum = 0;
#pragma unroll 4
  for (int i = 0; i < 64; ++i) sum = sum * 31 + state[(i * 7 + key) % 64] + wide[i % 24];
  out[linear()] = sum;
}
