#include "core/work/copy_batch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/memory/safe_read.h"
#include "base/raw_enum.h"
#include "copy/copy.h"
#include "core/arrays/array.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/work/copy.h"
#include "core/work/host_fault.h"
#include "core/work/when.h"

namespace vg::core::memory {
namespace {

using Known = const alloc::Record*;  // null: pageable

// Where memory should be copied to or from: advice, and all memory of emulated devices is in one place.
CUresult checkHint(const CUmemLocation& hint) {
  const int type = rawValue(hint.type);
  const int last = offers(13040) ? CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN : CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  if (type < CU_MEM_LOCATION_TYPE_INVALID || type > last)
    return fail(CUDA_ERROR_INVALID_VALUE, "location hint of type %d", type);
  if (type == CU_MEM_LOCATION_TYPE_DEVICE && !findDevice(hint.id))
    return fail(CUDA_ERROR_INVALID_VALUE, "location hint: device %d", hint.id);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult checkAttributes(const CUmemcpyAttributes& attributes) {
  const int order = rawValue(attributes.srcAccessOrder);
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
    return fail(CUDA_ERROR_INVALID_VALUE, "source access order %d", order);
  if (attributes.flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE})
    return fail(CUDA_ERROR_INVALID_VALUE, "copy flags %#x", attributes.flags);
  VG_CHECK(checkHint(attributes.srcLocHint));
  return checkHint(attributes.dstLocHint);
}

namespace {

CUresult checkStarts(const LinearBatch& batch) {
  if (!batch.count || !batch.destinations || !batch.sources || !batch.sizes)
    return fail(CUDA_ERROR_INVALID_VALUE, "a batch of %zu copies, or an array of it is null", batch.count);
  if (!batch.attributeCount || batch.attributeCount > batch.count || !batch.attributes || !batch.starts)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu attributes for %zu copies", batch.attributeCount, batch.count);
  if (batch.starts[0]) return fail(CUDA_ERROR_INVALID_VALUE, "the first attribute begins at copy %zu", batch.starts[0]);
  for (size_t k = 1; k < batch.attributeCount; ++k)
    if (batch.starts[k] <= batch.starts[k - 1] || batch.starts[k] >= batch.count)
      return fail(CUDA_ERROR_INVALID_VALUE, "attribute %zu begins at copy %zu of %zu", k, batch.starts[k], batch.count);
  return CUDA_SUCCESS;
}

// What the copies of a batch have in common, found while they are checked.
struct Survey {
  size_t copies = 0;  // that were found to be right, from the first on
  size_t bytes = 0;   // of those
  size_t staged = 0;  // bytes that have to be read before the call returns, from pageable memory
  bool mustWait = false;
};

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

// Pageable memory is touched on the calling thread or later on one of ours: an address where nothing is should be an
// error, not a crash. One system call asks for many places; pages that were there before are not asked for again, so
// what the application unmaps under a batch crashes as it would under memcpy.
class Reachable {
 public:
  CUresult add(CUdeviceptr address, size_t bytes) {
    for (const CUdeviceptr end : {address, address + bytes - 1}) {
      if (seen(end).load(std::memory_order_relaxed) == end / kPage) continue;
      places_[used_++] = {const_cast<void*>(pointer(end)), 1};
      if (used_ == kPlaces) VG_CHECK(check());
    }
    return CUDA_SUCCESS;
  }
  CUresult check() {
    char bytes[kPlaces];
    if (used_ && safe_read::gather(bytes, places_, used_) != used_)
      return fail(CUDA_ERROR_INVALID_VALUE, "a batch names host memory that is not there");
    for (; used_; --used_) {
      const auto place = reinterpret_cast<uintptr_t>(places_[used_ - 1].iov_base);
      seen(place).store(place / kPage, std::memory_order_relaxed);
    }
    return CUDA_SUCCESS;
  }

 private:
  static constexpr size_t kPlaces = 64, kPage = 4096, kSeen = 4096;
  static std::atomic<uintptr_t>& seen(uintptr_t address) { return pages[address / kPage % kSeen]; }

  static constinit std::atomic<uintptr_t> pages[kSeen];
  iovec places_[kPlaces];
  size_t used_ = 0;
};
constinit std::atomic<uintptr_t> Reachable::pages[kSeen]{};

// As the vendor's driver orders the reads: a pageable source is read when the stream gets there, and the call waits for
// that, unless the order says otherwise; then it is put aside. Other memory is read in the stream's order, and the call
// waits if it has to be read during the call.
void surveyOrder(Survey& survey, Known from, int order, size_t bytes) {
  const bool duringCall = order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  if (from) {
    survey.mustWait |= duringCall;
  } else if (order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) {
    survey.mustWait = true;
  } else {
    survey.staged += bytes;
  }
}

CUresult surveyCopy(const LinearBatch& batch, size_t i, int order, Survey& survey, Reachable& reachable) {
  const size_t bytes = batch.sizes[i];
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "copy %zu of a batch has no bytes", i);
  VG_TRY(const Known to, unifiedRecord(pointer(batch.destinations[i]), bytes, Access::Write));
  VG_TRY(const Known from, unifiedRecord(pointer(batch.sources[i]), bytes));
  if (!to) [[unlikely]]
    VG_CHECK(reachable.add(batch.destinations[i], bytes));
  if (!from) [[unlikely]]
    VG_CHECK(reachable.add(batch.sources[i], bytes));
  survey.bytes += bytes;
  survey.mustWait |= wantsSynchrony(to) || wantsSynchrony(from);
  surveyOrder(survey, from, order, bytes);
  ++survey.copies;
  return CUDA_SUCCESS;
}

// Calls visit(copy, order) for each copy until it fails.
template <class Visit>
CUresult forEach(const LinearBatch& batch, size_t copies, Visit visit) {
  size_t i = 0;
  for (size_t k = 0; k < batch.attributeCount && i < copies; ++k) {
    const int order = rawValue(batch.attributes[k].srcAccessOrder);
    const size_t end = std::min(copies, k + 1 < batch.attributeCount ? batch.starts[k + 1] : batch.count);
    for (; i < end; ++i) VG_CHECK(visit(i, order));
  }
  return CUDA_SUCCESS;
}

CUresult surveyBatch(const LinearBatch& batch, Survey& survey) {
  Reachable reachable;
  const CUresult result =
      forEach(batch, batch.count, [&](size_t i, int order) { return surveyCopy(batch, i, order, survey, reachable); });
  if (const CUresult unreachable = reachable.check()) {
    survey = {};
    return unreachable;
  }
  return result;
}

copy::Shape shapeOf(CUdeviceptr destination, const void* source, size_t bytes, bool locked) {
  return {{reinterpret_cast<std::byte*>(destination), bytes, bytes},
          {static_cast<std::byte*>(const_cast<void*>(source)), bytes, bytes},
          bytes,
          1,
          1,
          locked};
}

// The first copies of the batch as commands. Sources that have to be read now are put at `staged`, one after the other.
Result<std::vector<backend::Command>> commandsOf(const LinearBatch& batch, size_t copies, std::byte* staged,
                                                 backend::FaultSink& faults) {
  std::vector<backend::Command> commands;
  commands.reserve(copies + 1);
  VG_CHECK(forEach(batch, copies, [&](size_t i, int order) {
    const size_t bytes = batch.sizes[i];
    const void* source = pointer(batch.sources[i]);
    bool locked = !pageable(source);
    if (staged && order != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && !locked) {
      if (!copy::copyBytes(staged, source, bytes)) return HostFault::refusal();
      source = staged;
      staged += bytes;
      locked = true;
    }
    locked = locked && !pageable(pointer(batch.destinations[i]));
    commands.push_back(backend::CopyCommand{shapeOf(batch.destinations[i], source, bytes, locked), &faults});
    return CUDA_SUCCESS;
  }));
  return commands;
}

// Gives the stream commands after which `staged` (may be null) is freed.
CUresult submit(Stream& stream, std::vector<backend::Command> commands, std::byte* staged, bool wait) {
  if (staged) commands.push_back(backend::HostCall{[](void* data) { std::free(data); }, staged});
  return stream.submit(commands.data(), commands.size(), wait ? Completion::Host : Completion::Async);
}

CUresult enqueue(Stream& stream, const LinearBatch& batch, const Survey& survey) {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> staged;
  if (survey.staged && !survey.mustWait) {
    staged.reset(static_cast<std::byte*>(std::malloc(survey.staged)));
    if (!staged) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory to stage %zu bytes", survey.staged);
  }
  HostFault fault(stream.context());
  backend::FaultSink& faults = survey.mustWait ? static_cast<backend::FaultSink&>(fault) : stream.context();
  VG_TRY(std::vector<backend::Command> commands, commandsOf(batch, survey.copies, staged.get(), faults));
  VG_CHECK(submit(stream, std::move(commands), staged.get(), survey.mustWait));
  (void)staged.release();  // the last command frees it
  return fault.state();
}

// The likely copy first; what faults there is looked at again.
bool copyNow(const LinearBatch& batch, size_t i) {
  const void* const source = pointer(batch.sources[i]);
  const CUdeviceptr destination = batch.destinations[i];
  if (copy::copyBytes(reinterpret_cast<void*>(destination), source, batch.sizes[i])) [[likely]]
    return true;
  return copy::copy(shapeOf(destination, source, batch.sizes[i], !pageable(source) && !pageable(pointer(destination))));
}

CUresult run(Stream& stream, const LinearBatch& batch, const Survey& survey) {
  if (!survey.copies) return CUDA_SUCCESS;
  bool copied = true;
  const auto copyAll = [&] {
    for (size_t i = 0; i < survey.copies; ++i) copied &= copyNow(batch, i);
  };
  if (when::within(when::kBatch, survey.bytes, survey.copies) && stream.runInPlace(copyAll))
    return copied ? CUDA_SUCCESS : HostFault::refusal();
  return enqueue(stream, batch, survey);
}

}  // namespace

CUresult checkBatchStream(const Stream& stream) {
  if (stream.captured()) return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a batch of copies cannot be captured");
  if (stream.kind() == Stream::Kind::Legacy)
    return fail(CUDA_ERROR_INVALID_VALUE, "a batch of copies in the legacy stream");
  return stream.context().state();
}

CUresult checkBatch(const LinearBatch& batch) {
  VG_CHECK(checkStarts(batch));
  for (size_t k = 0; k < batch.attributeCount; ++k) VG_CHECK(checkAttributes(batch.attributes[k]));
  return CUDA_SUCCESS;
}

CUresult copyBatch(Stream& stream, const LinearBatch& batch, size_t& culprit) {
  culprit = kWholeBatch;
  VG_CHECK(checkBatch(batch));
  Survey survey;
  const CUresult surveyed = surveyBatch(batch, survey);
  if (surveyed != CUDA_SUCCESS && survey.bytes) culprit = survey.copies;
  const CUresult result = run(stream, batch, survey);
  return surveyed != CUDA_SUCCESS ? surveyed : result;
}

namespace {

// An operand of a box in the words of CUDA_MEMCPY3D, whose x and pitch count bytes.
struct Operand {
  int type;
  CUdeviceptr pointer;
  CUarray array;
  CUoffset3D offset;  // x in bytes
  size_t pitch, height;
};

Result<size_t> arrayElementBytes(CUarray handle) {
  const auto array = findArray(handle);
  if (!array.ok()) return fail(CUDA_ERROR_INVALID_VALUE, "%p is no array", static_cast<void*>(handle));
  return size_t{array.value().unit.bytes};
}

Result<size_t> elementOf(const CUmemcpy3DOperand& operand) {
  switch (const int type = rawValue(operand.type)) {
    case CU_MEMCPY_OPERAND_TYPE_POINTER:
      return size_t{0};
    case CU_MEMCPY_OPERAND_TYPE_ARRAY:
      return arrayElementBytes(operand.op.array.array);
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "operand type %d", type);
  }
}

// The bytes of an element that both operands agree on; 1 between pointers.
Result<size_t> elementOf(const CUDA_MEMCPY3D_BATCH_OP& op) {
  VG_TRY(const size_t from, elementOf(op.src));
  VG_TRY(const size_t to, elementOf(op.dst));
  if (from && to && from != to)
    return fail(CUDA_ERROR_INVALID_VALUE, "elements of %zu bytes cannot be copied to elements of %zu bytes", from, to);
  return std::max({from, to, size_t{1}});
}

Result<Operand> operandOf(const CUmemcpy3DOperand& given, const CUextent3D& extent, size_t element) {
  if (rawValue(given.type) == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& array = given.op.array;
    return Operand{CU_MEMORYTYPE_ARRAY, 0, array.array, {array.offset.x * element, array.offset.y, array.offset.z}};
  }
  const auto& side = given.op.ptr;
  const size_t row = side.rowLength ? side.rowLength : extent.width;
  const size_t layer = side.layerHeight ? side.layerHeight : extent.height;
  size_t pitch;
  if (row < extent.width || layer < extent.height || __builtin_mul_overflow(row, element, &pitch))
    return fail(CUDA_ERROR_INVALID_VALUE, "rows of %zu and layers of %zu for a box of %zu x %zu", row, layer,
                extent.width, extent.height);
  return Operand{CU_MEMORYTYPE_UNIFIED, side.ptr, nullptr, {}, pitch, layer};
}

Result<CUDA_MEMCPY3D> boxOf(const CUDA_MEMCPY3D_BATCH_OP& op) {
  CUmemcpyAttributes attributes{};
  std::memcpy(&attributes.srcAccessOrder, &op.srcAccessOrder, sizeof op.srcAccessOrder);
  attributes.flags = op.flags;
  VG_CHECK(checkAttributes(attributes));
  if (!op.extent.width || !op.extent.height || !op.extent.depth)
    return fail(CUDA_ERROR_INVALID_VALUE, "a box of %zu x %zu x %zu", op.extent.width, op.extent.height,
                op.extent.depth);
  VG_TRY(const size_t element, elementOf(op));
  VG_TRY(const Operand from, operandOf(op.src, op.extent, element));
  VG_TRY(const Operand to, operandOf(op.dst, op.extent, element));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = static_cast<CUmemorytype>(from.type);
  box.dstMemoryType = static_cast<CUmemorytype>(to.type);
  box.srcDevice = from.pointer;
  box.dstDevice = to.pointer;
  box.srcArray = from.array;
  box.dstArray = to.array;
  box.srcXInBytes = from.offset.x;
  box.dstXInBytes = to.offset.x;
  box.srcY = from.offset.y;
  box.dstY = to.offset.y;
  box.srcZ = from.offset.z;
  box.dstZ = to.offset.z;
  box.srcPitch = from.pitch;
  box.dstPitch = to.pitch;
  box.srcHeight = from.height;
  box.dstHeight = to.height;
  if (__builtin_mul_overflow(op.extent.width, element, &box.WidthInBytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "rows of %zu elements", op.extent.width);
  box.Height = op.extent.height;
  box.Depth = op.extent.depth;
  return box;
}

}  // namespace

// As a copy of its own it goes to any stream and can be captured.
CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D_BATCH_OP& op) {
  VG_TRY(const CUDA_MEMCPY3D box, boxOf(op));
  const bool duringCall = rawValue(op.srcAccessOrder) == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  return stream.give(work::copyOf(box), duringCall ? Form::Synchronous : Form::Asynchronous);
}

CUresult copyBatch(Stream& stream, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t count, size_t& culprit) {
  culprit = kWholeBatch;
  if (!ops || !count)
    return fail(CUDA_ERROR_INVALID_VALUE, "a batch of %zu boxes at %p", count, static_cast<const void*>(ops));
  std::vector<CUDA_MEMCPY3D> boxes;
  for (culprit = 0; culprit < count; ++culprit) {  // nothing is copied if one is no box
    VG_TRY(const CUDA_MEMCPY3D box, boxOf(ops[culprit]));
    boxes.push_back(box);
  }
  for (size_t i = 0; i < count; ++i) {
    culprit = i;
    const bool duringCall = rawValue(ops[i].srcAccessOrder) == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    VG_CHECK(stream.give(work::copyOf(boxes[i]), duringCall ? Form::Synchronous : Form::Asynchronous));
  }
  culprit = kWholeBatch;
  return CUDA_SUCCESS;
}

}  // namespace vg::core::memory
