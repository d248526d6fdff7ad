// What a device says of itself: plain data, filled once by its backend, read by core.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vg::backend {

struct Traits {
  std::string name;
  CUuuid uuid{};
  uint64_t totalMemory = 0;        // bytes
  int computeCapability = 0;       // 10 * major + minor
  bool nativeCode = false;         // runs native code of its capability, not PTX
  bool blockLinearArrays = false;  // wants arrays as its texture units read them (arrays/layout.h)
  bool sharesMemory = false;       // kernels of other devices that do, too, reach its memory, and its kernels theirs
  uint32_t workers = 0;            // threads that run blocks (cpu)
  // By CUdevice_attribute; `known` says which of them the device answers (others: CUDA_ERROR_INVALID_VALUE).
  std::array<int, CU_DEVICE_ATTRIBUTE_MAX> attributes{};
  std::array<bool, CU_DEVICE_ATTRIBUTE_MAX> known{};

  // Multiprocessors that the blocks of a cluster must come from together, group by group; empty: all are one group.
  std::vector<uint32_t> clusterGroups;

  int attribute(CUdevice_attribute which) const { return attributes[which]; }
};

}  // namespace vg::backend
