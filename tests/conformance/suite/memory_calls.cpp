#include "memory_calls.h"

#include "results.h"

namespace suite {
namespace {

CUDA_MEMCPY2D rows(MemoryWorld& w) {
  CUDA_MEMCPY2D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = w.a;
  box.dstDevice = w.b;
  box.srcPitch = box.dstPitch = 64;
  box.WidthInBytes = 32;
  box.Height = 4;
  return box;
}

template <class Box>
Box slices(MemoryWorld& w) {
  Box box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = w.a;
  box.dstDevice = w.b;
  box.srcPitch = box.dstPitch = 64;
  box.srcHeight = box.dstHeight = 8;
  box.WidthInBytes = 32;
  box.Height = 4;
  box.Depth = 2;
  return box;
}

CUDA_MEMCPY3D_PEER peerSlices(MemoryWorld& w) {
  auto box = slices<CUDA_MEMCPY3D_PEER>(w);
  box.srcContext = box.dstContext = w.context;
  return box;
}

}  // namespace

MemoryWorld::MemoryWorld() : pageable(kBytes) {
  EXPECT_OK(cuDeviceGet(&device, 0));
  EXPECT_OK(cuCtxGetCurrent(&context));
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cuMemAlloc(&a, kBytes));
  EXPECT_OK(cuMemAlloc(&b, kBytes));
  spare.resize(4);
  for (CUdeviceptr& p : spare) EXPECT_OK(cuMemAlloc(&p, 64));
  void* memory = nullptr;
  EXPECT_OK(cuMemHostAlloc(&memory, kBytes, 0));
  pinned = static_cast<unsigned char*>(memory);
  char text[32] = "";
  EXPECT_OK(cuDeviceGetPCIBusId(text, sizeof text, device));
  busId = text;
}

MemoryWorld::~MemoryWorld() {
  cuStreamSynchronize(stream);
  cuStreamDestroy(stream);
  for (CUdeviceptr p : spare) cuMemFree(p);
  cuMemFree(a);
  cuMemFree(b);
  cuMemFreeHost(pinned);
}

const std::vector<MemoryCall> kMemoryCalls = {
    {.name = "cuMemAlloc",
     .resultsRule = "MEMALLOC-005",
     .earlierRule = "MEMALLOC-006",
     .good =
         [](MemoryWorld& w) {
           CUdeviceptr p = 0;
           const CUresult result = cuMemAlloc(&p, 64);
           if (p) w.spare.push_back(p);
           return result;
         },
     .bad =
         [](MemoryWorld&) {
           CUdeviceptr p = 0;
           return cuMemAlloc(&p, 0);
         }},
    {.name = "cuMemAllocPitch",
     .resultsRule = "MEMALLOCPITCH-012",
     .earlierRule = "MEMALLOCPITCH-013",
     .good =
         [](MemoryWorld& w) {
           CUdeviceptr p = 0;
           size_t pitch = 0;
           const CUresult result = cuMemAllocPitch(&p, &pitch, 100, 4, 4);
           if (p) w.spare.push_back(p);
           return result;
         },
     .bad =
         [](MemoryWorld&) {
           CUdeviceptr p = 0;
           size_t pitch = 0;
           return cuMemAllocPitch(&p, &pitch, 100, 4, 3);
         }},
    {.name = "cuMemFree",
     .resultsRule = "MEMFREE-012",
     .earlierRule = "MEMFREE-013",
     .good =
         [](MemoryWorld& w) {
           const CUdeviceptr p = w.spare.back();
           w.spare.pop_back();
           return cuMemFree(p);
         },
     .bad = [](MemoryWorld& w) { return cuMemFree(w.a + 256); },
     .needsContext = false},
    {.name = "cuMemGetAddressRange",
     .resultsRule = "MEMADDRRANGE-006",
     .earlierRule = "MEMADDRRANGE-007",
     .good =
         [](MemoryWorld& w) {
           CUdeviceptr base = 0;
           size_t size = 0;
           return cuMemGetAddressRange(&base, &size, w.a + 8);
         },
     .bad =
         [](MemoryWorld&) {
           CUdeviceptr base = 0;
           size_t size = 0;
           return cuMemGetAddressRange(&base, &size, 0);
         },
     .badAnswer = CUDA_ERROR_NOT_FOUND},
    {.name = "cuMemGetInfo",
     .resultsRule = "MEMGETINFO-008",
     .earlierRule = "MEMGETINFO-009",
     .good =
         [](MemoryWorld&) {
           size_t free = 0, total = 0;
           return cuMemGetInfo(&free, &total);
         },
     .bad = [](MemoryWorld&) { return cuMemGetInfo(nullptr, nullptr); },
     .badAnswer = CUDA_SUCCESS},
    {.name = "cuDeviceGetByPCIBusId",
     .resultsRule = "DEVBYPCI-006",
     .earlierRule = "DEVBYPCI-007",
     .good =
         [](MemoryWorld& w) {
           CUdevice found = 0;
           return cuDeviceGetByPCIBusId(&found, w.busId.c_str());
         },
     .bad =
         [](MemoryWorld&) {
           CUdevice found = 0;
           return cuDeviceGetByPCIBusId(&found, "ffff:1f:1f.0");
         },
     .badAnswer = CUDA_ERROR_INVALID_DEVICE,
     .needsContext = false,
     .seesEarlier = false},
    {.name = "cuDeviceGetPCIBusId",
     .resultsRule = "DEVPCIID-005",
     .earlierRule = "DEVPCIID-006",
     .good =
         [](MemoryWorld& w) {
           char text[32];
           return cuDeviceGetPCIBusId(text, sizeof text, w.device);
         },
     .bad = [](MemoryWorld& w) { return cuDeviceGetPCIBusId(nullptr, 13, w.device); },
     .needsContext = false,
     .seesEarlier = false},
    {.name = "cuMemcpy",
     .resultsRule = "MEMCPY-006",
     .earlierRule = "MEMCPY-007",
     .good = [](MemoryWorld& w) { return cuMemcpy(w.a, w.b, 64); },
     .bad = [](MemoryWorld& w) { return cuMemcpy(w.a, w.b, size_t{64} << 20); }},
    {.name = "cuMemcpyAsync",
     .resultsRule = "MEMCPYASYNC-008",
     .earlierRule = "MEMCPYASYNC-009",
     .good = [](MemoryWorld& w) { return cuMemcpyAsync(w.a, w.b, 64, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemcpyAsync(w.a, w.b, size_t{64} << 20, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpyHtoD",
     .resultsRule = "MEMCPYHTOD-004",
     .earlierRule = "MEMCPYHTOD-005",
     .good = [](MemoryWorld& w) { return cuMemcpyHtoD(w.a, w.pageable.data(), 64); },
     .bad = [](MemoryWorld& w) { return cuMemcpyHtoD(w.a, nullptr, 64); }},
    {.name = "cuMemcpyHtoDAsync",
     .resultsRule = "MEMCPYHTODASYNC-006",
     .earlierRule = "MEMCPYHTODASYNC-007",
     .good = [](MemoryWorld& w) { return cuMemcpyHtoDAsync(w.a, w.pinned, 64, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemcpyHtoDAsync(w.a, nullptr, 64, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpyDtoH",
     .resultsRule = "MEMCPYDTOH-004",
     .earlierRule = "MEMCPYDTOH-005",
     .good = [](MemoryWorld& w) { return cuMemcpyDtoH(w.pageable.data(), w.a, 64); },
     .bad = [](MemoryWorld& w) { return cuMemcpyDtoH(nullptr, w.a, 64); }},
    {.name = "cuMemcpyDtoHAsync",
     .resultsRule = "MEMCPYDTOHASYNC-006",
     .earlierRule = "MEMCPYDTOHASYNC-007",
     .good = [](MemoryWorld& w) { return cuMemcpyDtoHAsync(w.pinned, w.a, 64, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemcpyDtoHAsync(nullptr, w.a, 64, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpyDtoD",
     .resultsRule = "MEMCPYDTOD-003",
     .earlierRule = "MEMCPYDTOD-004",
     .good = [](MemoryWorld& w) { return cuMemcpyDtoD(w.a, w.b, 64); },
     .bad = [](MemoryWorld& w) { return cuMemcpyDtoD(w.a, 0, 64); }},
    {.name = "cuMemcpyDtoDAsync",
     .resultsRule = "MEMCPYDTODASYNC-005",
     .earlierRule = "MEMCPYDTODASYNC-006",
     .good = [](MemoryWorld& w) { return cuMemcpyDtoDAsync(w.a, w.b, 64, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemcpyDtoDAsync(w.a, 0, 64, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpyPeer",
     .resultsRule = "MEMCPYPEER-004",
     .earlierRule = "MEMCPYPEER-005",
     .good = [](MemoryWorld& w) { return cuMemcpyPeer(w.a, w.context, w.b, w.context, 64); },
     .bad = [](MemoryWorld& w) { return cuMemcpyPeer(w.a, w.context, 0, w.context, 64); }},
    {.name = "cuMemcpyPeerAsync",
     .resultsRule = "MEMCPYPEERASYNC-006",
     .earlierRule = "MEMCPYPEERASYNC-007",
     .good = [](MemoryWorld& w) { return cuMemcpyPeerAsync(w.a, w.context, w.b, w.context, 64, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemcpyPeerAsync(w.a, w.context, 0, w.context, 64, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpy2D",
     .resultsRule = "MEMCPY2D-027",
     .earlierRule = "MEMCPY2D-028",
     .good =
         [](MemoryWorld& w) {
           const auto box = rows(w);
           return cuMemcpy2D(&box);
         },
     .bad = [](MemoryWorld&) { return cuMemcpy2D(nullptr); }},
    {.name = "cuMemcpy2DUnaligned",
     .resultsRule = "MEMCPY2DUNAL-028",
     .earlierRule = "MEMCPY2DUNAL-029",
     .good =
         [](MemoryWorld& w) {
           const auto box = rows(w);
           return cuMemcpy2DUnaligned(&box);
         },
     .bad = [](MemoryWorld&) { return cuMemcpy2DUnaligned(nullptr); }},
    {.name = "cuMemcpy2DAsync",
     .resultsRule = "MEMCPY2DASYNC-030",
     .earlierRule = "MEMCPY2DASYNC-031",
     .good =
         [](MemoryWorld& w) {
           const auto box = rows(w);
           return cuMemcpy2DAsync(&box, w.stream);
         },
     .bad = [](MemoryWorld& w) { return cuMemcpy2DAsync(nullptr, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpy3D",
     .resultsRule = "MEMCPY3D-025",
     .earlierRule = "MEMCPY3D-026",
     .good =
         [](MemoryWorld& w) {
           const auto box = slices<CUDA_MEMCPY3D>(w);
           return cuMemcpy3D(&box);
         },
     .bad = [](MemoryWorld&) { return cuMemcpy3D(nullptr); }},
    {.name = "cuMemcpy3DAsync",
     .resultsRule = "MEMCPY3DASYNC-027",
     .earlierRule = "MEMCPY3DASYNC-028",
     .good =
         [](MemoryWorld& w) {
           const auto box = slices<CUDA_MEMCPY3D>(w);
           return cuMemcpy3DAsync(&box, w.stream);
         },
     .bad = [](MemoryWorld& w) { return cuMemcpy3DAsync(nullptr, w.stream); },
     .needsContext = false},
    {.name = "cuMemcpy3DPeer",
     .resultsRule = "MEMCPY3DPEER-003",
     .earlierRule = "MEMCPY3DPEER-004",
     .good =
         [](MemoryWorld& w) {
           const auto box = peerSlices(w);
           return cuMemcpy3DPeer(&box);
         },
     .bad =
         [](MemoryWorld& w) {
           auto box = peerSlices(w);
           box.srcDevice = 0; /* the driver crashes on a null pointer */
           return cuMemcpy3DPeer(&box);
         }},
    {.name = "cuMemcpy3DPeerAsync",
     .resultsRule = "MEMCPY3DPEERASYNC-005",
     .earlierRule = "MEMCPY3DPEERASYNC-006",
     .good =
         [](MemoryWorld& w) {
           const auto box = peerSlices(w);
           return cuMemcpy3DPeerAsync(&box, w.stream);
         },
     .bad =
         [](MemoryWorld& w) {
           auto box = peerSlices(w);
           box.srcDevice = 0; /* the driver crashes on a null pointer */
           return cuMemcpy3DPeerAsync(&box, w.stream);
         },
     .needsContext = false},
    {.name = "cuMemsetD8",
     .resultsRule = "MEMSETD8-004",
     .earlierRule = "MEMSETD8-005",
     .good = [](MemoryWorld& w) { return cuMemsetD8(w.a, 1, 16); },
     .bad = [](MemoryWorld&) { return cuMemsetD8(0, 1, 16); }},
    {.name = "cuMemsetD8Async",
     .resultsRule = "MEMSETD8ASYNC-006",
     .earlierRule = "MEMSETD8ASYNC-007",
     .good = [](MemoryWorld& w) { return cuMemsetD8Async(w.a, 1, 16, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD8Async(0, 1, 16, w.stream); },
     .needsContext = false},
    {.name = "cuMemsetD16",
     .resultsRule = "MEMSETD16-005",
     .earlierRule = "MEMSETD16-006",
     .good = [](MemoryWorld& w) { return cuMemsetD16(w.a, 1, 16); },
     .bad = [](MemoryWorld&) { return cuMemsetD16(0, 1, 16); }},
    {.name = "cuMemsetD16Async",
     .resultsRule = "MEMSETD16ASYNC-007",
     .earlierRule = "MEMSETD16ASYNC-008",
     .good = [](MemoryWorld& w) { return cuMemsetD16Async(w.a, 1, 16, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD16Async(0, 1, 16, w.stream); },
     .needsContext = false},
    {.name = "cuMemsetD32",
     .resultsRule = "MEMSETD32-005",
     .earlierRule = "MEMSETD32-006",
     .good = [](MemoryWorld& w) { return cuMemsetD32(w.a, 1, 16); },
     .bad = [](MemoryWorld&) { return cuMemsetD32(0, 1, 16); }},
    {.name = "cuMemsetD32Async",
     .resultsRule = "MEMSETD32ASYNC-007",
     .earlierRule = "MEMSETD32ASYNC-008",
     .good = [](MemoryWorld& w) { return cuMemsetD32Async(w.a, 1, 16, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD32Async(0, 1, 16, w.stream); },
     .needsContext = false},
    {.name = "cuMemsetD2D8",
     .resultsRule = "MEMSETD2D8-007",
     .earlierRule = "MEMSETD2D8-008",
     .good = [](MemoryWorld& w) { return cuMemsetD2D8(w.a, 64, 1, 8, 4); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D8(w.a, 4, 1, 8, 4); }},
    {.name = "cuMemsetD2D8Async",
     .resultsRule = "MEMSETD2D8ASYNC-009",
     .earlierRule = "MEMSETD2D8ASYNC-010",
     .good = [](MemoryWorld& w) { return cuMemsetD2D8Async(w.a, 64, 1, 8, 4, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D8Async(w.a, 4, 1, 8, 4, w.stream); },
     .needsContext = false},
    {.name = "cuMemsetD2D16",
     .resultsRule = "MEMSETD2D16-008",
     .earlierRule = "MEMSETD2D16-009",
     .good = [](MemoryWorld& w) { return cuMemsetD2D16(w.a, 64, 1, 8, 4); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D16(w.a, 4, 1, 8, 4); }},
    {.name = "cuMemsetD2D16Async",
     .resultsRule = "MEMSETD2D16ASYNC-010",
     .earlierRule = "MEMSETD2D16ASYNC-011",
     .good = [](MemoryWorld& w) { return cuMemsetD2D16Async(w.a, 64, 1, 8, 4, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D16Async(w.a, 4, 1, 8, 4, w.stream); },
     .needsContext = false},
    {.name = "cuMemsetD2D32",
     .resultsRule = "MEMSETD2D32-008",
     .earlierRule = "MEMSETD2D32-009",
     .good = [](MemoryWorld& w) { return cuMemsetD2D32(w.a, 64, 1, 8, 4); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D32(w.a, 4, 1, 8, 4); }},
    {.name = "cuMemsetD2D32Async",
     .resultsRule = "MEMSETD2D32ASYNC-010",
     .earlierRule = "MEMSETD2D32ASYNC-011",
     .good = [](MemoryWorld& w) { return cuMemsetD2D32Async(w.a, 64, 1, 8, 4, w.stream); },
     .bad = [](MemoryWorld& w) { return cuMemsetD2D32Async(w.a, 4, 1, 8, 4, w.stream); },
     .needsContext = false},
};

}  // namespace suite
