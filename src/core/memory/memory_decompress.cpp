#include "core/memory/memory_decompress.h"

#include <cstring>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/raw_enum.h"
#include "copy/decompress.h"
#include "copy/watch.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_attributes.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"

namespace vg::core::memory {
namespace {

struct Operation {
  copy::Format format;
  const std::byte* source;
  size_t bytes;
  std::byte* destination;
  size_t capacity;
  std::byte* actual;  // a 32-bit number at any address; may be null

  void perform() const {
    size_t written = 0;
    showToHost(source, bytes);
    showToHost(destination, capacity);
    if (actual) showToHost(actual, sizeof(uint32_t));
    if (!copy::decompress(format, source, bytes, destination, capacity, written)) {
      written = 0;
      VG_LOG(Warn, "%zu bytes at %p cannot be decompressed into %zu bytes", bytes, static_cast<const void*>(source),
             capacity);
    }
    copy::tellWritten(destination, written);
    const auto number = static_cast<uint32_t>(written);
    if (!actual) return;
    std::memcpy(actual, &number, sizeof number);
    copy::tellWritten(actual, sizeof number);
  }
};

struct Batch {
  const Context* context;
  std::vector<Operation> operations;

  static void call(void* raw) {
    const std::unique_ptr<Batch> self(static_cast<Batch*>(raw));
    if (self->context->state() != CUDA_SUCCESS) return;
    for (const Operation& operation : self->operations) operation.perform();
  }
};

Result<copy::Format> formatOf(const Device& device, int algorithm) {
  if (!(device.attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK) & algorithm))
    return fail(CUDA_ERROR_INVALID_VALUE, "decompression algorithm %#x", algorithm);
  switch (algorithm) {
    case CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE:
      return copy::Format::Deflate;
    case CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY:
      return copy::Format::Snappy;
    case CU_MEM_DECOMPRESS_ALGORITHM_LZ4:
      return copy::Format::Lz4;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "decompression algorithm %#x", algorithm);
  }
}

// The first byte of memory that the engine can reach.
Result<std::byte*> reachable(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  int capable = 0;
  VG_TRY(std::byte* const start, deviceRange(address, bytes));
  VG_CHECK(pointerAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, address));
  if (!capable) return fail(CUDA_ERROR_INVALID_VALUE, "%p is no memory for hardware decompression", pointer);
  return start;
}

Result<Operation> describe(const Device& device, const CUmemDecompressParams& params) {
  VG_TRY(const copy::Format format, formatOf(device, rawValue(params.algo)));
  const auto longest = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH));
  if (!params.srcNumBytes || !params.dstNumBytes || params.srcNumBytes > longest || params.dstNumBytes > longest)
    return fail(CUDA_ERROR_INVALID_VALUE, "decompression of %zu bytes to %zu; the engine takes up to %zu",
                params.srcNumBytes, params.dstNumBytes, longest);
  VG_TRY(const std::byte* const source, reachable(params.src, params.srcNumBytes));
  VG_TRY(std::byte* const destination, reachable(params.dst, params.dstNumBytes));
  VG_TRY(std::byte* const actual, reachable(params.dstActBytes, sizeof(uint32_t)));
  return Operation{format, source, params.srcNumBytes, destination, params.dstNumBytes, actual};
}

}  // namespace

CUresult requireDecompression(const Context* context) {
  const Device& device = context ? context->device() : deviceAt(0);
  if (device.attribute(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK)) return CUDA_SUCCESS;
  return unsupported("decompression, by this device profile");
}

CUresult decompressBatch(Stream& stream, const CUmemDecompressParams* operations, size_t count, size_t& culprit) {
  culprit = SIZE_MAX;
  const Device& device = stream.context().device();
  auto batch = std::make_unique<Batch>(Batch{&stream.context(), {}});
  batch->operations.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    culprit = i;
    VG_TRY(const Operation operation, describe(device, operations[i]));
    batch->operations.push_back(operation);
  }
  culprit = SIZE_MAX;
  VG_CHECK(stream.hostCall(Batch::call, batch.get()));
  (void)batch.release();  // the call frees it
  return CUDA_SUCCESS;
}

}  // namespace vg::core::memory
