// Pools between processes: a pool travels as a descriptor of its file, an allocation as 64 bytes that name a piece of
// it, or, where the memory is a device's own, by which the exporter is asked for it. What is imported is mapped where
// it lies in the importer's own addresses.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"
#include "base/sync/timeline.h"
#include "core/pools/pool.h"

namespace vg::core::memory {

// By POSIX descriptor. What is exported stays the caller's: a descriptor, or plain data.
Result<int> exportPool(Pool& pool, CUmemAllocationHandleType type);
Result<CUmemoryPool> importPool(int descriptor, CUmemAllocationHandleType type);
Result<CUmemPoolPtrExportData> exportPoolPointer(CUdeviceptr address);
Result<CUdeviceptr> importPoolPointer(Pool& pool, const CUmemPoolPtrExportData& data);

namespace pool_sharing {

// One import of the pool fewer: true when it was the last. Requires: the pool is imported.
bool dropImport(Pool& pool);
// Ends an imported allocation when the point is reached. Requires: its pool is imported.
CUresult release(alloc::Record& record, Point point);

}  // namespace pool_sharing
}  // namespace vg::core::memory
