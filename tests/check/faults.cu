// Kernels with one fault each, by name: `faults NAME` runs one. The program itself succeeds as far as the device lets
// it; what checked mode says of it is compared by compare.py with expected.tsv, and must name the line marked "HERE".
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__device__ int table[10];
__device__ int after[10];

// memory ------------------------------------------------------------------------------------------------------------

__global__ void storeBehind(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) data[i] = i;  // HERE storeBehind
}

__global__ void loadBefore(const int* data, int* out) {
  out[threadIdx.x] = data[int(threadIdx.x) - 1];  // HERE loadBefore
}

__global__ void touch(int* data) {
  data[threadIdx.x] += 1;  // HERE touch
}

__global__ void misaligned(char* data) {
  *reinterpret_cast<int*>(data + 4 * threadIdx.x + 1) = 1;  // HERE misaligned
}

__global__ void variableOverrun(int n) {
  table[threadIdx.x + n] = 1;  // HERE variableOverrun
}

__global__ void sharedOverrun(int* out, int n) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) dynamic[n] = 7;  // HERE sharedOverrun
  __syncthreads();
  out[threadIdx.x] = dynamic[threadIdx.x];
}

__global__ void heapOverrun(int* out, int n) {
  int* const piece = static_cast<int*>(malloc(n * sizeof(int)));
  piece[n] = 1;  // HERE heapOverrun
  *out = piece[0];
  free(piece);
}

__global__ void heapAfterFree(int* out) {
  int* const piece = static_cast<int*>(malloc(40));
  piece[1] = 5;
  free(piece);
  *out = *const_cast<volatile int*>(piece + 1);  // HERE heapAfterFree
}

__global__ void localOverrun(int* out, int n) {
  int values[16];
  for (int k = 0; k < 16; ++k) values[k] = k * n;
  values[n] = 1;  // HERE localOverrun
  for (int k = 0; k < 16; ++k) out[k] = values[(k * n) & 15];
}

// race --------------------------------------------------------------------------------------------------------------

__global__ void readAfterWrite(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = int(threadIdx.x);
  out[threadIdx.x] = values[63 - threadIdx.x];  // HERE readAfterWrite
}

__global__ void writeAfterRead(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  const int mine = values[(threadIdx.x + 1) % 64];
  values[threadIdx.x] = mine + 1;  // HERE writeAfterRead
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void writeAfterWrite(int* out) {
  __shared__ int value;
  value = int(threadIdx.x);  // HERE writeAfterWrite
  __syncthreads();
  out[threadIdx.x] = value;
}

__global__ void withinWarp(int* out) {
  __shared__ int values[32];
  values[threadIdx.x] = int(threadIdx.x);
  out[threadIdx.x] = values[threadIdx.x ^ 1];  // HERE withinWarp
}

__global__ void plainBesideAtomic(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  if (threadIdx.x == 0) *out = count;  // HERE plainBesideAtomic
}

// sync --------------------------------------------------------------------------------------------------------------

__global__ void partOfWarp(int* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = 1;
    __syncthreads();  // HERE partOfWarp
    out[threadIdx.x] = 2;
  }
}

__global__ void partOfBlock(int* out) {
  if (threadIdx.x < 32) {
    out[threadIdx.x] = 1;
    __syncthreads();  // HERE partOfBlock
    out[threadIdx.x] = 2;
  }
}

__global__ void divergentBarrier(int* out) {
  int value = int(threadIdx.x);
  if (threadIdx.x < 16)
    __syncthreads();  // HERE divergentBarrier
  else
    value = __shfl_sync(0xffffffff, value, 3);
  out[threadIdx.x] = value;
}

__global__ void deadlock(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");  // HERE deadlock
  out[threadIdx.x] = 1;
}

__global__ void maskNamesOthers(int* out) {
  int value = int(threadIdx.x);
  if (threadIdx.x < 16)
    value = __shfl_sync(0xffffffff, value, 3);  // HERE maskNamesOthers
  else
    value = __any_sync(0xffffffff, value > 40);
  out[threadIdx.x] = value;
}

__global__ void maskWithoutCaller(int* out, unsigned mask) {
  __syncwarp(mask);  // HERE maskWithoutCaller
  out[threadIdx.x] = 1;
}

// init --------------------------------------------------------------------------------------------------------------

__global__ void sumUp(const int* data, int* out) {
  out[threadIdx.x] = data[threadIdx.x] + 1;  // HERE sumUp
}

__global__ void sharedEmpty(int* out) {
  __shared__ int values[64];
  if (threadIdx.x < 32) values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];  // HERE sharedEmpty
}

// -------------------------------------------------------------------------------------------------------------------

template <class T>
T* allocate(size_t count) {
  T* data = nullptr;
  if (cudaMalloc(&data, count * sizeof(T)) != cudaSuccess) std::exit(3);
  cudaMemset(data, 0, count * sizeof(T));
  return data;
}

static void run(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  int* const out = allocate<int>(256);
  if (is("storeBehind")) storeBehind<<<2, 64>>>(allocate<int>(100), 100);
  if (is("loadBefore")) loadBefore<<<1, 32>>>(allocate<int>(32), out);
  if (is("afterFree")) {
    int* const data = allocate<int>(32);
    cudaFree(data);
    touch<<<1, 32>>>(data);
  }
  if (is("nowhere")) touch<<<1, 1>>>(reinterpret_cast<int*>(64));
  if (is("readOnly")) {
    static int memory[4096];
    int* device = nullptr;
    if (cudaHostRegister(memory, sizeof memory, cudaHostRegisterReadOnly | cudaHostRegisterMapped) != cudaSuccess)
      std::exit(77);
    cudaHostGetDevicePointer(&device, memory, 0);
    touch<<<1, 32>>>(device);
  }
  if (is("pageable")) touch<<<1, 32>>>(static_cast<int*>(std::calloc(32, sizeof(int))));
  if (is("misaligned")) misaligned<<<1, 4>>>(allocate<char>(64));
  if (is("variableOverrun")) variableOverrun<<<1, 4>>>(8);
  if (is("sharedOverrun")) sharedOverrun<<<1, 32, 128>>>(out, 32);
  if (is("heapOverrun")) heapOverrun<<<1, 1>>>(out, 10);
  if (is("heapAfterFree")) heapAfterFree<<<1, 1>>>(out);
  if (is("localOverrun")) localOverrun<<<1, 1>>>(out, 17);
  if (is("readAfterWrite")) readAfterWrite<<<1, 64>>>(out);
  if (is("writeAfterRead")) writeAfterRead<<<1, 64>>>(out);
  if (is("writeAfterWrite")) writeAfterWrite<<<1, 32>>>(out);
  if (is("withinWarp")) withinWarp<<<1, 32>>>(out);
  if (is("plainBesideAtomic")) plainBesideAtomic<<<1, 64>>>(out);
  if (is("partOfWarp")) partOfWarp<<<1, 32>>>(out);
  if (is("partOfBlock")) partOfBlock<<<1, 64>>>(out);
  if (is("divergentBarrier")) divergentBarrier<<<1, 32>>>(out);
  if (is("deadlock")) deadlock<<<1, 64>>>(out);
  if (is("maskNamesOthers")) maskNamesOthers<<<1, 32>>>(out);
  if (is("maskWithoutCaller")) maskWithoutCaller<<<1, 32>>>(out, 0x0000ffff);
  if (is("neverWritten")) {
    int* data = nullptr;
    cudaMalloc(&data, 128);
    cudaMemset(data, 0, 64);
    sumUp<<<1, 32>>>(data, out);
  }
  if (is("copiedEmpty")) {
    int *data = nullptr, *copy = nullptr;
    cudaMalloc(&data, 128);
    cudaMalloc(&copy, 128);
    cudaMemcpy(copy, data, 128, cudaMemcpyDeviceToDevice);
    sumUp<<<1, 32>>>(copy, out);
  }
  if (is("sharedEmpty")) sharedEmpty<<<1, 64>>>(out);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  run(argv[1]);
  std::printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
