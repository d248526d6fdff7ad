// The functions of CUDA's device runtime that kernels of real GPUs call; scripts/gpu-kernels makes
// launch_functions_code.inc of them. Each lays its arguments in a place of a ring in memory of the host and waits until
// a thread of the host has answered (kernel_requests.h). They are named after the rows of ptx/abi/device_runtime.inc,
// with vg in front.
#include <cstdint>

#include "backend/nvidia/functions/kernel_request.h"

using namespace vg::backend::nvidia;

namespace {

enum Function : uint32_t {
#define VG_DEVICE_CALL(name, ...) k##name,
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
};

struct Dim3 {
  uint32_t x, y, z;
};
struct Extent {
  uint64_t width, height, depth;
};
struct Pitched {
  uint64_t pointer, pitch, width, height;
};

}  // namespace

// Where the ring is, and the words of answers, one a place; written by the host.
extern "C" __device__ KernelRequest* vgRing = nullptr;
extern "C" __device__ const uint64_t* vgAnswers = nullptr;
// kParameterBuffers of them, and whether they are too small for a kernel: then the host is asked for each.
extern "C" __device__ ParameterBuffer* vgBuffers = nullptr;
extern "C" __device__ uint64_t vgBuffersAreSmall = 0;
// Read by the host before it uses any of this.
extern "C" __device__ uint64_t vgFingerprint = requestsFingerprint();

namespace {

// Requests so far, and how often each place has been left.
__device__ unsigned long long requests;
__device__ uint64_t turns[kRequestPlaces];

// Of words that the host writes, and of those that only threads of the GPU do.
struct Host {
  static __device__ uint64_t read(const uint64_t* from) {
    uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
  }
  // In any order.
  static __device__ void write(uint64_t* to, uint64_t first, uint64_t second) {
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
  }
};
struct Gpu {
  static __device__ uint64_t read(const uint64_t* from) {
    uint64_t value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
  }
  static __device__ void write(uint64_t* to, uint64_t value) {
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
};
// Until the lower half of a word has this value; the upper half.
template <class Writer>
__device__ uint32_t await(const uint64_t* word, uint64_t value) {
#pragma unroll 1
  for (int round = 0;; ++round) {
    const uint64_t seen = Writer::read(word);
    if (static_cast<uint32_t>(seen) == static_cast<uint32_t>(value)) return static_cast<uint32_t>(seen >> 32);
    if (round > 8) __nanosleep(200);
  }
}

__device__ uint64_t gridNumber() {
  uint64_t number;
  asm("mov.u64 %0, %%gridid;" : "=l"(number));
  return number;
}

// Not part of each function: they are long.
__device__ __noinline__ uint64_t takePlace() {
  const uint64_t number = atomicAdd(&requests, 1ull);
  await<Gpu>(&turns[number % kRequestPlaces], number / kRequestPlaces);
  return number;
}
__device__ __noinline__ void sendHead(uint64_t number, uint32_t function) {
  uint64_t* const asked = vgRing[number % kRequestPlaces].asked;
  const auto put = [&](int at, uint64_t first, uint64_t second) {
    Host::write(asked + at, numberedWord(number + 1, first), numberedWord(number + 1, second));
  };
  const uint64_t grid = gridNumber();
  const uint64_t block = blockIdx.x + uint64_t{gridDim.x} * (blockIdx.y + uint64_t{gridDim.y} * blockIdx.z);
  put(kFunction, function, threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  put(kGrid, grid, grid >> 32);
  put(kBlock, block, block >> 32);
}
__device__ __noinline__ uint32_t awaitAnswer(uint64_t number) {
  return await<Host>(&vgAnswers[number % kRequestPlaces], number + 1);
}

// What the thread wrote before, and saw, graphs that it launches see too: these run on this GPU. What else it asks, the
// host or an engine for copies may look at memory for.
__device__ void orderBefore(uint32_t function) {
  if (function == kGraphLaunch)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  else
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// A place of the ring while one thread has it.
class Request {
 public:
  __device__ explicit Request(uint32_t function)
      : function_(function), number_(takePlace()), place_(vgRing[number_ % kRequestPlaces]) {}
  __device__ ~Request() { Gpu::write(&turns[number_ % kRequestPlaces], number_ / kRequestPlaces + 1); }

  // One behind the other, as C would lay them out.
  template <class T>
  __device__ void put(const T& argument) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0);
    words_ = (words_ * sizeof(uint32_t) + alignof(T) - 1) / alignof(T) * alignof(T) / sizeof(uint32_t);
    const auto* const from = reinterpret_cast<const uint32_t*>(&argument);
#pragma unroll
    for (uint32_t i = 0; i < sizeof(T) / sizeof(uint32_t); ++i) arguments_[words_++] = from[i];
  }
  __device__ void putPointed(const uint64_t* from, int words) {
#pragma unroll 1
    for (int i = 0; i < words; ++i) place_.pointed[i] = from[i];
  }
  __device__ void putPointedBytes(uint64_t from, uint32_t bytes) {
#pragma unroll 1
    for (uint32_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      uint64_t word = 0;
#pragma unroll 1
      for (uint32_t i = 0; i < sizeof word && at + i < bytes; ++i)
        word |= uint64_t{*reinterpret_cast<const uint8_t*>(from + at + i)} << 8 * i;
      place_.pointed[at / sizeof word] = word;
    }
  }
  __device__ uint32_t answer() {
    orderBefore(function_);
    sendHead(number_, functionWord(function_, words_));
#pragma unroll
    for (uint32_t i = 0; i < kArgumentWords; i += 2)
      if (i < words_)
        Host::write(&place_.asked[kArguments + i], numberedWord(number_ + 1, arguments_[i]),
                    numberedWord(number_ + 1, arguments_[i + 1]));
    return awaitAnswer(number_);
  }
  // All 64 bits of it, once it is there.
  __device__ uint64_t result() const { return __ldcv(&place_.result); }
  __device__ void store(uint32_t* to) const {
    const uint32_t words = __ldcv(&place_.answerWords);
#pragma unroll 1
    for (uint32_t i = 0; i < words; ++i) to[i] = __ldcv(&place_.answer[i]);
  }

 private:
  const uint32_t function_;
  const uint64_t number_;
  KernelRequest& place_;
  uint32_t words_ = 0;
  uint32_t arguments_[kArgumentWords] = {};
};

template <class... Arguments>
__device__ uint32_t ask(Function function, Arguments... arguments) {
  Request request(function);
  (request.put(arguments), ...);
  return request.answer();
}
template <class... Arguments>
__device__ uint64_t askLong(Function function, Arguments... arguments) {
  Request request(function);
  (request.put(arguments), ...);
  request.answer();
  return request.result();
}
// Of functions whose first argument says where their answer goes.
template <class... Arguments>
__device__ uint32_t askFor(Function function, uint64_t to, Arguments... arguments) {
  Request request(function);
  request.put(to);
  (request.put(arguments), ...);
  const uint32_t error = request.answer();
  request.store(reinterpret_cast<uint32_t*>(to));
  return error;
}

// Whether any thread has been told of an error so far: until then none has a last one to ask for.
__device__ uint32_t anyError;

template <class Result>
__device__ Result told(Result error) {
  if (error) *const_cast<volatile uint32_t*>(&anyError) = 1;
  return error;
}
__device__ uint64_t toldBuffer(uint64_t buffer) {
  told(!buffer);
  return buffer;
}

// What is to be launched with a buffer of parameters.
struct Launch {
  uint64_t kernel;
  Dim3 grid, block;
  uint32_t shared;
};
__device__ Launch launches[kParameterBuffers];
__device__ uint32_t taken[kParameterBuffers / 32];  // a bit each

// The number of a buffer that nobody has; all ones when there is none.
__device__ uint32_t takeBuffer() {
  constexpr uint32_t kWords = kParameterBuffers / 32;
  const uint32_t start = threadIdx.x + blockIdx.x;
#pragma unroll 1
  for (uint32_t i = 0; i < kWords; ++i) {
    const uint32_t word = (start + i) % kWords;
    for (uint32_t seen = *const_cast<volatile uint32_t*>(&taken[word]); ~seen;) {
      const uint32_t bit = ~seen & (seen + 1);
      seen = atomicOr(&taken[word], bit);
      if (!(seen & bit)) return word * 32 + __ffs(bit) - 1;
    }
  }
  return ~0u;
}
__device__ void leaveBuffer(uint32_t number) {
  __threadfence();
  atomicAnd(&taken[number / 32], ~(1u << number % 32));
}

}  // namespace

#define VG_FUNCTION(name, parameters, how, ...) \
  extern "C" __device__ __noinline__ uint32_t vg##name parameters { return told(how(k##name, ##__VA_ARGS__)); }

VG_FUNCTION(DeviceGetAttribute, (uint64_t to, uint32_t which, uint32_t device), askFor, to, which, device)
VG_FUNCTION(DeviceGetLimit, (uint64_t to, uint32_t which), askFor, to, which)
VG_FUNCTION(DeviceGetCacheConfig, (uint64_t to), askFor, to)
VG_FUNCTION(DeviceGetSharedMemConfig, (uint64_t to), askFor, to)
VG_FUNCTION(GetDeviceCount, (uint64_t to), askFor, to)
VG_FUNCTION(GetDevice, (uint64_t to), askFor, to)
VG_FUNCTION(RuntimeGetVersion, (uint64_t to), askFor, to)
VG_FUNCTION(StreamCreateWithFlags, (uint64_t to, uint32_t flags), askFor, to, flags)
VG_FUNCTION(StreamDestroy, (uint64_t stream), ask, stream)
VG_FUNCTION(StreamWaitEvent, (uint64_t stream, uint64_t event, uint32_t flags), ask, stream, event, flags)
VG_FUNCTION(EventCreateWithFlags, (uint64_t to, uint32_t flags), askFor, to, flags)
VG_FUNCTION(EventRecord, (uint64_t event, uint64_t stream), ask, event, stream)
VG_FUNCTION(EventRecordWithFlags, (uint64_t event, uint64_t stream, uint32_t flags), ask, event, stream, flags)
VG_FUNCTION(EventDestroy, (uint64_t event), ask, event)
VG_FUNCTION(FuncGetAttributes, (uint64_t to, uint64_t kernel), askFor, to, kernel)
VG_FUNCTION(OccupancyMaxActiveBlocksPerMultiprocessor,
            (uint64_t to, uint64_t kernel, uint32_t threads, uint64_t shared), askFor, to, kernel, threads, shared)
VG_FUNCTION(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            (uint64_t to, uint64_t kernel, uint32_t threads, uint64_t shared, uint32_t flags), askFor, to, kernel,
            threads, shared, flags)
VG_FUNCTION(MemcpyAsync, (uint64_t to, uint64_t from, uint64_t bytes, uint32_t kind, uint64_t stream), ask, to, from,
            bytes, kind, stream)
VG_FUNCTION(Memcpy2DAsync,
            (uint64_t to, uint64_t toPitch, uint64_t from, uint64_t fromPitch, uint64_t width, uint64_t height,
             uint32_t kind, uint64_t stream),
            ask, to, toPitch, from, fromPitch, width, height, kind, stream)
VG_FUNCTION(MemsetAsync, (uint64_t to, uint32_t value, uint64_t bytes, uint64_t stream), ask, to, value, bytes, stream)
VG_FUNCTION(Memset2DAsync,
            (uint64_t to, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height, uint64_t stream), ask, to,
            pitch, value, width, height, stream)
VG_FUNCTION(Memset3DAsync, (Pitched to, uint32_t value, Extent extent, uint64_t stream), ask, to, value, extent, stream)
VG_FUNCTION(LaunchDevice,
            (uint64_t kernel, uint64_t parameters, Dim3 grid, Dim3 block, uint32_t shared, uint64_t stream), ask,
            kernel, parameters, grid, block, shared, stream)

VG_FUNCTION(GraphLaunch, (uint64_t exec, uint64_t stream), ask, exec, stream)
VG_FUNCTION(GraphKernelNodeSetEnabled, (uint64_t node, uint32_t on), ask, node, on)
VG_FUNCTION(GraphKernelNodeSetGridDim, (uint64_t node, Dim3 grid), ask, node, grid)

extern "C" __device__ __noinline__ uint64_t vgGetErrorString(uint32_t error) { return askLong(kGetErrorString, error); }
extern "C" __device__ __noinline__ uint64_t vgGetErrorName(uint32_t error) { return askLong(kGetErrorName, error); }
extern "C" __device__ __noinline__ uint32_t vgGetLastError() { return anyError ? ask(kGetLastError) : 0; }
extern "C" __device__ __noinline__ uint32_t vgPeekAtLastError() { return anyError ? ask(kPeekAtLastError) : 0; }
extern "C" __device__ __noinline__ uint64_t vgGetParameterBuffer(uint64_t alignment, uint64_t bytes) {
  return toldBuffer(askLong(kGetParameterBuffer, alignment, bytes));
}

// What is wrong with the launch is found when it is made.
extern "C" __device__ __noinline__ uint64_t vgGetParameterBufferV2(uint64_t kernel, Dim3 grid, Dim3 block,
                                                                   uint32_t shared) {
  const uint32_t number = vgBuffersAreSmall ? ~0u : takeBuffer();
  if (number == ~0u) return toldBuffer(askLong(kGetParameterBufferV2, kernel, grid, block, shared));
  launches[number] = {kernel, grid, block, shared};
  return reinterpret_cast<uint64_t>(&vgBuffers[number]);
}
extern "C" __device__ __noinline__ uint32_t vgLaunchDeviceV2(uint64_t parameters, uint64_t stream) {
  const uint64_t number = (parameters - reinterpret_cast<uint64_t>(vgBuffers)) / sizeof(ParameterBuffer);
  if (number >= kParameterBuffers) return told(ask(kLaunchDeviceV2, parameters, stream));
  const Launch launch = launches[number];
  const uint32_t error =
      ask(kLaunchDevice, launch.kernel, parameters, launch.grid, launch.block, launch.shared, stream);
  leaveBuffer(static_cast<uint32_t>(number));
  return told(error);
}

extern "C" __device__ __noinline__ uint32_t vgMemcpy3DAsync(uint64_t what, uint64_t stream) {
  Request request(kMemcpy3DAsync);
  request.put(what);
  request.put(stream);
  request.putPointed(reinterpret_cast<const uint64_t*>(what), kPointedWords);
  return told(request.answer());
}

constexpr uint32_t kInvalidValue = 1;

// In pieces, the last first: where that is inside the parameters, all are.
extern "C" __device__ __noinline__ uint32_t vgGraphKernelNodeSetParam(uint64_t node, uint64_t offset, uint64_t from,
                                                                      uint64_t bytes) {
  constexpr uint32_t kPiece = kPointedWords * sizeof(uint64_t);
  if (!from || offset + bytes < offset) return kInvalidValue;
  uint32_t error;
  do {
    const uint32_t piece = bytes ? static_cast<uint32_t>((bytes - 1) % kPiece) + 1 : 0;
    bytes -= piece;
    Request request(kGraphKernelNodeSetParam);
    request.put(node);
    request.put(offset + bytes);
    request.put(from + bytes);
    request.put(uint64_t{piece});
    request.putPointedBytes(from + bytes, piece);
    error = request.answer();
  } while (bytes && !error);
  return error;
}

namespace {

struct NodeUpdate {  // cudaGraphKernelNodeUpdate
  uint64_t node;
  uint32_t field;
  uint64_t value, offset, bytes;  // of a parameter
};
constexpr uint32_t kParam = 2;

__device__ uint32_t askOf(uint32_t function, const NodeUpdate& update) {
  Request request(function);
  request.put(&update);
  request.put(uint64_t{1});
  request.putPointed(&update.node, sizeof update / sizeof(uint64_t));
  return request.answer();
}
__device__ uint32_t apply(const NodeUpdate& update) {
  if (update.field == kParam) return vgGraphKernelNodeSetParam(update.node, update.offset, update.value, update.bytes);
  return askOf(kGraphKernelNodeUpdatesApply, update);
}

}  // namespace

extern "C" __device__ __noinline__ uint32_t vgGraphKernelNodeUpdatesApply(uint64_t updates, uint64_t count) {
  const auto* const all = reinterpret_cast<const NodeUpdate*>(updates);
  uint32_t error = all ? 0 : kInvalidValue;
#pragma unroll 1
  for (uint64_t i = 0; i < count && !error; ++i) error = askOf(kCheckUpdate, all[i]);
#pragma unroll 1
  for (uint64_t i = 0; i < count && !error; ++i) error = apply(all[i]);
  return error;
}

// The heap is malloc's. The host notes the error when there is none left.
extern "C" __device__ __noinline__ uint32_t vgMalloc(uint64_t to, uint64_t bytes) {
  if (void* const memory = bytes ? malloc(bytes) : nullptr) {
    *reinterpret_cast<void**>(to) = memory;
    return 0;
  }
  return told(ask(kMalloc, to, bytes));
}
extern "C" __device__ __noinline__ uint32_t vgFree(uint64_t memory) {
  free(reinterpret_cast<void*>(memory));
  return 0;
}

// In the place of what the vendor's device runtime asks of its driver, which nothing calls any more.
extern "C" __device__ __noinline__ void vgNobodyCalls() { __trap(); }

// Nobody launches it; it calls them all, so that it needs what they need.
extern "C" __global__ void vgKeep(uint64_t a, uint32_t b, Dim3 c, Pitched d, Extent e) {
  vgDeviceGetAttribute(a, b, b), vgDeviceGetLimit(a, b), vgDeviceGetCacheConfig(a), vgDeviceGetSharedMemConfig(a);
  vgGetLastError(), vgPeekAtLastError(), vgGetErrorString(b), vgGetErrorName(b), vgGetDeviceCount(a), vgGetDevice(a);
  vgRuntimeGetVersion(a), vgStreamCreateWithFlags(a, b), vgStreamDestroy(a), vgStreamWaitEvent(a, a, b);
  vgEventCreateWithFlags(a, b), vgEventRecord(a, a), vgEventRecordWithFlags(a, a, b), vgEventDestroy(a);
  vgFuncGetAttributes(a, a), vgOccupancyMaxActiveBlocksPerMultiprocessor(a, a, b, a);
  vgOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(a, a, b, a, b), vgMemcpyAsync(a, a, a, b, a);
  vgMemcpy2DAsync(a, a, a, a, a, a, b, a), vgMemsetAsync(a, b, a, a), vgMemset2DAsync(a, a, b, a, a, a);
  vgMemset3DAsync(d, b, e, a), vgGetParameterBuffer(a, a), vgGetParameterBufferV2(a, c, c, b);
  vgLaunchDevice(a, a, c, c, b, a), vgLaunchDeviceV2(a, a), vgMemcpy3DAsync(a, a), vgMalloc(a, a), vgFree(a);
  vgGraphLaunch(a, a), vgGraphKernelNodeSetParam(a, a, a, a), vgGraphKernelNodeSetEnabled(a, b);
  vgGraphKernelNodeSetGridDim(a, c), vgGraphKernelNodeUpdatesApply(a, a), vgNobodyCalls();
}
