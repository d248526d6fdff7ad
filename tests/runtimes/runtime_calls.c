/* What a program of the CUDA runtime does, in plain C and with kernels from PTX text, so that no nvcc of the runtime's
 * version is needed: devices, memory, streams, events, kernels, graphs, pools, a reset, an exit that leaves all to the
 * runtime's handlers. Compiled with the headers of the version that it is linked with. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                               \
  do {                                                                                            \
    const cudaError_t result_ = (call);                                                           \
    if (result_ != cudaSuccess) {                                                                 \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result_)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

enum { kCount = 5000 };

static const char kText[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .u32 count, .param .u32 factor) {\n"
    "  .reg .pred %p;\n  .reg .b32 %r<7>;\n  .reg .b64 %a<3>;\n"
    "  ld.param.u64 %a0, [data];\n  ld.param.u32 %r0, [count];\n  ld.param.u32 %r1, [factor];\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.u32 %r5, %r2, %r3, %r4;\n  setp.ge.u32 %p, %r5, %r0;\n  @%p ret;\n"
    "  mul.wide.u32 %a1, %r5, 4;\n  add.u64 %a2, %a0, %a1;\n"
    "  ld.global.u32 %r6, [%a2];\n  mul.lo.u32 %r6, %r6, %r1;\n  st.global.u32 [%a2], %r6;\n  ret;\n}\n";

static int received[kCount];

static void checkDevices(void) {
  int driver = 0, runtime = 0, count = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  EXPECT(runtime / 10 == CUDART_VERSION / 10 && driver / 1000 == runtime / 1000);
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  for (int device = 0; device < count; ++device) {
    struct cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    EXPECT(properties.name[0] && properties.totalGlobalMem > 0 && properties.warpSize == 32);
  }
}

static void launchScale(cudaKernel_t kernel, void* data, unsigned factor, cudaStream_t stream) {
  unsigned count = kCount;
  void* arguments[] = {&data, &count, &factor};
  const dim3 grid = {(kCount + 127) / 128, 1, 1}, block = {128, 1, 1};
  CHECK(cudaLaunchKernel((const void*)kernel, grid, block, arguments, 0, stream));
}

static void fill(void* data, cudaStream_t stream) {
  static int sent[kCount];
  for (int i = 0; i < kCount; ++i) sent[i] = i;
  CHECK(cudaMemcpyAsync(data, sent, sizeof sent, cudaMemcpyHostToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));
}

static void expectScaled(const void* data, int factor) {
  CHECK(cudaMemcpy(received, data, sizeof received, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(received[i] == i * factor);
}

static void runGraph(cudaKernel_t kernel, void* data, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  launchScale(kernel, data, 2, stream);
  launchScale(kernel, data, 5, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
}

static void count(void* user) { ++*(int*)user; }

static void work(void) {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  cudaStream_t stream;
  cudaEvent_t before, after;
  void *data, *pooled, *host;
  float milliseconds = -1;
  int calls = 0;
  CHECK(cudaLibraryLoadData(&library, kText, NULL, NULL, 0, NULL, NULL, 0));
  CHECK(cudaLibraryGetKernel(&kernel, library, "scale"));
  CHECK(cudaMalloc(&data, sizeof received));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));

  fill(data, stream);
  CHECK(cudaEventRecord(before, stream));
  launchScale(kernel, data, 3, stream);
  CHECK(cudaLaunchHostFunc(stream, count, &calls));
  CHECK(cudaEventRecord(after, stream));
  CHECK(cudaEventSynchronize(after));
  CHECK(cudaEventElapsedTime(&milliseconds, before, after));
  EXPECT(milliseconds >= 0 && calls == 1);
  expectScaled(data, 3);

  fill(data, stream);
  runGraph(kernel, data, stream);
  expectScaled(data, 10);

  CHECK(cudaMallocAsync(&pooled, sizeof received, stream));
  CHECK(cudaMemsetAsync(pooled, 0, sizeof received, stream));
  CHECK(cudaMallocHost(&host, sizeof received));
  memset(host, 1, sizeof received);
  CHECK(cudaMemcpyAsync(host, pooled, sizeof received, cudaMemcpyDefault, stream));
  CHECK(cudaFreeAsync(pooled, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) EXPECT(((int*)host)[i] == 0);

  struct cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, data));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(data));
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(after));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaLibraryUnload(library));
}

int main(void) {
  void* refused;
  checkDevices();
  work();
  CHECK(cudaDeviceReset());
  work();
  EXPECT(cudaMalloc(&refused, (size_t)1 << 60) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaSetDevice(1000) == cudaErrorInvalidDevice);
  return 0;
}
