// Captures of streams into graphs, and calls that captures forbid or allow.
#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

Named<CUstream> likelyStream() {
  const Named<CUstream> created = streams.any();
  return created && chance(90) ? created : anyStream();
}

bool captures(CUstream stream) {
  CUstreamCaptureStatus status{};
  return CALL(cuStreamIsCapturing, stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void beginCapture() {
  if (RECORD(cuStreamBeginCapture, given("stream", likelyStream()),
             givenAs<CUstreamCaptureMode>("mode", mostly(93, {0, 1, 2}, {3, -1}))) == CUDA_SUCCESS)
    capturing = true;
}

void endCapture() {
  CUgraph graph = nullptr;
  const CUresult result = RECORD(cuStreamEndCapture, given("stream", likelyStream()), out("graph", &graph, 3));
  if (result == CUDA_SUCCESS && graph) {
    size_t nodes = 0, edges = 0;
    CALL(cuGraphGetNodes, graph, nullptr, &nodes);
    CALL(cuGraphGetEdges, graph, nullptr, nullptr, nullptr, &edges);
    CALL(cuGraphDestroy, graph);
    output("graph", list(nodes, edges));
  }
  capturing = captures(CU_STREAM_PER_THREAD);
  streams.forEach([](CUstream stream) { capturing = capturing || captures(stream); });
}

void askStatus() {
  CUstreamCaptureStatus status{};
  RECORD(cuStreamIsCapturing, given("stream", likelyStream()), &status);
  output("status", status);
}

void askInfo() {
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  RECORD(cuStreamGetCaptureInfo, given("stream", likelyStream()), &status, &id, &graph, &nodes,
         out("edges", &edges, 20), &count);
  output("status", status);
  output("dependencies", count);
  output("graph", graph != nullptr);
}

void exchangeMode() {
  auto mode = givenAs<CUstreamCaptureMode>("mode", mostly(95, {0, 1, 2}, {3}));
  RECORD(cuThreadExchangeStreamCaptureMode, &mode);
  output("before", mode);
}

void updateDependencies() {
  const Named<CUstream> stream = likelyStream();
  CUstreamCaptureStatus status{};
  cuuint64_t id;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  CALL(cuStreamGetCaptureInfo, stream.object, &status, &id, &graph, &nodes, nullptr, &count);
  std::vector<CUgraphNode> some(nodes, nodes + (count ? below(count + 1) : 0));
  describe("dependencies", list(some.size(), count));
  RECORD(cuStreamUpdateCaptureDependencies, given("stream", stream), some.data(), nullptr, some.size(),
         given("flags", mostly(93, {0u, 1u}, {2u})));
}

// --- what captures forbid or allow

void allocateAndFree() {
  CUdeviceptr address = 0;
  if (RECORD(cuMemAlloc, &address, 100) == CUDA_SUCCESS) output("freed", CALL(cuMemFree, address));
}

void allocateAndFreeInStream() {
  const Named<CUstream> stream = likelyStream();
  CUdeviceptr address = 0;
  if (RECORD(cuMemAllocAsync, &address, 100, given("stream", stream)) == CUDA_SUCCESS)
    output("freed", CALL(cuMemFreeAsync, address, stream.object));
}

void createAndDestroyStream() {
  CUstream stream = nullptr;
  if (RECORD(cuStreamCreate, &stream, 0) == CUDA_SUCCESS) output("destroyed", CALL(cuStreamDestroy, stream));
}

void synchronize() { RECORD(cuCtxSynchronize); }

void askFreeMemory() {
  size_t free, total;
  RECORD(cuMemGetInfo, &free, &total);
}

void trimPool() {
  CUmemoryPool pool = nullptr;
  CALL(cuDeviceGetDefaultMemPool, &pool, 0);
  RECORD(cuMemPoolTrimTo, pool, size_t{0});
}

void copyInStream() {
  static char bytes[64];
  const Pointer target = pointerOf(Kind::Device, 0);
  if (target.room >= sizeof bytes)
    RECORD(cuMemcpyHtoDAsync, given("target", target), static_cast<const void*>(bytes), sizeof bytes,
           given("stream", likelyStream()));
}

void fillInStream() {
  const Pointer target = pointerOf(Kind::Device, 0);
  if (!target.null())
    RECORD(cuMemsetD8Async, given("target", target), static_cast<unsigned char>(1), target.room,
           given("stream", likelyStream()));
}

}  // namespace

void callCaptures() {
  describe("capturing", text(int{capturing}));
  pickOf({{16, beginCapture},
          {16, endCapture},
          {8, askStatus},
          {8, askInfo},
          {8, exchangeMode},
          {8, updateDependencies},
          {1, allocateAndFree},
          {1, synchronize},
          {1, allocateAndFreeInStream},
          {1, askFreeMemory},
          {1, trimPool},
          {1, createAndDestroyStream},
          {1, copyInStream},
          {1, fillInStream}});
}

}  // namespace calls
