#include "shortage/subject.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kCount = 1024, kBytes = kCount * sizeof(uint32_t), kLarge = size_t{4} << 20;

// out[i] += i for i < n; sum of the block's threads behind a barrier; text; memory of the kernel's heap; a launch.
constexpr char kPtx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .u32 counter;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
    ".reg .b64 %a<3>; .reg .b32 %r<6>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3; setp.ge.u32 %p, %r1, %r0; @%p ret;\n"
    "mul.wide.u32 %a1, %r1, 4; add.u64 %a1, %a0, %a1; ld.global.u32 %r4, [%a1]; add.u32 %r4, %r4, %r1;\n"
    "st.global.u32 [%a1], %r4; ret; }\n"
    ".visible .entry turn(.param .u64 p) {\n"
    ".reg .b64 %a<4>; .reg .b32 %r<6>; .shared .align 4 .b8 s[1024];\n"
    "ld.param.u64 %a0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2;\n"
    "st.shared.u32 [%r3], %r0; bar.sync 0; xor.b32 %r4, %r2, 1020; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4];\n"
    "cvt.u64.u32 %a1, %r2; add.u64 %a1, %a0, %a1; st.global.u32 [%a1], %r5; ret; }\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".global .align 1 .b8 text[2] = {32, 0};\n"
    ".visible .entry talk(.param .u64 p) {\n"
    ".reg .b64 %a<6>; .reg .b32 %r<3>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [p]; mov.u64 %a1, text; mov.u64 %a2, 0;\n"
    "{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %a1; st.param.b64 [v], %a2;\n"
    "call (r), vprintf, (f, v); }\n"
    "{ .param .b64 n; .param .b64 r; mov.u64 %a3, 64; st.param.b64 [n], %a3; call (r), malloc, (n);\n"
    "ld.param.b64 %a4, [r]; }\n"
    "setp.ne.u64 %p, %a4, 0; selp.u32 %r0, 1, 2, %p; st.global.u32 [%a0], %r0;\n"
    "{ .param .b64 p; st.param.b64 [p], %a4; call free, (p); } ret; }\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param "
    ".align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    ".visible .entry count(.param .u64 p) { .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p];\n"
    "atom.global.add.u32 %r, [%a], 1; ret; }\n"
    // Answers in [p + 4] whether the launch was taken.
    ".visible .entry parent(.param .u64 p) {\n"
    ".reg .b64 %a<4>; .reg .b32 %r<3>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [p]; mov.b64 %a1, count; mov.u32 %r1, 1;\n"
    "{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 m; .param .b64 r;\n"
    "st.param.b64 [f], %a1; st.param.b32 [g], 3; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [b], 5;\n"
    "st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [m], 0;\n"
    "call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, m); ld.param.b64 %a2, [r]; }\n"
    "setp.eq.u64 %p, %a2, 0; @%p bra DONE; st.u64 [%a2], %a0;\n"
    "{ .param .b64 q; .param .b64 s; .param .b32 e; st.param.b64 [q], %a2; st.param.b64 [s], 0;\n"
    "call (e), __cudaCDP2LaunchDeviceV2, (q, s); ld.param.b32 %r1, [e]; }\n"
    "DONE: st.global.u32 [%a0+4], %r1; ret; }\n";

bool verbose() {
  static const bool value = std::getenv("SHORTAGE_VERBOSE") != nullptr;
  return value;
}

// A part at work.
struct Work {
  explicit Work(Tally& all) : tally(all) {
    if (!ok(cuInit(0), __LINE__) || !ok(cuDeviceGet(&device, 0), __LINE__)) return;
    retained = ok(cuDevicePrimaryCtxRetain(&context, device), __LINE__);
    ready = retained && ok(cuCtxSetCurrent(context), __LINE__) && ok(cuStreamCreate(&stream, 1), __LINE__) &&
            ok(cuMemAlloc(&memory, kBytes), __LINE__) && ok(cuMemAlloc(&large, kLarge), __LINE__);
  }
  ~Work() {
    if (stream) ok(cuStreamDestroy(stream), __LINE__);
    if (memory) ok(cuMemFree(memory), __LINE__);
    if (large) ok(cuMemFree(large), __LINE__);
    if (retained) ok(cuDevicePrimaryCtxRelease(device), __LINE__);
  }
  bool ok(CUresult result, int line) {
    ++tally.calls;
    if (result == CUDA_SUCCESS) return true;
    ++tally.failed;
    const char* name = "?";
    if (verbose()) cuGetErrorName(result, &name), std::printf("line %d: %s\n", line, name);
    return false;
  }
  void expect(bool right, int line) {
    if (right) return;
    ++tally.wrong;
    if (verbose()) std::printf("line %d: WRONG\n", line);
  }
  // Whether the first words of `memory` are as `wanted` says, if they can be read.
  template <class Wanted>
  void expectWords(size_t count, Wanted wanted, int line) {
    static uint32_t words[kCount];
    if (!ok(cuMemcpyDtoH(words, memory, count * 4), line)) return;
    for (size_t i = 0; i < count; ++i)
      if (words[i] != wanted(i)) return expect(false, line);
  }
  bool fill(uint32_t value) { return ok(cuMemsetD32(memory, value, kCount), __LINE__); }

  Tally& tally;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0, large = 0;
  bool retained = false, ready = false;
};
#define OK(call) work.ok(call, __LINE__)
#define EXPECT(what) work.expect(what, __LINE__)

void addOne(void* number) { ++*static_cast<int*>(number); }

void contexts(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUcontext own = nullptr;
  if (OK(cuCtxCreate(&own, nullptr, 0, work.device))) {
    CUdeviceptr there = 0;
    if (OK(cuMemAlloc(&there, kBytes))) OK(cuMemFree(there));
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(own));
  }
  OK(cuCtxSetCurrent(work.context));
  CUdevResource all{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  if (OK(cuDeviceGetDevResource(work.device, &all, CU_DEV_RESOURCE_TYPE_SM)) &&
      OK(cuDevResourceGenerateDesc(&description, &all, 1)) &&
      OK(cuGreenCtxCreate(&green, description, work.device, CU_GREEN_CTX_DEFAULT_STREAM))) {
    if (OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0))) {
      OK(cuMemsetD32Async(work.memory, 5, kCount, stream));
      OK(cuStreamSynchronize(stream));
      OK(cuStreamDestroy(stream));
    }
    OK(cuGreenCtxDestroy(green));
  }
}

void copies(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  static uint32_t from[kCount];
  for (uint32_t i = 0; i < kCount; ++i) from[i] = i * 3;
  if (OK(cuMemcpyHtoD(work.memory, from, kBytes)))
    work.expectWords(
        kCount, [](size_t i) { return i * 3; }, __LINE__);
  if (work.fill(7))
    work.expectWords(
        kCount, [](size_t) { return 7u; }, __LINE__);
  OK(cuMemsetD8(work.large, 3, kLarge));
  const bool filled = OK(cuMemsetD32Async(work.large, 9, kLarge / 4, work.stream));
  const bool copied = OK(cuMemcpyDtoDAsync(work.memory, work.large + kBytes, kBytes, work.stream));
  if (OK(cuStreamSynchronize(work.stream)) && filled && copied)
    work.expectWords(
        kCount, [](size_t) { return 9u; }, __LINE__);
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = from;
  box.srcPitch = 128;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = work.memory;
  box.dstPitch = 64;
  box.WidthInBytes = 64;
  box.Height = 20;
  if (OK(cuMemcpy2D(&box)))
    work.expectWords(
        16 * 20, [](size_t i) { return static_cast<uint32_t>((i / 16 * 32 + i % 16) * 3); }, __LINE__);
}

void hostMemory(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  void* pinned = nullptr;
  if (OK(cuMemHostAlloc(&pinned, kBytes, CU_MEMHOSTALLOC_PORTABLE))) {
    std::memset(pinned, 1, kBytes);
    const bool copied = OK(cuMemcpyHtoDAsync(work.memory, pinned, kBytes, work.stream));
    if (OK(cuStreamSynchronize(work.stream)) && copied)
      work.expectWords(
          kCount, [](size_t) { return 0x01010101u; }, __LINE__);
    OK(cuMemFreeHost(pinned));
  }
  alignas(4096) static char own[1 << 16];
  if (OK(cuMemHostRegister(own, sizeof own, 0))) OK(cuMemHostUnregister(own));
  CUdeviceptr managed = 0;
  if (OK(cuMemAllocManaged(&managed, 1 << 16, CU_MEM_ATTACH_GLOBAL))) {
    const bool filled = OK(cuMemsetD8(managed, 6, 1 << 16));
    if (OK(cuCtxSynchronize()) && filled) EXPECT(*reinterpret_cast<uint8_t*>(managed + 77) == 6);
    OK(cuMemFree(managed));
  }
}

void streamsAndEvents(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUstream other = nullptr;
  CUevent event = nullptr, timed = nullptr;
  int called = 0;
  OK(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -2));
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&timed, CU_EVENT_DEFAULT));
  if (other && event) {
    bool well = OK(cuMemsetD8Async(work.large, 1, kLarge, other));
    well = OK(cuMemsetD32Async(work.memory, 2, kCount, other)) && well;
    const bool recorded = OK(cuEventRecord(event, other));
    const bool waits = OK(cuStreamWaitEvent(work.stream, event, 0));
    const bool last = OK(cuMemsetD32Async(work.memory, 4, kCount, work.stream));
    if (OK(cuStreamSynchronize(work.stream)) && well && recorded && waits && last)
      work.expectWords(
          kCount, [](size_t) { return 4u; }, __LINE__);
    OK(cuEventSynchronize(event));
  }
  const bool taken = OK(cuLaunchHostFunc(work.stream, addOne, &called));
  if (timed) OK(cuEventRecord(timed, work.stream));
  if (OK(cuStreamSynchronize(work.stream))) EXPECT(called == taken);
  if (timed) OK(cuEventSynchronize(timed));
  OK(cuMemsetD8Async(work.large, 1, kLarge, CU_STREAM_LEGACY));
  OK(cuMemsetD8Async(work.large, 2, kLarge, CU_STREAM_PER_THREAD));
  for (int round = 0; round < 40; ++round) OK(cuMemsetD8Async(work.large, 2, kLarge / 16, work.stream));
  if (OK(cuStreamWriteValue32(work.stream, work.memory, 11, 0)))
    OK(cuStreamWaitValue32(work.stream, work.memory, 11, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cuCtxSynchronize());
  if (other) OK(cuStreamDestroy(other));
  if (event) OK(cuEventDestroy(event));
  if (timed) OK(cuEventDestroy(timed));
}

void pools(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  if (OK(cuMemPoolCreate(&pool, &properties))) {
    if (OK(cuMemAllocFromPoolAsync(&memory, kLarge, pool, work.stream))) {
      const bool filled = OK(cuMemsetD8Async(memory, 3, kLarge, work.stream));
      const bool copied = OK(cuMemcpyDtoDAsync(work.memory, memory + 8192, kBytes, work.stream));
      OK(cuMemFreeAsync(memory, work.stream));
      if (OK(cuStreamSynchronize(work.stream)) && filled && copied)
        work.expectWords(
            kCount, [](size_t) { return 0x03030303u; }, __LINE__);
    }
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolDestroy(pool));
  }
  for (int round = 0; round < 3; ++round)
    if (OK(cuMemAllocAsync(&memory, 100000, work.stream))) OK(cuMemFreeAsync(memory, work.stream));
  OK(cuStreamSynchronize(work.stream));
}

void virtualMemory(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t each = 0;
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle physical = 0;
  if (!OK(cuMemGetAllocationGranularity(&each, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM))) return;
  if (!OK(cuMemAddressReserve(&address, 2 * each, 0, 0, 0))) return;
  if (OK(cuMemCreate(&physical, each, &properties, 0))) {
    if (OK(cuMemMap(address, each, 0, physical, 0))) {
      const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      if (OK(cuMemSetAccess(address, each, &access, 1)) && OK(cuMemsetD32(address, 5, kCount)) &&
          OK(cuMemcpyDtoD(work.memory, address, kBytes)))
        work.expectWords(
            kCount, [](size_t) { return 5u; }, __LINE__);
      OK(cuMemUnmap(address, each));
    }
    OK(cuMemRelease(physical));
  }
  OK(cuMemAddressFree(address, 2 * each));
}

void arrays(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUDA_ARRAY3D_DESCRIPTOR description{};
  description.Width = 64;
  description.Height = 64;
  description.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  description.NumChannels = 1;
  description.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUarray array = nullptr, level = nullptr;
  CUmipmappedArray mipmapped = nullptr;
  if (OK(cuArray3DCreate(&array, &description))) {
    CUDA_MEMCPY2D box{};
    box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = work.memory;
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = array;
    box.WidthInBytes = 256;
    box.Height = 16;
    box.srcPitch = 256;
    const bool there = work.fill(8) && OK(cuMemcpy2D(&box));
    static uint32_t back[64];
    if (there && OK(cuMemcpyAtoH(back, array, 0, sizeof back))) EXPECT(back[63] == 8);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC how{};
    how.flags = CU_TRSF_READ_AS_INTEGER;
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    if (OK(cuTexObjectCreate(&texture, &resource, &how, nullptr))) OK(cuTexObjectDestroy(texture));
    if (OK(cuSurfObjectCreate(&surface, &resource))) OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
  }
  if (OK(cuMipmappedArrayCreate(&mipmapped, &description, 3))) {
    OK(cuMipmappedArrayGetLevel(&level, mipmapped, 1));
    OK(cuMipmappedArrayDestroy(mipmapped));
  }
}

void sharing(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUipcMemHandle memory;
  OK(cuIpcGetMemHandle(&memory, work.memory));
  CUevent event = nullptr;
  if (OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))) {
    CUipcEventHandle handle;
    OK(cuIpcGetEventHandle(&handle, event));
    OK(cuMemsetD8Async(work.large, 1, kLarge, work.stream));
    const bool recorded = OK(cuEventRecord(event, work.stream));
    if (recorded) OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(work.stream));
    OK(cuEventDestroy(event));
  }
}

void graphs(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUgraph graph = nullptr, captured = nullptr, clone = nullptr;
  CUgraphNode first = nullptr, second = nullptr, host = nullptr, child = nullptr, event = nullptr;
  CUevent recorded = nullptr;
  CUgraphExec exec = nullptr;
  int called = 0;
  OK(cuEventCreate(&recorded, CU_EVENT_DEFAULT));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = work.memory;
  fill.elementSize = 4;
  fill.value = 1;
  fill.width = kCount;
  fill.height = 1;
  const CUDA_HOST_NODE_PARAMS call{addOne, &called};
  if (OK(cuGraphCreate(&graph, 0))) {
    bool whole = OK(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, work.context));
    fill.value = 2;
    whole = whole && OK(cuGraphAddMemsetNode(&second, graph, &first, 1, &fill, work.context));
    whole = whole && OK(cuGraphAddHostNode(&host, graph, &second, 1, &call));
    if (recorded) OK(cuGraphAddEventRecordNode(&event, graph, nullptr, 0, recorded));
    if (OK(cuGraphClone(&clone, graph))) OK(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, clone));
    if (whole && OK(cuGraphInstantiate(&exec, graph, 0))) {
      int launches = 0;
      for (int round = 0; round < 3; ++round) launches += OK(cuGraphLaunch(exec, work.stream));
      if (OK(cuStreamSynchronize(work.stream)) && launches) {
        EXPECT(called == launches * (child ? 2 : 1));
        work.expectWords(
            kCount, [](size_t) { return 2u; }, __LINE__);
      }
      if (recorded && launches) OK(cuEventSynchronize(recorded));
      OK(cuGraphExecDestroy(exec));
    }
    if (clone) OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(graph));
  }
  if (OK(cuStreamBeginCapture(work.stream, CU_STREAM_CAPTURE_MODE_RELAXED))) {
    const bool filled = OK(cuMemsetD32Async(work.memory, 6, kCount, work.stream));
    CUdeviceptr own = 0;
    if (OK(cuMemAllocAsync(&own, kBytes, work.stream))) OK(cuMemFreeAsync(own, work.stream));
    if (OK(cuStreamEndCapture(work.stream, &captured)) && captured) {
      if (OK(cuGraphInstantiate(&exec, captured, 0))) {
        const bool launched = OK(cuGraphLaunch(exec, work.stream));
        if (OK(cuStreamSynchronize(work.stream)) && filled && launched)
          work.expectWords(
              kCount, [](size_t) { return 6u; }, __LINE__);
        OK(cuGraphExecDestroy(exec));
      }
      OK(cuGraphDestroy(captured));
    }
  }
  CUuserObject object = nullptr;
  if (OK(cuUserObjectCreate(&object, &called, addOne, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
    OK(cuUserObjectRelease(object, 1));
  if (recorded) OK(cuEventDestroy(recorded));
}

struct Kernels {
  explicit Kernels(Work& w) : work(w) {
    if (work.ready && OK(cuModuleLoadData(&module, kPtx))) loaded = true;
  }
  ~Kernels() {
    if (loaded) OK(cuModuleUnload(module));
  }
  template <class... Values>
  bool launch(const char* name, unsigned blocks, unsigned threads, Values... values) {
    CUfunction function = nullptr;
    void* parameters[] = {&values...};
    return loaded && OK(cuModuleGetFunction(&function, module, name)) &&
           OK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, work.stream, parameters, nullptr));
  }
  bool wait() { return OK(cuStreamSynchronize(work.stream)); }

  Work& work;
  CUmodule module = nullptr;
  bool loaded = false;
};

void launches(Tally& tally) {
  Work work(tally);
  Kernels kernels(work);
  if (!kernels.loaded || !work.fill(0)) return;
  uint32_t times = 0;
  for (int round = 0; round < 3; ++round) times += kernels.launch("add", 8, 128, work.memory, uint32_t{1000});
  if (kernels.wait() && times)
    work.expectWords(
        kCount, [&](size_t i) { return i < 1000 ? static_cast<uint32_t>(i) * times : 0; }, __LINE__);
  if (kernels.launch("turn", 1, 256, work.memory) && kernels.wait())
    work.expectWords(
        256, [](size_t i) { return static_cast<uint32_t>(255 - i); }, __LINE__);
  const bool large = kernels.launch("add", 4096, 256, work.large, uint32_t{kLarge / 4});
  if (large) kernels.wait();
}

void kernelServices(Tally& tally) {
  Work work(tally);
  Kernels kernels(work);
  if (!kernels.loaded || !work.fill(0)) return;
  if (kernels.launch("talk", 1, 1, work.memory) && kernels.wait()) {
    uint32_t said = 0;
    if (OK(cuMemcpyDtoH(&said, work.memory, 4))) EXPECT(said == 1 || said == 2);
  }
  if (work.fill(0) && kernels.launch("parent", 1, 1, work.memory) && kernels.wait()) {
    uint32_t words[2] = {};
    if (OK(cuMemcpyDtoH(words, work.memory, 8))) EXPECT(words[0] == (words[1] ? 0 : 15));
  }
}

void images(Tally& tally) {
  Work work(tally);
  if (!work.ready) return;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  int value = 0;
  if (OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0))) {
    if (OK(cuLibraryGetKernel(&kernel, library, "add")) && OK(cuKernelGetFunction(&function, kernel))) {
      OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
      OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 128, 0));
    }
    OK(cuLibraryUnload(library));
  }
  CUlinkState link = nullptr;
  void* cubin = nullptr;
  size_t bytes = 0;
  if (OK(cuLinkCreate(0, nullptr, nullptr, &link))) {
    CUmodule module = nullptr;
    if (OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), sizeof kPtx, "ptx", 0, nullptr, nullptr)) &&
        OK(cuLinkComplete(link, &cubin, &bytes)) && OK(cuModuleLoadData(&module, cubin))) {
      CUdeviceptr counter = 0;
      OK(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
      OK(cuModuleUnload(module));
    }
    OK(cuLinkDestroy(link));
  }
}

void kernelGraphs(Tally& tally) {
  Work work(tally);
  Kernels kernels(work);
  if (!kernels.loaded || !work.fill(0)) return;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  if (!OK(cuStreamBeginCapture(work.stream, CU_STREAM_CAPTURE_MODE_RELAXED))) return;
  const bool one = kernels.launch("add", 8, 128, work.memory, uint32_t{1000});
  const bool two = kernels.launch("add", 8, 128, work.memory, uint32_t{1000});
  if (!OK(cuStreamEndCapture(work.stream, &graph)) || !graph) return;
  if (OK(cuGraphInstantiate(&exec, graph, 0))) {
    const bool launched = OK(cuGraphLaunch(exec, work.stream));
    if (OK(cuStreamSynchronize(work.stream)) && launched)
      work.expectWords(
          kCount, [&](size_t i) { return i < 1000 ? static_cast<uint32_t>(i) * (one + two) : 0; }, __LINE__);
    OK(cuGraphExecDestroy(exec));
  }
  OK(cuGraphDestroy(graph));
}

}  // namespace

const Part kParts[] = {
    {"contexts", contexts, false},
    {"copies", copies, false},
    {"host_memory", hostMemory, false},
    {"streams", streamsAndEvents, false},
    {"pools", pools, false},
    {"virtual_memory", virtualMemory, false},
    {"arrays", arrays, false},
    {"sharing", sharing, false},
    {"graphs", graphs, false},
    {"launches", launches, true},
    {"kernel_services", kernelServices, true},
    {"images", images, true},
    {"kernel_graphs", kernelGraphs, true},
};
const int kPartCount = sizeof kParts / sizeof *kParts;
