#include "core/work/copy.h"

#include <atomic>
#include <cstdlib>
#include <memory>

#include "arrays/pages.h"
#include "base/raw_enum.h"
#include "copy/copy.h"
#include "core/arrays/array.h"
#include "core/arrays/array_storage.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/process/device.h"
#include "core/streams/capture_sink.h"
#include "core/work/host_fault.h"
#include "core/work/when.h"

namespace vg::core::memory {
namespace {

// What is known of the memory of one side; null: pageable.
using Known = const alloc::Record*;

Result<Known> find(Place place, size_t bytes, Access access) {
  return place.space == Space::Device ? deviceRecord(place.address, bytes, access)
                                      : unifiedRecord(reinterpret_cast<const void*>(place.address), bytes, access);
}

bool isDevice(Known record) {
  if (!record) return false;
  return onDevice(*record);
}

bool isDeviceLike(Known record) {
  return isDevice(record) || (record && record->kind.load(std::memory_order_relaxed) == alloc::Kind::Managed);
}

CUresult refuseDormant(Known destination, Known source) {
  if (!dormant(destination) && !dormant(source)) [[likely]]
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "memory of a graph that has not allocated it");
}

// A synchronous call inside device memory returns at once when it would have to wait for earlier work, as the vendor's
// driver does. On an idle stream the caller runs large work itself: handing it over costs more than a few MiB take.
Completion completionInDevice(const Stream& stream, size_t bytes) {
  return !when::within(when::kCopy, bytes) && stream.idle() ? Completion::Host : Completion::Async;
}

Completion completionOfCopy(const Stream& stream, Known destination, Known source, size_t bytes, Form form) {
  if (form == Form::Synchronous) {
    const bool mayReturn =
        isDevice(destination) && isDevice(source) && !wantsSynchrony(destination) && !wantsSynchrony(source);
    return mayReturn ? completionInDevice(stream, bytes) : Completion::Host;
  }
  // Between two host buffers, pinned or not, the call returns when the copy is done.
  const bool touchesDevice = isDeviceLike(destination) || isDeviceLike(source);
  return destination && source && touchesDevice ? Completion::Async : Completion::Host;
}

Completion completionOfFill(const Stream& stream, Known destination, size_t bytes, Form form) {
  if (form == Form::Asynchronous) return Completion::Async;
  return isDevice(destination) && !wantsSynchrony(destination) ? completionInDevice(stream, bytes) : Completion::Host;
}

copy::Shape linearShape(uintptr_t destination, uintptr_t source, size_t bytes, bool locked) {
  return {{reinterpret_cast<std::byte*>(destination), bytes, bytes},
          {reinterpret_cast<std::byte*>(source), bytes, bytes},
          bytes,
          1,
          1,
          locked};
}

constinit std::atomic<size_t> stagedNow{0};

struct alignas(64) Staged {
  size_t bytes;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  static void end(void* self) {
    stagedNow.fetch_sub(static_cast<Staged*>(self)->bytes, std::memory_order_relaxed);
    std::free(self);
  }
};

// Null: there is no room, the call has to wait.
Result<Staged*> stage(const copy::Shape& shape) {
  const size_t bytes = shape.bytes();
  if (stagedNow.fetch_add(bytes, std::memory_order_relaxed) + bytes > when::kStagedTogether) {
    stagedNow.fetch_sub(bytes, std::memory_order_relaxed);
    return static_cast<Staged*>(nullptr);
  }
  auto* const staged =
      static_cast<Staged*>(std::aligned_alloc(alignof(Staged), (sizeof(Staged) + bytes + 63) & ~size_t{63}));
  if (!staged) {
    stagedNow.fetch_sub(bytes, std::memory_order_relaxed);
    return static_cast<Staged*>(nullptr);
  }
  staged->bytes = bytes;
  if (copy::copy({{staged->data(), shape.width, shape.width * shape.height},
                  shape.source,
                  shape.width,
                  shape.height,
                  shape.depth}))
    return staged;
  Staged::end(staged);
  return HostFault::refusal();
}

bool wantsStaging(const Stream& stream, Known destination, Known source, size_t bytes, Form form) {
  return form == Form::Asynchronous && !source && isDeviceLike(destination) && when::within(when::kStaged, bytes) &&
         !stream.idle();
}

// Runs the copy from a copy of its source; when there is no room, as any other.
CUresult copyStaged(Stream& stream, const copy::Shape& shape, Completion otherwise) {
  VG_TRY(Staged* const staged, stage(shape));
  if (!staged) return stream.copy(shape, otherwise);
  copy::Shape later = shape;
  later.source = {staged->data(), shape.width, shape.width * shape.height};
  later.locked = true;
  const backend::Command commands[] = {backend::CopyCommand{later, &stream.context()},
                                       backend::HostCall{Staged::end, staged}};
  const CUresult submitted = stream.submit(commands, 2);
  if (submitted != CUDA_SUCCESS) Staged::end(staged);
  return submitted;
}

}  // namespace

namespace {

CUresult runRow(Stream& stream, Place destination, Place source, size_t bytes, Form form) {
  if (!bytes) return CUDA_SUCCESS;
  VG_TRY(const Known to, find(destination, bytes, Access::Write));
  VG_TRY(const Known from, find(source, bytes, Access::Read));
  VG_CHECK(refuseDormant(to, from));
  const Completion completion = completionOfCopy(stream, to, from, bytes, form);
  const copy::Shape shape = linearShape(destination.address, source.address, bytes, to && from);
  if (wantsStaging(stream, to, from, bytes, form)) return copyStaged(stream, shape, completion);
  return stream.copy(shape, completion);
}

// One side of a two- or three-dimensional copy, as the caller gave it.
struct BoxSide {
  const char* name;
  size_t x, y, z;  // x in bytes
  int type;        // CUmemorytype
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t lod;            // of arrays only
  size_t pitch, height;  // 0: as tight as the box allows
};

struct Extent {
  size_t width, height, depth;
};

Result<Place> placeOf(const BoxSide& side) {
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      return Place::host(side.host);
    case CU_MEMORYTYPE_DEVICE:
      return Place::device(side.device);
    case CU_MEMORYTYPE_UNIFIED:
      return Place::unified(side.device);
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "%s memory type %d", side.name, side.type);
}

// The vendor's driver knows no largest pitch for copies, whatever its manual says.
CUresult checkPitch(const BoxSide& side, const Extent& extent) {
  if (side.pitch && (extent.width > side.pitch || side.x > side.pitch - extent.width))
    return fail(CUDA_ERROR_INVALID_VALUE, "%s pitch %zu is less than x %zu + width %zu", side.name, side.pitch, side.x,
                extent.width);
  if (side.height && (extent.height > side.height || side.y > side.height - extent.height))
    return fail(CUDA_ERROR_INVALID_VALUE, "%s height %zu is less than y %zu + height %zu", side.name, side.height,
                side.y, extent.height);
  return CUDA_SUCCESS;
}

// value = a * b + c
bool multiplyAdd(size_t a, size_t b, size_t c, size_t* value) {
  return !__builtin_mul_overflow(a, b, value) && !__builtin_add_overflow(*value, c, value);
}

// A side that was checked: where its box lies.
struct ResolvedSide {
  copy::Side side;
  Known record;
  std::shared_ptr<arrays::Pages> pages = nullptr;  // of an array whose memory the application maps
  const arrays::Level* level = nullptr;
  bool mustBeMapped = false;
};

Result<ResolvedSide> resolveMemory(const BoxSide& side, const Extent& extent, Access access) {
  VG_TRY(Place place, placeOf(side));
  VG_CHECK(checkPitch(side, extent));
  size_t pitch = 0, height = 0, slice, rows, start, end;
  const bool tight = multiplyAdd(1, side.x, extent.width, &pitch) && multiplyAdd(1, side.y, extent.height, &height);
  if (side.pitch) pitch = side.pitch;
  if (side.height) height = side.height;
  const bool fits = tight && multiplyAdd(pitch, height, 0, &slice) && multiplyAdd(side.z, height, side.y, &rows) &&
                    multiplyAdd(rows, pitch, side.x, &start) &&
                    multiplyAdd(extent.depth - 1, slice, extent.width, &end) &&
                    multiplyAdd(extent.height - 1, pitch, end, &end) && start + end >= start &&
                    place.address + start >= place.address;
  if (!fits)
    return fail(CUDA_ERROR_INVALID_VALUE, "%s box of %zux%zux%zu at pitch %zu is larger than memory", side.name,
                extent.width, extent.height, extent.depth, pitch);
  place.address += start;
  VG_TRY(Known record, find(place, end, access));
  return ResolvedSide{{reinterpret_cast<std::byte*>(place.address), pitch, slice}, record};
}

// Stands for the memory of arrays that the application maps: some device's.
constinit alloc::Record pagedRecord{.kind = alloc::Kind::Array};

bool inside(size_t start, size_t count, size_t end) { return count <= end && start <= end - count; }

// Rows of compressed formats are rows of blocks; layers are slices.
CUresult checkInside(const BoxSide& side, const Extent& extent, const Array& array) {
  const arrays::Level& level = array.level;
  if (!inside(side.x, extent.width, level.rowBytes) || !inside(side.y, extent.height, level.rows) ||
      !inside(side.z, extent.depth, level.slices))
    return fail(CUDA_ERROR_INVALID_VALUE, "%s box of %zux%zux%zu at %zu, %zu, %zu leaves the array of %zux%zux%zu",
                side.name, extent.width, extent.height, extent.depth, side.x, side.y, side.z, level.rowBytes,
                level.rows, level.slices);
  // Plain elements may be cut, as the vendor's driver does it; blocks may not.
  if (array.unit.edge > 1 && (side.x % array.unit.bytes || extent.width % array.unit.bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "%s x %zu or width %zu cuts blocks of %u bytes", side.name, side.x,
                extent.width, array.unit.bytes);
  return CUDA_SUCCESS;
}

Result<ResolvedSide> resolveArray(const BoxSide& side, const Extent& extent) {
  if (!side.array || side.lod) return fail(CUDA_ERROR_INVALID_VALUE, "%s array is null or its LOD not 0", side.name);
  VG_TRY(const Array& array, findArray(side.array));
  VG_CHECK(checkInside(side, extent, array));
  if (array.base && array.level.tiling)
    return ResolvedSide{copy::Side::tiled(array.base + array.level.offset, *array.level.tiling, side.x, side.y, side.z),
                        array.record};
  if (array.base) {
    std::byte* start = array.base + array.level.span(side.x, side.y, side.z).offset;
    return ResolvedSide{{start, array.level.rowPitch, array.level.slicePitch}, array.record};
  }
  const std::shared_ptr<ArrayStorage> storage = storageOf(array);
  if (!storage) return fail(CUDA_ERROR_INVALID_HANDLE, "the array is destroyed meanwhile");
  return ResolvedSide{{}, &pagedRecord, {storage, storage->pages.get()}, &array.level, storage->deferred()};
}

Result<ResolvedSide> resolve(const BoxSide& side, const Extent& extent, Access access) {
  return side.type == CU_MEMORYTYPE_ARRAY ? resolveArray(side, extent) : resolveMemory(side, extent, access);
}

arrays::PagedSide pagedSide(const ResolvedSide& resolved, const BoxSide& asked) {
  if (!resolved.pages) return {nullptr, {}, 0, 0, 0, resolved.side};
  return {resolved.pages, *resolved.level, asked.x, asked.y, asked.z, {}};
}

Result<DescribedCopy> describe(const BoxSide& destination, const BoxSide& source, const Extent& extent) {
  if (!extent.width || !extent.height || !extent.depth) return DescribedCopy{};
  VG_TRY(ResolvedSide to, resolve(destination, extent, Access::Write));
  VG_TRY(ResolvedSide from, resolve(source, extent, Access::Read));
  const bool locked = to.record && from.record;
  DescribedCopy copy{{to.side, from.side, extent.width, extent.height, extent.depth, locked}, to.record, from.record};
  if (to.pages || from.pages)
    copy.paged = std::make_shared<const arrays::PagedCopy>(pagedSide(to, destination), pagedSide(from, source),
                                                           extent.width, extent.height, extent.depth);
  copy.mustBeMapped = to.mustBeMapped || from.mustBeMapped;
  return copy;
}

}  // namespace

Result<DescribedCopy> describe(const CUDA_MEMCPY3D& box) {
  const BoxSide destination{"destination", box.dstXInBytes, box.dstY,     box.dstZ,   rawValue(box.dstMemoryType),
                            box.dstHost,   box.dstDevice,   box.dstArray, box.dstLOD, box.dstPitch,
                            box.dstHeight};
  const BoxSide source{"source",     box.srcXInBytes, box.srcY,     box.srcZ,   rawValue(box.srcMemoryType),
                       box.srcHost,  box.srcDevice,   box.srcArray, box.srcLOD, box.srcPitch,
                       box.srcHeight};
  return describe(destination, source, {box.WidthInBytes, box.Height, box.Depth});
}

namespace {

// Memory that the application maps is looked up when the copy runs: mappings change in stream order.
CUresult queuePaged(Stream& stream, const DescribedCopy& copy, Completion completion) {
  struct Later {
    DescribedCopy copy;
    backend::FaultSink& faults;
    static void run(void* data) { runPaged(static_cast<Later*>(data)->copy, static_cast<Later*>(data)->faults); }
    static void runAndEnd(void* data) {
      const std::unique_ptr<Later> own(static_cast<Later*>(data));
      run(data);
    }
  };
  if (completion == Completion::Host) {
    HostFault fault(stream.context());
    Later work{copy, copy.shape.locked ? stream.context() : static_cast<backend::FaultSink&>(fault)};
    VG_CHECK(stream.submit(backend::HostCall{Later::run, &work}, completion));
    return fault.state();
  }
  auto work = std::make_unique<Later>(Later{copy, stream.context()});
  VG_CHECK(stream.submit(backend::HostCall{Later::runAndEnd, work.get()}, completion));
  (void)work.release();
  return CUDA_SUCCESS;
}

CUresult run(Stream& stream, const Result<DescribedCopy>& described, Form form) {
  if (!described.ok()) return described.error();
  const DescribedCopy& copy = described.value();
  const size_t bytes = copy.shape.bytes();
  if (!bytes) return CUDA_SUCCESS;
  VG_CHECK(refuseDormant(copy.destination, copy.source));
  const Completion completion = completionOfCopy(stream, copy.destination, copy.source, bytes, form);
  if (copy.paged) [[unlikely]]
    return queuePaged(stream, copy, completion);
  if (wantsStaging(stream, copy.destination, copy.source, bytes, form))
    return copyStaged(stream, copy.shape, completion);
  return stream.copy(copy.shape, completion);
}

}  // namespace

void runPaged(const DescribedCopy& copy, backend::FaultSink& faults) {
  const arrays::Paging paging = arrays::copyPaged(*copy.paged);
  if (paging.faulted) faults.report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  if (!paging.complete && copy.mustBeMapped)
    faults.report(CUDA_ERROR_LAUNCH_FAILED, "a copy touches an array of deferred mapping where nothing is mapped");
}

Result<DescribedFill> describe(const Device& device, const CUDA_MEMSET_NODE_PARAMS_v2& rows, Addresses addresses) {
  const auto& [destination, givenPitch, value, elementSize, width, height, context] = rows;
  size_t pitch = givenPitch;
  if (!width || !height) return DescribedFill{};
  size_t rowBytes, bytes;
  if (__builtin_mul_overflow(width, elementSize, &rowBytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu elements of %u bytes", width, elementSize);
  if (height == 1) pitch = rowBytes;
  const auto largestPitch = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH));
  if (destination % elementSize || pitch % elementSize)
    return fail(CUDA_ERROR_INVALID_VALUE, "address %#llx or pitch %zu is not a multiple of %u", destination, pitch,
                elementSize);
  if (height > 1 && (pitch < rowBytes || pitch > largestPitch))
    return fail(CUDA_ERROR_INVALID_VALUE, "pitch %zu for rows of %zu bytes", pitch, rowBytes);
  if (!multiplyAdd(height - 1, pitch, rowBytes, &bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu rows at pitch %zu", height, pitch);
  if (addresses == Addresses::Any) return DescribedFill{};
  VG_TRY(const Known record, deviceRecord(destination, bytes, Access::Write));
  return DescribedFill{{reinterpret_cast<std::byte*>(destination), pitch, rowBytes, height, value, elementSize},
                       record};
}

namespace {

CUresult runFill(Stream& stream, const CUDA_MEMSET_NODE_PARAMS_v2& rows, Form form) {
  VG_TRY(const DescribedFill described, memory::describe(stream.context().device(), rows));
  const size_t bytes = described.fill.width * described.fill.height;
  if (!bytes) return CUDA_SUCCESS;
  VG_CHECK(refuseDormant(described.destination, nullptr));
  return stream.fill(described.fill, completionOfFill(stream, described.destination, bytes, form));
}

}  // namespace
}  // namespace vg::core::memory

namespace vg::core::work {
namespace {

using memory::ArrayPlace;
using memory::Place;
using memory::Space;

CUmemorytype typeOf(Space space) {
  switch (space) {
    case Space::Host:
      return CU_MEMORYTYPE_HOST;
    case Space::Device:
      return CU_MEMORYTYPE_DEVICE;
    case Space::Unified:
      break;
  }
  return CU_MEMORYTYPE_UNIFIED;
}

void putSource(CUDA_MEMCPY3D& box, Place place) {
  box.srcMemoryType = typeOf(place.space);
  if (place.space == Space::Host)
    box.srcHost = reinterpret_cast<const void*>(place.address);
  else
    box.srcDevice = place.address;
}
void putSource(CUDA_MEMCPY3D& box, ArrayPlace place) {
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.srcArray = place.array;
  box.srcXInBytes = place.offset;
}
void putDestination(CUDA_MEMCPY3D& box, Place place) {
  box.dstMemoryType = typeOf(place.space);
  if (place.space == Space::Host)
    box.dstHost = reinterpret_cast<void*>(place.address);
  else
    box.dstDevice = place.address;
}
void putDestination(CUDA_MEMCPY3D& box, ArrayPlace place) {
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstArray = place.array;
  box.dstXInBytes = place.offset;
}

template <class To, class From>
Copy rowOf(To destination, From source, size_t bytes) {
  Copy copy;
  putDestination(copy.box, destination);
  putSource(copy.box, source);
  copy.box.WidthInBytes = bytes;
  copy.box.Height = copy.box.Depth = 1;
  return copy;
}

// What the structures have in common. Every member is named: to clear the whole first takes longer than a small copy.
template <class Box>
Copy flatOf(const Box& given) {
  return {{.srcXInBytes = given.srcXInBytes,
           .srcY = given.srcY,
           .srcZ = 0,
           .srcLOD = 0,
           .srcMemoryType = given.srcMemoryType,
           .srcHost = given.srcHost,
           .srcDevice = given.srcDevice,
           .srcArray = given.srcArray,
           .reserved0 = nullptr,
           .srcPitch = given.srcPitch,
           .srcHeight = 0,
           .dstXInBytes = given.dstXInBytes,
           .dstY = given.dstY,
           .dstZ = 0,
           .dstLOD = 0,
           .dstMemoryType = given.dstMemoryType,
           .dstHost = given.dstHost,
           .dstDevice = given.dstDevice,
           .dstArray = given.dstArray,
           .reserved1 = nullptr,
           .dstPitch = given.dstPitch,
           .dstHeight = 0,
           .WidthInBytes = given.WidthInBytes,
           .Height = given.Height,
           .Depth = 1},
          {}};
}

}  // namespace

Copy copyOf(const Row& row) { return rowOf(row.destination, row.source, row.bytes); }
Copy copyOf(Place destination, ArrayPlace source, size_t bytes) { return rowOf(destination, source, bytes); }
Copy copyOf(ArrayPlace destination, Place source, size_t bytes) { return rowOf(destination, source, bytes); }
Copy copyOf(ArrayPlace destination, ArrayPlace source, size_t bytes) { return rowOf(destination, source, bytes); }
Copy rowOf(const CopyBatch& batch, size_t i) {
  return rowOf(Place::unified(batch.destinations[i]), Place::unified(batch.sources[i]), batch.sizes[i]);
}
Copy copyOf(const CUDA_MEMCPY2D& box) { return flatOf(box); }
Copy copyOf(const CUDA_MEMCPY3D& box) { return {box, {}}; }

Copy copyOf(const CUDA_MEMCPY3D_PEER& given) {
  Copy copy = flatOf(given);
  copy.box.srcZ = given.srcZ;
  copy.box.srcLOD = given.srcLOD;
  copy.box.srcHeight = given.srcHeight;
  copy.box.dstZ = given.dstZ;
  copy.box.dstLOD = given.dstLOD;
  copy.box.dstHeight = given.dstHeight;
  copy.box.Depth = given.Depth;
  return copy;
}

Result<Work> keep(Stream& stream, const Row& row) { return keep(stream, copyOf(row)); }

Result<Work> keep(Stream& stream, const Copy& copy) {
  VG_CHECK(capture::ready(stream));
  VG_CHECK(memory::describe(copy.box));
  return Work(Copy{copy.box, referenceTo(stream.context())});
}

Result<Work> keep(Stream& stream, const Fill& fill) {
  VG_CHECK(capture::ready(stream));
  Context& context = stream.context();
  VG_CHECK(memory::describe(context.device(), fill.rows, memory::Addresses::Any));
  Fill kept{fill.rows, referenceTo(context)};
  kept.rows.ctx = context.handle();
  return Work(kept);
}

CUresult perform(Stream& stream, const Row& row, Form form) {
  return memory::runRow(stream, row.destination, row.source, row.bytes, form);
}

CUresult perform(Stream& stream, const Copy& copy, Form form) {
  return memory::run(stream, memory::describe(copy.box), form);
}

CUresult perform(Stream& stream, const Fill& fill, Form form) { return memory::runFill(stream, fill.rows, form); }

}  // namespace vg::core::work
