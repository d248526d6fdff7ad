// Batches of copies: cuMemcpyBatchAsync and cuMemcpy3DBatchAsync. A batch is one piece of work of its stream. All of it
// is checked before any of it is queued. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/stream.h"

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

// `culprit` receives the entry that failed, or kWholeBatch.
CUresult copyBatch(Stream& stream, const LinearBatch& batch, size_t& culprit);

}  // namespace vg::core::memory
