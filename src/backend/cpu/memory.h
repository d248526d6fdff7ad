// The memory of an emulated device: memory of the process.
#pragma once

#include "alloc/memory_source.h"

namespace vg::backend::cpu {

class CpuMemory final : public alloc::ProcessMemory {
 public:
  CUresult share(std::byte* start, size_t bytes, alloc::SharedMemory& shared) override;
};

}  // namespace vg::backend::cpu
