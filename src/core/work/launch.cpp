#include "core/work/launch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "backend/device.h"
#include "base/round.h"
#include "base/settings.h"
#include "core/contexts/context.h"
#include "core/contexts/green_context.h"
#include "core/modules/kernel.h"
#include "core/process/device.h"
#include "core/streams/capture_sink.h"
#include "core/streams/event.h"
#include "core/work/event_work.h"

namespace vg::core {
namespace {

constexpr size_t kParametersAlignment = 256;
constexpr size_t kSmallParameters = 1024;  // bytes; records of at most these are kept for reuse
constexpr unsigned kKept = 64;

// A record and its parameters in one piece.
struct alignas(kParametersAlignment) OwnRecord : backend::LaunchRecord {
  std::byte* parameterBytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Small records that were used before. A record is made on one thread and released on another, which is what general
// allocators are slow at. Who gives one back need not look at it, and those who take and those who give share lines of
// the cache once in kKept records.
class RecordPool {
 public:
  OwnRecord* take(size_t bytes) {
    if (bytes > kSmallParameters) return make(roundUp(bytes, kParametersAlignment), freeRecord);
    if (OwnRecord* const record = takeKept()) return record;
    return make(kSmallParameters, giveBack);
  }

 private:
  using Release = void (*)(backend::LaunchRecord*);
  static OwnRecord* make(size_t parameterBytes, Release release) {
    void* const memory = std::aligned_alloc(kParametersAlignment, sizeof(OwnRecord) + parameterBytes);
    if (!memory) throw std::bad_alloc();
    auto* const record = new (memory) OwnRecord;
    record->parameters = record->parameterBytes();
    record->release = release;
    return record;
  }
  static void freeRecord(backend::LaunchRecord* record) { std::free(record); }
  static void giveBack(backend::LaunchRecord* record);

  void give(OwnRecord* record) {
    if (given_.lock()) {
      const bool kept = given_.count < kKept;
      if (kept) given_.records[given_.count++] = record;
      given_.unlock();
      if (kept) return;
    }
    freeRecord(record);
  }

  struct alignas(64) Kept {
    // Fails rather than waits: then the general allocator serves.
    bool lock() { return !held.exchange(true, std::memory_order_acquire); }
    void unlock() { held.store(false, std::memory_order_release); }

    std::atomic<bool> held{false};
    unsigned count = 0;
    std::array<OwnRecord*, kKept> records{};
  };

  OwnRecord* takeKept() {
    if (!ready_.lock()) return nullptr;
    if (!ready_.count && given_.lock()) {
      std::copy_n(given_.records.begin(), given_.count, ready_.records.begin());
      ready_.count = std::exchange(given_.count, 0);
      given_.unlock();
    }
    OwnRecord* const record = ready_.count ? ready_.records[--ready_.count] : nullptr;
    ready_.unlock();
    return record;
  }

  Kept ready_, given_;
};
constinit RecordPool records;

void RecordPool::giveBack(backend::LaunchRecord* record) { records.give(static_cast<OwnRecord*>(record)); }

struct Buffer {
  const void* pointer = nullptr;
  size_t size = 0;
};

Result<Buffer> readExtra(void** extra) {
  Buffer buffer;
  bool sized = false;
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer.pointer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1]) {
      buffer.size = *static_cast<const size_t*>(extra[i + 1]);
      sized = true;
    } else {
      return fail(CUDA_ERROR_INVALID_VALUE, "extra[%d] is %p", i, extra[i]);
    }
  }
  if (!sized || (buffer.size && !buffer.pointer))
    return fail(CUDA_ERROR_INVALID_VALUE, "extra names no parameter buffer with its size");
  return buffer;
}

// The blocks of a cooperative grid that is launched in a green context must all fit on its multiprocessors.
CUresult checkPart(const GreenContext& green, backend::Kernel& kernel, const backend::LaunchShape& shape) {
  const uint32_t(&block)[3] = shape.block;
  VG_TRY(const int each, kernel.occupancy(static_cast<int>(block[0] * block[1] * block[2]), shape.dynamicShared));
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  if (blocks <= uint64_t{green.multiprocessors().count()} * static_cast<unsigned>(each)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "%llu blocks, of which %zu multiprocessors hold %d each",
              static_cast<unsigned long long>(blocks), green.multiprocessors().count(), each);
}

// Copies the arguments to `out`, kernel.parameterBytes() bytes in the layout of the parameter buffer.
CUresult copyArguments(const backend::Kernel& kernel, const LaunchArguments& arguments, std::byte* out) {
  const char* const name = kernel.name().c_str();
  if (arguments.values && arguments.extra)
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: both kernelParams and extra are given", name);
  if (arguments.extra) {
    VG_TRY(const Buffer buffer, readExtra(arguments.extra));
    // As recorded from the driver, a longer buffer is an error and a shorter one is none: what it lacks is zero.
    if (buffer.size > kernel.parameterBytes())
      return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "kernel %s: %zu bytes of parameters, not %zu", name, buffer.size,
                  static_cast<size_t>(kernel.parameterBytes()));
    if (buffer.size) std::memcpy(out, buffer.pointer, buffer.size);
    std::memset(out + buffer.size, 0, kernel.parameterBytes() - buffer.size);
    return CUDA_SUCCESS;
  }
  const std::vector<backend::Kernel::Parameter>& parameters = kernel.parameters();
  if (parameters.empty()) return CUDA_SUCCESS;
  if (!arguments.values)
    return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: %zu parameters and no arguments", name, parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!arguments.values[i]) return fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: argument %zu is null", name, i);
    std::memcpy(out + parameters[i].offset, arguments.values[i], parameters[i].size);
  }
  return CUDA_SUCCESS;
}

}  // namespace

backend::LaunchShape shapeFor(const backend::Kernel& kernel, const backend::LaunchShape& asked) {
  const uint32_t(&block)[3] = asked.block;
  if (block[0] != 1 || block[1] != 1 || block[2] != 1) [[likely]]
    return asked;
  const std::array<uint32_t, 3> required = kernel.requiredThreads();
  if (!required[0]) return asked;
  backend::LaunchShape shape = asked;
  for (size_t i = 0; i < required.size(); ++i) shape.block[i] = std::max(required[i], 1u);
  return shape;
}

namespace work {
namespace {

// Makes the shape whole and has the kernel check it.
CUresult prepareShape(backend::Kernel& kernel, const LaunchAttributes* attributes, const Device& device,
                      backend::LaunchShape& shape) {
  shape = shapeFor(kernel, shape);
  VG_CHECK(kernel.prepare(shape));
  return attributes ? attributes->checkClusters(device) : CUDA_SUCCESS;
}

// The event behind the launch, as the vendor's driver takes it in a stream that captures or not.
CUresult checkEvent(const LaunchAttributes* attributes, bool captured) {
  if (!attributes || !attributes->event()) [[likely]]
    return CUDA_SUCCESS;
  VG_TRY(Event & event, events::find(attributes->event()));
  const int flags = attributes->eventFlags();
  if (flags && !captured) return fail(CUDA_ERROR_ILLEGAL_STATE, "event flags %#x outside of captures", flags);
  if (flags || event.timing()) return unsupported("an event of a launch that keeps the time, or with flags");
  return CUDA_SUCCESS;
}

// What a captured launch takes from its stream where it says nothing itself.
CUresult inherit(LaunchAttributes& attributes, const Stream& stream) {
  for (const CUlaunchAttributeID id : {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                       CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN}) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    VG_CHECK(streams::attribute(stream, id, &attribute.value));
    VG_CHECK(attributes.inherit(attribute, stream.context().device()));
  }
  attributes.spreadClusters();
  return CUDA_SUCCESS;
}

// What the attributes name to be recorded behind the launch.
CUresult recordEvent(Stream& stream, const LaunchAttributes* attributes) {
  if (!attributes || !attributes->event()) [[likely]]
    return CUDA_SUCCESS;
  VG_TRY(Event & event, events::find(attributes->event()));
  return stream.give(Record{event.handle()});
}

// A cooperative launch may say so by its shape alone (cuLaunchCooperativeKernel).
CUresult attributesOf(const LaunchCall& call, const Device& device, LaunchAttributes& attributes) {
  if (call.attributes) attributes = *call.attributes;
  if (!call.shape.cooperative || attributes.cooperative()) return CUDA_SUCCESS;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attributes.set(attribute, device, LaunchAttributes::Way::Launch);
}

// As a node knows it: without what the attributes say.
backend::LaunchShape plain(const backend::LaunchShape& shape) {
  backend::LaunchShape plain;
  std::copy(std::begin(shape.grid), std::end(shape.grid), plain.grid);
  std::copy(std::begin(shape.block), std::end(shape.block), plain.block);
  plain.dynamicShared = shape.dynamicShared;
  return plain;
}

}  // namespace

CUresult checkUpdatable(const CUlaunchAttributeValue& value) {
  const int on = value.deviceUpdatableKernelNode.deviceUpdatable;
  return on == 0 || on == 1 ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "deviceUpdatable is %d", on);
}

Result<LaunchCall> callOf(const CUlaunchConfig& config, const Device& device, LaunchAttributes& attributes) {
  LaunchCall call;
  call.shape = {{config.gridDimX, config.gridDimY, config.gridDimZ},
                {config.blockDimX, config.blockDimY, config.blockDimZ},
                {1, 1, 1},
                config.sharedMemBytes};
  if (config.numAttrs && !config.attrs)
    return fail(CUDA_ERROR_INVALID_VALUE, "%u launch attributes, and no array of them", config.numAttrs);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    VG_CHECK(attributes.set(config.attrs[i], device, LaunchAttributes::Way::Launch));
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) call.updatable = &config.attrs[i].value;
  }
  call.shape = attributes.shaped(call.shape);
  call.attributes = &attributes;
  return call;
}

Result<PreparedLaunch> prepare(const Launch& launch) {
  Context& context = *launch.context.context;
  PreparedLaunch prepared{nullptr, launch.wholeShape()};
  VG_TRY(prepared.kernel, resolveKernel(launch.callee(), context));
  VG_CHECK(prepareShape(*prepared.kernel, &launch.attributes, context.device(), prepared.shape));
  return prepared;
}

Result<Launch> describe(Context& context, const LaunchCall& call) {
  Launch launch;
  launch.function = call.function;
  launch.shape = plain(call.shape);
  launch.context = referenceTo(context);
  VG_CHECK(attributesOf(call, context.device(), launch.attributes));
  VG_TRY(const PreparedLaunch prepared, prepare(launch));
  launch.arguments.resize(prepared.kernel->parameterBytes());
  VG_CHECK(copyArguments(*prepared.kernel, call.arguments, launch.arguments.data()));
  return launch;
}

Result<Work> keep(Stream& stream, const LaunchCall& call) {
  Context& context = stream.context();
  VG_CHECK(capture::ready(stream));
  VG_CHECK(resolveKernel(call.function, context));  // what is no kernel leaves the capture alone
  VG_CHECK(checkEvent(call.attributes, true));
  if (call.updatable) VG_CHECK(checkUpdatable(*call.updatable));
  Result<Launch> launch = describe(context, call);
  const CUresult result = launch.ok() ? inherit(launch->attributes, stream) : launch.error();
  if (result != CUDA_SUCCESS) {
    capture::spoil(stream);
    return result;
  }
  launch->updatable = call.updatable;
  return Work(std::move(*launch));
}

CUresult perform(Stream& stream, const LaunchCall& call, Form) {
  Context& context = stream.context();
  VG_TRY(backend::Kernel* const kernel, resolveKernel(call.function, context));
  VG_CHECK(checkEvent(call.attributes, false));
  if (kernel->calls().launchesGraphs) [[unlikely]]
    return unsupported("kernel %s, which launches graphs, outside of a graph", kernel->name().c_str());
  backend::LaunchShape shape = call.shape;
  VG_CHECK(prepareShape(*kernel, call.attributes, context.device(), shape));
  if (call.updatable) return unsupported("an attribute of nodes, in a launch that is not captured");
  if (shape.cooperative && stream.set().green) VG_CHECK(checkPart(*stream.set().green, *kernel, shape));
  OwnRecord* const record = records.take(kernel->parameterBytes());
  if (const CUresult bad = copyArguments(*kernel, call.arguments, record->parameterBytes())) {
    record->release(record);
    return bad;
  }
  record->kernel = kernel;
  record->shape = shape;
  context.device().backend().flushOutput();
  VG_CHECK(stream.launch(record));
  return recordEvent(stream, call.attributes);
}

}  // namespace work
}  // namespace vg::core
