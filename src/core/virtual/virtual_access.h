// Who may touch what is mapped: for each device and the host. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"
#include "core/memory/memory.h"
#include "core/virtual/virtual_state.h"

namespace vg::core::memory {

CUresult setAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc* grants, size_t count);
Result<CUmemAccess_flags> accessOf(const CUmemLocation& location, CUdeviceptr address);

// What copies ask of a record of Kind::Mapped: whether some device may do this. Takes no lock.
bool mappedForAny(const alloc::Record& record, Access access);

// Does what had to wait for work that is done by now.
void sweep(VirtualState& all) VG_REQUIRES(all.mutex);

}  // namespace vg::core::memory
