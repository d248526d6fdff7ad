#include "core/work/memory_operations.h"

#include <time.h>

#include <algorithm>

#include <vector>

#include "backend/queues/interleaving.h"
#include "base/raw_enum.h"
#include "base/sync/patience.h"
#include "base/sync/spin.h"
#include "copy/guard.h"
#include "copy/watch.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/process/newer_attributes.h"
#include "core/streams/capture_sink.h"

namespace vg::core {
namespace {

struct Operation {
  enum class Kind : uint8_t { Wait32, Wait64, Write32, Write64, Reduce32, Reduce64 };
  Kind kind;
  unsigned condition;  // CU_STREAM_WAIT_VALUE_*, or CU_STREAM_ATOMIC_REDUCTION_OP_*
  void* address;
  uint64_t value;
};

// The word may be the application's, registered and unmapped since: it is touched under guard.
template <class Word>
bool store(const Operation& operation) {
  const auto value = static_cast<Word>(operation.value);
  copy::tellWritten(operation.address, sizeof(Word));
  return copy::guarded([&] { __atomic_store_n(static_cast<Word*>(operation.address), value, __ATOMIC_SEQ_CST); });
}

template <class Word>
bool reduce(const Operation& operation) {
  const auto value = static_cast<Word>(operation.value);
  auto* const word = static_cast<Word*>(operation.address);
  copy::tellWritten(operation.address, sizeof(Word));
  return copy::guarded([&] {
    if (operation.condition == CU_STREAM_ATOMIC_REDUCTION_OP_ADD) __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    if (operation.condition == CU_STREAM_ATOMIC_REDUCTION_OP_AND) __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
    if (operation.condition == CU_STREAM_ATOMIC_REDUCTION_OP_OR) __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
  });
}

// In order with kernels and with the host: a write is visible after everything that came before it in the stream.
template <class Word>
bool load(const void* address, Word& value) {
  return copy::guarded([&] { value = __atomic_load_n(static_cast<const Word*>(address), __ATOMIC_SEQ_CST); });
}

// Sets `gone`, and holds, when the word is not there.
template <class Word>
bool holds(const Operation& operation, bool& gone) {
  using Signed = std::make_signed_t<Word>;
  const Word wanted = static_cast<Word>(operation.value);
  Word now = 0;
  if (!load<Word>(operation.address, now)) return gone = true;
  switch (operation.condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(now - wanted) >= 0;  // cyclic, as the manual defines it
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & wanted) != 0;
    default:
      return static_cast<Word>(~(now | wanted)) != 0;
  }
}

}  // namespace

struct CheckedOperations {
  Context* context;
  std::vector<Operation> operations;

  static void call(void* raw) {
    const OwnMemoryOperations self(static_cast<CheckedOperations*>(raw));
    vg::core::perform(*self);
  }

  // Who waits for a word comes after whoever writes it, which may be given later; who writes one tells the host, too.
  void tellOrder(const check::order::Line& line) const {
    const uint64_t work = check::order::submitted(line, check::order::Form::Other, 1);
    for (const Operation& operation : operations)
      if (operation.kind == Operation::Kind::Wait32 || operation.kind == Operation::Kind::Wait64)
        check::order::loseOrder(line);
    check::order::hostKnows(work);
  }

  // False when the host cannot get at the word. Requires: there is memory.
  bool perform(const Operation& operation) const {
    memory::showToHost(operation.address, sizeof operation.value);
    switch (operation.kind) {
      case Operation::Kind::Wait32:
        return await([&](bool& gone) { return holds<uint32_t>(operation, gone); });
      case Operation::Kind::Wait64:
        return await([&](bool& gone) { return holds<uint64_t>(operation, gone); });
      case Operation::Kind::Write32:
        return store<uint32_t>(operation);
      case Operation::Kind::Write64:
        return store<uint64_t>(operation);
      case Operation::Kind::Reduce32:
        return reduce<uint32_t>(operation);
      case Operation::Kind::Reduce64:
        return reduce<uint64_t>(operation);
    }
    return true;
  }

  // The word may be changed by a kernel, the host or another process, none of which tells us: polls, less and less
  // often.
  template <class Holds>
  bool await(Holds holds) const {
    constexpr uint64_t kSpin = 20'000;
    constexpr long kLongest = 100'000;
    bool gone = false;
    const auto ready = [&] { return holds(gone); };
    if (spinUntil(ready, kSpin)) return !gone;
    for (long pause = 1'000; !ready() && context->alive() && context->state() == CUDA_SUCCESS;) {
      if (backend::interleaving::standAside()) continue;
      const timespec time{0, pause};
      nanosleep(&time, nullptr);
      if (pause < kLongest) pause *= 2;
    }
    return !gone;
  }
};

namespace {

Result<void*> wordAt(CUdeviceptr address, size_t bytes, memory::Access access, memory::Addresses addresses) {
  if (address % bytes) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no multiple of %zu", address, bytes);
  if (addresses == memory::Addresses::Any) return reinterpret_cast<void*>(address);
  VG_TRY(std::byte* const word, memory::deviceRange(address, bytes, access));
  return static_cast<void*>(word);
}

CUresult require64(const Context& context) {
  if (context.device().attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)) return CUDA_SUCCESS;
  return unsupported("64-bit memory operations in streams, by this device profile");
}

Result<Operation> describeWait(const Context& context, const CUstreamBatchMemOpParams& params, bool wide,
                               memory::Addresses addresses) {
  const auto& wait = params.waitValue;
  const unsigned condition = wait.flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
  const Device& device = context.device();
  if (condition > CU_STREAM_WAIT_VALUE_NOR) return fail(CUDA_ERROR_INVALID_VALUE, "wait flags %#x", wait.flags);
  if (condition == CU_STREAM_WAIT_VALUE_NOR && !device.attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR))
    return unsupported("CU_STREAM_WAIT_VALUE_NOR, by this device profile");
  if ((wait.flags & CU_STREAM_WAIT_VALUE_FLUSH) && !device.attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES))
    return unsupported("CU_STREAM_WAIT_VALUE_FLUSH, by this device profile");
  VG_TRY(void* const word, wordAt(wait.address, wide ? 8 : 4, memory::Access::Read, addresses));
  return Operation{wide ? Operation::Kind::Wait64 : Operation::Kind::Wait32, condition, word,
                   wide ? wait.value64 : wait.value};
}

// The vendor's driver writes neither memory that moves nor memory of pools.
CUresult refuseMovable(CUdeviceptr address) {
  const alloc::Record* const record = memory::lookup(address);
  const alloc::Kind kind = record ? record->kind.load(std::memory_order_relaxed) : alloc::Kind::Device;
  if (kind != alloc::Kind::Managed && kind != alloc::Kind::Pool) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE,
              "%#llx is managed memory or of a pool; memory operations of streams cannot write there", address);
}

Result<Operation> describeWrite(const CUstreamBatchMemOpParams& params, bool wide, memory::Addresses addresses) {
  const auto& write = params.writeValue;
  if (addresses == memory::Addresses::Known) VG_CHECK(refuseMovable(write.address));
  // CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER is of the first version of these calls only.
  if (write.flags) return fail(CUDA_ERROR_INVALID_VALUE, "write flags %#x", write.flags);
  VG_TRY(void* const word, wordAt(write.address, wide ? 8 : 4, memory::Access::Write, addresses));
  return Operation{wide ? Operation::Kind::Write64 : Operation::Kind::Write32, 0, word,
                   wide ? write.value64 : write.value};
}

Result<Operation> describeReduction(const Context& context, const CUstreamBatchMemOpParams& params,
                                    memory::Addresses addresses) {
  const auto& reduction = params.atomicReduction;
  if (!laterAttribute(context.device(), CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED).value_or(0))
    return unsupported("CU_STREAM_MEM_OP_ATOMIC_REDUCTION, by this device");
  if (reduction.flags) return fail(CUDA_ERROR_INVALID_VALUE, "reduction flags %#x", reduction.flags);
  const int type = rawValue(reduction.dataType), operation = rawValue(reduction.reductionOp);
  if (type != CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 && type != CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64)
    return fail(CUDA_ERROR_INVALID_VALUE, "reduction of data type %#x", type);
  if (operation != CU_STREAM_ATOMIC_REDUCTION_OP_ADD && operation != CU_STREAM_ATOMIC_REDUCTION_OP_AND &&
      operation != CU_STREAM_ATOMIC_REDUCTION_OP_OR)
    return fail(CUDA_ERROR_INVALID_VALUE, "reduction %d", operation);
  const bool wide = type == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64;
  VG_TRY(void* const word, wordAt(reduction.address, wide ? 8 : 4, memory::Access::Write, addresses));
  return Operation{wide ? Operation::Kind::Reduce64 : Operation::Kind::Reduce32, static_cast<unsigned>(operation), word,
                   reduction.value};
}

CUresult add(std::vector<Operation>& operations, const Context& context, const CUstreamBatchMemOpParams& params,
             memory::Addresses addresses) {
  switch (const int operation = rawValue(params.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      VG_CHECK(require64(context));
      [[fallthrough]];
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: {
      VG_TRY(Operation described,
             describeWait(context, params, operation == CU_STREAM_MEM_OP_WAIT_VALUE_64, addresses));
      operations.push_back(described);
      return CUDA_SUCCESS;
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      VG_CHECK(require64(context));
      [[fallthrough]];
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: {
      VG_TRY(Operation described, describeWrite(params, operation == CU_STREAM_MEM_OP_WRITE_VALUE_64, addresses));
      operations.push_back(described);
      return CUDA_SUCCESS;
    }
    case CU_STREAM_MEM_OP_ATOMIC_REDUCTION: {
      if (!offers(13010)) break;
      VG_TRY(Operation described, describeReduction(context, params, addresses));
      operations.push_back(described);
      return CUDA_SUCCESS;
    }
    case CU_STREAM_MEM_OP_BARRIER:  // every operation is in order with everything already
      if (params.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_INVALID_VALUE, "memory barrier of type %u", params.memoryBarrier.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      if (context.device().attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES)) return CUDA_SUCCESS;
      return unsupported("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, by this device profile");
    default:
      break;
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "memory operation %d", rawValue(params.operation));
}

}  // namespace

void EndMemoryOperations::operator()(CheckedOperations* operations) const { delete operations; }

Result<OwnMemoryOperations> describeMemoryOperations(Context& context, const CUstreamBatchMemOpParams* operations,
                                                     unsigned count, memory::Addresses addresses) {
  OwnMemoryOperations described(new CheckedOperations{&context, {}});
  for (unsigned i = 0; i < count; ++i) VG_CHECK(add(described->operations, context, operations[i], addresses));
  return described;
}

// The host may have had no mapping to spare for memory of a GPU, for a moment.
static bool performInTheEnd(const CheckedOperations& operations, const Operation& operation) {
  return memory::lookup(operation.address) && inAMoment([&] { return operations.perform(operation); });
}

void perform(const CheckedOperations& operations) {
  for (const Operation& operation : operations.operations)
    if (!performInTheEnd(operations, operation))
      operations.context->report(CUDA_ERROR_ILLEGAL_ADDRESS, "a word that a stream waits for or writes is not there");
}

bool reachable(const CheckedOperations& operations) {
  return std::all_of(operations.operations.begin(), operations.operations.end(),
                     [](const Operation& operation) { return memory::lookup(operation.address) != nullptr; });
}

namespace work {

Result<Work> keep(Stream& stream, const OperationsCall& call) {
  Context& context = stream.context();
  VG_CHECK(capture::ready(stream));
  VG_CHECK(describeMemoryOperations(context, call.operations, call.count, memory::Addresses::Any));
  return Work(
      MemoryOperations{context.handle(), referenceTo(context), 0, {call.operations, call.operations + call.count}});
}

CUresult perform(Stream& stream, const OperationsCall& call, Form) {
  VG_TRY(OwnMemoryOperations batch, describeMemoryOperations(stream.context(), call.operations, call.count));
  if (batch->operations.empty()) return stream.context().state();
  if (check::order::on()) batch->tellOrder(checked::lineOf(stream));
  VG_CHECK(stream.hostCall(CheckedOperations::call, batch.get()));
  (void)batch.release();  // the call frees it
  return CUDA_SUCCESS;
}

}  // namespace work
}  // namespace vg::core
