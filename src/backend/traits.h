// What a device says of itself: plain data, filled once by its backend, read by core.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vg::backend {

// Bytes that a device has: known, or found by a function when somebody asks. Programs that never ask do not wait for
// what the function reads.
class MemorySize {
 public:
  MemorySize(uint64_t bytes = 0) : number_(bytes) {}  // NOLINT(google-explicit-constructor): it is a number
  // `find` must give the same answer each time.
  MemorySize(uint64_t (*find)(uint64_t), uint64_t argument) : find_(find), number_(argument) {}
  operator uint64_t() const { return find_ ? find_(number_) : number_; }  // NOLINT(google-explicit-constructor)

 private:
  uint64_t (*find_)(uint64_t) = nullptr;
  uint64_t number_;
};

struct Traits {
  std::string name;
  CUuuid uuid{};
  MemorySize totalMemory;
  int computeCapability = 0;       // 10 * major + minor
  bool nativeCode = false;         // runs native code of its capability, not PTX
  bool blockLinearArrays = false;  // wants arrays as its texture units read them (arrays/layout.h)
  bool sharesMemory = false;       // kernels of other devices that do, too, reach its memory, and its kernels theirs
  uint32_t workers = 0;            // threads that run blocks (cpu)
  // By CUdevice_attribute; `known` says which of them the device answers (others: CUDA_ERROR_INVALID_VALUE). These are
  // the attributes of 13.0, of which there are records; core/process/newer_attributes.h has those that came later.
  static constexpr size_t kAttributes = CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED + 1;
  std::array<int, kAttributes> attributes{};
  std::array<bool, kAttributes> known{};

  // Multiprocessors that the blocks of a cluster must come from together, group by group; empty: all are one group.
  std::vector<uint32_t> clusterGroups;

  int attribute(CUdevice_attribute which) const { return attributes[which]; }
};

}  // namespace vg::backend
