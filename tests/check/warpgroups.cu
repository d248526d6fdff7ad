// Products of warpgroups (wgmma), which read shared memory by descriptors, by name: `warpgroups NAME` runs one. What
// begins with `fine` orders their reads, and checked mode must say nothing. Compared by races.py with
// expected-warpgroups.tsv; for compute capability 9.0 only.
#include <cstdint>
#include <cstring>

#include "one_case.h"

constexpr unsigned kThreads = 128, kWarp = 32, kA = 64 * 16, kB = 16 * 8;  // elements of 16 bits
constexpr unsigned kUnits = 128, kRows = 256;  // bytes to the next 8 k, and to the next 8 rows

struct Matrices {
  alignas(128) unsigned short a[kA], b[kB];
};

__device__ uint64_t descriptorOf(const void* matrix, unsigned rows = kRows) {
  const auto at = static_cast<uint64_t>(__cvta_generic_to_shared(matrix));
  return at >> 4 | uint64_t{kUnits >> 4} << 16 | uint64_t{rows >> 4} << 32;
}

__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b));  // HERE product
}

__device__ void multiplyRegisters(float (&d)[4], const unsigned (&a)[4], uint64_t b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void wait() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ void fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void fill(unsigned short* matrix, unsigned count) {
  for (unsigned n = threadIdx.x; n < count; n += blockDim.x)
    matrix[n] = static_cast<unsigned short>(0x3c00 + n % 5 * 64);  // OTHER withoutBarrier
}

__device__ void store(float* out, const float (&d)[4]) {
  if (threadIdx.x >= kThreads) return;
  for (int n = 0; n < 4; ++n) out[threadIdx.x * 4 + n] = d[n];
}

// Again and again with the same memory, which is written between barriers.
__global__ void fineRounds(float* out) {
  __shared__ Matrices m;
  float d[4] = {};
  for (int round = 0; round < 3; ++round) {
    fill(m.a, kA);
    fill(m.b, kB);
    fence();
    __syncthreads();
    multiply(d, descriptorOf(m.a), descriptorOf(m.b));
    wait();
    __syncthreads();
  }
  store(out, d);
}

// A warp beside the four writes what they have read, behind a barrier with them.
__global__ void fineProducer(float* out) {
  __shared__ Matrices m[2];
  float d[4] = {};
  const bool produces = threadIdx.x >= kThreads;
  for (int stage = 0; stage < 4; ++stage) {
    if (produces) {
      for (unsigned n = threadIdx.x % kWarp; n < kA + kB; n += kWarp)
        (n < kA ? m[stage % 2].a[n] : m[stage % 2].b[n - kA]) = static_cast<unsigned short>(0x3c00 + stage * 64);
      fence();
    }
    __syncthreads();
    if (!produces) {
      multiply(d, descriptorOf(m[stage % 2].a), descriptorOf(m[stage % 2].b));
      wait();
    }
  }
  store(out, d);
}

__global__ void fineRegisters(float* out) {
  __shared__ Matrices m;  // without A
  float d[4] = {};
  fill(m.b, kB);
  fence();
  __syncthreads();
  const unsigned a[4] = {0x3c003c00, 0x3c003c00, 0x40004000, 0x40004000};
  multiplyRegisters(d, a, descriptorOf(m.b));
  wait();
  store(out, d);
}

__global__ void notWritten(float* out) {
  __shared__ Matrices m;
  float d[4] = {};
  fill(m.a, kA);
  fill(m.b, kB - 8);
  fence();
  __syncthreads();
  multiply(d, descriptorOf(m.a), descriptorOf(m.b));
  wait();
  store(out, d);
}

__global__ void withoutBarrier(float* out) {
  __shared__ Matrices m;
  float d[4] = {};
  fill(m.b, kB);
  __syncthreads();
  fill(m.a, kA);
  fence();
  multiply(d, descriptorOf(m.a), descriptorOf(m.b));
  wait();
  store(out, d);
}

// The warp beside the four does not wait until they have read.
__global__ void overwrittenTooEarly(float* out) {
  __shared__ Matrices m;
  float d[4] = {};
  fill(m.a, kA);
  fill(m.b, kB);
  fence();
  __syncthreads();
  if (threadIdx.x >= kThreads) {
    m.b[threadIdx.x % kWarp] = 0;  // OTHER overwrittenTooEarly
  } else {
    multiply(d, descriptorOf(m.a), descriptorOf(m.b));
    wait();
  }
  store(out, d);
}

// The rows of A are said to be further apart than they are.
__global__ void beyondShared(float* out) {
  __shared__ Matrices m;
  float d[4] = {};
  fill(m.a, kA);
  fill(m.b, kB);
  fence();
  __syncthreads();
  multiply(d, descriptorOf(m.a, 0x3000), descriptorOf(m.b));
  wait();
  store(out, d);
}

void run(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  float* out = nullptr;
  CHECK(cudaMalloc(&out, kThreads * 4 * sizeof(float)));
  if (is("fineRounds")) fineRounds<<<2, kThreads>>>(out);
  if (is("fineProducer")) fineProducer<<<1, kThreads + kWarp>>>(out);
  if (is("fineRegisters")) fineRegisters<<<1, kThreads>>>(out);
  if (is("notWritten")) notWritten<<<1, kThreads>>>(out);
  if (is("withoutBarrier")) withoutBarrier<<<1, kThreads>>>(out);
  if (is("overwrittenTooEarly")) overwrittenTooEarly<<<1, kThreads + kWarp>>>(out);
  if (is("beyondShared")) beyondShared<<<1, kThreads>>>(out);
}
