// Batches of copies: cuMemcpyBatchAsync and cuMemcpy3DBatchAsync. The attributes of a
// batch are checked first; a bad copy is found on its turn, and those before it are made, as by the vendor's driver.
// Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/streams/stream.h"

namespace vg::core::memory {

// The arguments of cuMemcpyBatchAsync: attributes[k] holds from copy starts[k] to before starts[k + 1].
struct LinearBatch {
  const CUdeviceptr* destinations;
  const CUdeviceptr* sources;
  const size_t* sizes;  // bytes
  size_t count;
  const CUmemcpyAttributes* attributes;
  const size_t* starts;
  size_t attributeCount;
};

// What a failed batch is about: an entry of it, or the whole.
inline constexpr size_t kWholeBatch = SIZE_MAX;

// The arrays of a batch and its attributes, not the memory.
CUresult checkBatch(const LinearBatch& batch);
CUresult checkAttributes(const CUmemcpyAttributes& attributes);

// Batches go to any stream but the legacy one, and cannot be captured.
CUresult checkBatchStream(const Stream& stream);
// `culprit` receives the entry that failed, or kWholeBatch. Require: checkBatchStream().
CUresult copyBatch(Stream& stream, const LinearBatch& batch, size_t& culprit);
CUresult copyBatch(Stream& stream, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t count, size_t& culprit);
// One box of such a batch, in any stream.
CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D_BATCH_OP& op);

}  // namespace vg::core::memory
