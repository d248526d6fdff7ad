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

__global__ void touchFreed(int* data) {
  data[threadIdx.x] = 1;  // HERE afterFreeInOrder
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

__global__ void heapFreedTwice(int* out) {
  void* const piece = malloc(40);
  free(piece);
  if (*out >= 0) free(piece);  // HERE heapFreedTwice
}

__global__ void localOverrun(int* out, int n) {
  int values[16];
  for (int k = 0; k < 16; ++k) values[k] = k * n;
  values[n] = 1;  // HERE localOverrun
  for (int k = 0; k < 16; ++k) out[k] = values[(k * n) & 15];
}

__constant__ int constants[4];

__global__ void negativeIndex(int* data, int n) {
  data[int(threadIdx.x) - n] = 1;  // HERE negativeIndex
}

__global__ void partOfVector(const float4* data, float4* out) {
  out[threadIdx.x] = data[threadIdx.x];  // HERE partOfVector
}

__global__ void bytesBehind(const unsigned char* data, unsigned char* out, int n) {
  if (threadIdx.x <= n) out[threadIdx.x] = data[threadIdx.x];  // HERE bytesBehind
}

__global__ void gatherOutside(const int* data, const int* where, int* out) {
  out[threadIdx.x] = data[where[threadIdx.x] * 77];  // HERE gatherOutside
}

__global__ void scatterOutside(int* data, const int* where) {
  data[where[threadIdx.x] * 77] = 5;  // HERE scatterOutside
}

__global__ void atomicBehind(int* data) {
  atomicAdd(data + threadIdx.x, 1);  // HERE atomicBehind
}

__global__ void atomicResult(int* data, int* out) {
  out[threadIdx.x] = atomicMax(data + threadIdx.x, 1);  // HERE atomicResult
}

__global__ void oneTooMany(const int* data, int* out, int n) {
  int sum = 0;
  for (int k = threadIdx.x; k <= n; k += blockDim.x) sum += data[k];  // HERE oneTooMany
  out[threadIdx.x] = sum;
}

__global__ void uniformOutside(const int* data, int* out, int n) {
  out[threadIdx.x] = data[n] + int(threadIdx.x);  // HERE uniformOutside
}

__global__ void storeOfOne(int* data, int n) {
  if (threadIdx.x == 3) data[n] = 1;  // HERE storeOfOne
}

__global__ void rowsOutside(int* data, int width, int height) {
  data[(blockIdx.y * blockDim.y + threadIdx.y) * width + threadIdx.x] = height;  // HERE rowsOutside
}

__global__ void constantOverrun(int* out, int n) {
  out[threadIdx.x] = constants[threadIdx.x + n];  // HERE constantOverrun
}

__global__ void sharedBefore(int* out, int n) {
  __shared__ int values[32];
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[int(threadIdx.x) - n];  // HERE sharedBefore
}

__device__ __noinline__ int elementOf(const int* values, int n) {
  return values[n];  // HERE sharedByPointer
}

__global__ void sharedByPointer(int* out, int n) {
  __shared__ int values[32];
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = elementOf(values, int(threadIdx.x) + n);
}

__global__ void sharedAtomic(int* out, int n) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(dynamic + threadIdx.x + n, 1);  // HERE sharedAtomic
  __syncthreads();
  out[threadIdx.x] = dynamic[threadIdx.x];
}

__global__ void localBefore(int* out, int n) {
  int values[16];
  for (int k = 0; k < 16; ++k) values[k] = k * n;
  out[threadIdx.x] = values[n - 40];  // HERE localBefore
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

__global__ void storeAfterLoads(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum += values[k] * values[(threadIdx.x + 1) % 64];
  values[threadIdx.x] = sum;  // HERE storeAfterLoads
  __syncthreads();
  out[threadIdx.x] = values[63 - threadIdx.x];
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

__global__ void shuffleBetween(int* out) {
  __shared__ int values[32];
  values[threadIdx.x] = int(threadIdx.x);
  const int other = __shfl_sync(0xffffffff, int(threadIdx.x), int(threadIdx.x) ^ 1);
  out[threadIdx.x] = values[other];  // HERE shuffleBetween
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

__global__ void namedBarrierOfSome(int* out) {
  int value = int(threadIdx.x);
  if (threadIdx.x % 2)
    asm volatile("bar.sync 3, 32;");  // HERE namedBarrierOfSome
  else
    value = __shfl_sync(0xffffffff, value, 3);
  out[threadIdx.x] = value;
}

__global__ void votingBarrierOfSome(int* out) {
  int value = int(threadIdx.x);
  if (threadIdx.x < 8)
    value = __syncthreads_or(value);  // HERE votingBarrierOfSome
  else
    value = __shfl_sync(0xffffffff, value, 3);
  out[threadIdx.x] = value;
}

__global__ void barriersOfTwoLines(int* out) {
  if (threadIdx.x < 16)
    __syncthreads();  // HERE barriersOfTwoLines
  else
    asm volatile("bar.sync 0;");
  out[threadIdx.x] = 1;
}

__global__ void warpSyncOfSome(int* out) {
  int value = int(threadIdx.x);
  if (threadIdx.x < 16)
    __syncwarp();  // HERE warpSyncOfSome
  else
    value = __any_sync(0xffffffff, value > 40);
  out[threadIdx.x] = value;
}

__global__ void sharedIntoOther(int* out, int size) {
  __shared__ int first[32], second[32];
  first[threadIdx.x] = second[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  first[threadIdx.x + size] += 1;  // HERE sharedIntoOther
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x ^ 1] + second[threadIdx.x ^ 1];
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

__global__ void heapLeak(int** out) {
  out[threadIdx.x] = static_cast<int*>(malloc(16));  // HERE heapLeak
  if (threadIdx.x % 2) free(out[threadIdx.x]);
}

static void leaveThings() {
  void* host = nullptr;
  cudaMallocHost(&host, 4096);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaEvent_t event, ended;
  cudaEventCreate(&event);
  cudaEventCreate(&ended);
  cudaEventDestroy(ended);
  void* inOrder = nullptr;
  cudaMallocAsync(&inOrder, 1000, stream);
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &format, 16, 16);
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  void* freed = nullptr;
  cudaMalloc(&freed, 64);
  cudaFree(freed);
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
  if (is("afterFreeInOrder")) {
    int* data = nullptr;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMallocAsync(&data, 128, stream);
    cudaFreeAsync(data, stream);
    touchFreed<<<1, 32, 0, stream>>>(data);
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
  if (is("heapFreedTwice")) heapFreedTwice<<<1, 1>>>(out);
  if (is("localOverrun")) localOverrun<<<1, 1>>>(out, 17);
  if (is("negativeIndex")) negativeIndex<<<1, 32>>>(allocate<int>(32), 5);
  if (is("partOfVector")) partOfVector<<<1, 32>>>(allocate<float4>(30), reinterpret_cast<float4*>(allocate<int>(128)));
  if (is("bytesBehind")) bytesBehind<<<1, 128>>>(allocate<unsigned char>(99), allocate<unsigned char>(128), 99);
  if (is("gatherOutside") || is("scatterOutside")) {
    int numbers[32];
    for (int k = 0; k < 32; ++k) numbers[k] = k * 7 % 32;
    int* const where = allocate<int>(32);
    cudaMemcpy(where, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    int* const data = allocate<int>(31 * 77);
    is("gatherOutside") ? gatherOutside<<<1, 32>>>(data, where, out) : scatterOutside<<<1, 32>>>(data, where);
  }
  if (is("atomicBehind")) atomicBehind<<<1, 64>>>(allocate<int>(63));
  if (is("atomicResult")) atomicResult<<<1, 64>>>(allocate<int>(60), out);
  if (is("oneTooMany")) oneTooMany<<<2, 64>>>(allocate<int>(1000), out, 1000);
  if (is("uniformOutside")) uniformOutside<<<1, 64>>>(allocate<int>(10), out, 10);
  if (is("storeOfOne")) storeOfOne<<<1, 64>>>(allocate<int>(10), 11);
  if (is("rowsOutside")) rowsOutside<<<dim3(1, 2), dim3(16, 8)>>>(allocate<int>(16 * 15), 16, 15);
  if (is("constantOverrun")) constantOverrun<<<1, 2>>>(out, 3);
  if (is("sharedBefore")) sharedBefore<<<1, 32>>>(out, 4);
  if (is("sharedByPointer")) sharedByPointer<<<1, 32>>>(out, 40);
  if (is("sharedAtomic")) sharedAtomic<<<1, 32, 128>>>(out, 2);
  if (is("localBefore")) localBefore<<<1, 4>>>(out, 3);
  if (is("doubleFree")) {
    int* const data = allocate<int>(16);
    cudaFree(data);
    cudaFree(data);
  }
  if (is("freeInside")) cudaFree(allocate<int>(16) + 4);
  if (is("freeOfHost")) cudaFree(std::malloc(64));
  if (is("hostFreeOfDevice")) cudaFreeHost(allocate<int>(16));
  if (is("failingCall")) cudaMemcpy(out, out + (size_t{1} << 40), 64, cudaMemcpyDeviceToDevice);
  if (is("leaks")) leaveThings();
  if (is("heapLeak")) heapLeak<<<1, 64>>>(allocate<int*>(64));
  if (is("heapLeakOfContext")) {
    heapLeak<<<1, 64>>>(allocate<int*>(64));
    cudaDeviceReset();
  }
  if (is("readAfterWrite")) readAfterWrite<<<1, 64>>>(out);
  if (is("writeAfterRead")) writeAfterRead<<<1, 64>>>(out);
  if (is("storeAfterLoads")) storeAfterLoads<<<2, 64>>>(out);
  if (is("writeAfterWrite")) writeAfterWrite<<<1, 32>>>(out);
  if (is("withinWarp")) withinWarp<<<1, 32>>>(out);
  if (is("shuffleBetween")) shuffleBetween<<<1, 32>>>(out);
  if (is("plainBesideAtomic")) plainBesideAtomic<<<1, 64>>>(out);
  if (is("partOfWarp")) partOfWarp<<<1, 32>>>(out);
  if (is("partOfBlock")) partOfBlock<<<1, 64>>>(out);
  if (is("divergentBarrier")) divergentBarrier<<<1, 32>>>(out);
  if (is("namedBarrierOfSome")) namedBarrierOfSome<<<1, 32>>>(out);
  if (is("votingBarrierOfSome")) votingBarrierOfSome<<<1, 32>>>(out);
  if (is("barriersOfTwoLines")) barriersOfTwoLines<<<1, 32>>>(out);
  if (is("warpSyncOfSome")) warpSyncOfSome<<<1, 32>>>(out);
  if (is("sharedIntoOther")) sharedIntoOther<<<1, 32>>>(out, 8);
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
