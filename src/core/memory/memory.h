// Linear memory as CUDA means it: who owns it, what a pointer is, which ranges a call may touch.
//
// Every allocation has one record in one table (alloc/memory_table.h); lookups take no lock. All functions are
// thread-safe. Heaps are made at the first need of their device.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/memory/memory_roles.h"
#include "core/memory/memory_table.h"

namespace vg::core {

class Context;

namespace memory {

// cuMemAlloc: device memory of the context's device, aligned to 512 bytes (2 MiB from 2 MiB on) or to `alignment`, a
// power of two up to 2 MiB. CUDA_ERROR_INVALID_VALUE for 0 bytes, CUDA_ERROR_OUT_OF_MEMORY beyond the device's memory.
Result<CUdeviceptr> allocate(Context& context, size_t bytes, size_t alignment = 0);

struct PitchedSize {
  size_t pitch;  // bytes between rows
  size_t bytes;  // of all rows, modulo 2^64
  bool vast;     // they are more
};
// CUDA_ERROR_INVALID_VALUE for an element size that is not 4, 8 or 16, for nothing, and for rows that cannot be
// counted.
Result<PitchedSize> pitchedSize(size_t width, size_t height, unsigned elementSize);
Result<CUdeviceptr> allocatePitched(Context& context, const PitchedSize& size);

// cuMemAllocManaged: one address for the host and every device. flags: CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST.
Result<CUdeviceptr> allocateManaged(Context& context, size_t bytes, unsigned flags = CU_MEM_ATTACH_GLOBAL,
                                    size_t alignment = 0);

// Managed memory of the process, for the managed variables of libraries: usable without a context, reported with the
// first device, untouched by releaseAll. Ended by releaseNow.
Result<CUdeviceptr> allocateProcessManaged(size_t bytes, size_t alignment = 0);

// As allocate(), for the code and variables of a module. Ended by releaseNow.
Result<CUdeviceptr> allocateForModule(Context& context, size_t bytes, size_t alignment);
bool isOfModule(const alloc::Record& record);

// cuMemFree: 0 is accepted. Waits for the work of the context that owns the memory, unless it is stream-ordered.
CUresult release(CUdeviceptr address);
// The same without waiting, for memory that nothing can be using (variables of an unloaded module).
CUresult releaseNow(CUdeviceptr address);

// Ends what the context has of the heaps: device, managed and page-locked memory. Called when the context is destroyed
// or its device reset, after its streams are drained and the other rooms have given back theirs.
void releaseAll(Context& context);

// The context that owns a record, or null. Context objects stay readable for ever.
Context* ownerOf(const alloc::Record& record);
// Waits for the work of a context that is still alive.
CUresult drain(Context* owner);

// Device memory for a CUDA array, as allocate(); and its end, which waits for nothing.
Result<const alloc::Record*> allocateForArray(Context& context, size_t bytes);
void releaseOfArray(const alloc::Record& record, uint64_t id);

struct Usage {
  size_t free, total;  // bytes
};
Usage usage(Context& context);

// False for what cuMemMap has mapped and no device may read.
bool accessible(const alloc::Record& record);
// The device whose memory this is (its CUdevice number); for memory of no device, that of its owner's context.
int deviceOf(const alloc::Record& record);

// A range that a copy or fill may touch.
// deviceRange, deviceRecord: inside one device, managed, pinned or registered allocation; CUDA_ERROR_INVALID_VALUE
// otherwise. The first gives the first byte, the other what the range is in.
// unifiedRecord: that, or host memory wholly unknown to us (null: pageable). A range that is known only in part:
// CUDA_ERROR_INVALID_VALUE.
// The Record forms require bytes > 0.
// A range may cross from one mapping of cuMemMap into the next; each must allow `access` to somebody.
Result<std::byte*> deviceRange(CUdeviceptr address, size_t bytes, Access access = Access::Read);
Result<const alloc::Record*> deviceRecord(CUdeviceptr address, size_t bytes, Access access = Access::Read);
Result<const alloc::Record*> unifiedRecord(const void* address, size_t bytes, Access access = Access::Read);

}  // namespace memory
}  // namespace vg::core
