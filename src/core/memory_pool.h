// Stream-ordered allocation: cuMemAllocAsync and the pools behind it.
//
// A pool is an account over its device's heap: what it hands out comes from there and goes back there, so freed memory
// serves every pool. Memory freed in a stream is reused at once by an allocation of the same size in that stream, and
// by anybody when the stream has got that far. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"
#include "core/stream.h"

namespace vg::core {

class Device;

namespace memory {

class Pool;

Result<CUdeviceptr> allocateAsync(Stream& stream, size_t bytes, Pool* pool = nullptr);  // null: the device's pool
CUresult releaseAsync(Stream& stream, CUdeviceptr address);

// CUDA_ERROR_INVALID_VALUE for what is no living pool.
Result<Pool&> findPool(CUmemoryPool handle);
Result<CUmemoryPool> createPool(const CUmemPoolProps& properties);
CUresult destroyPool(CUmemoryPool handle);
CUmemoryPool defaultPool(Device& device);
CUmemoryPool currentPool(Device& device);
CUresult setCurrentPool(Device& device, CUmemoryPool handle);
CUresult poolAttribute(Pool& pool, CUmemPool_attribute which, void* value);
CUresult setPoolAttribute(Pool& pool, CUmemPool_attribute which, const void* value);
CUresult trimPool(Pool& pool);

// The pool that a Kind::Pool record came from.
CUmemoryPool poolOf(const alloc::Record& record);
// Memory that left its pool other than by releaseAsync (cuMemFree, the device's reset). Requires: Kind::Pool.
void accountReleased(const alloc::Record& record);
// Gives back what streams have finished with; with `wait`, waits for them first.
void collectReleased(bool wait);

}  // namespace memory
}  // namespace vg::core
