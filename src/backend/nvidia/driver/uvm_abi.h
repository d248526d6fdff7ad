// The interface of /dev/nvidia-uvm: who owns which range of the GPU's addresses. The request is the bare command; the
// status stands in the structure. Layouts of driver 580; abi.h has the differences.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia::uvm {

inline constexpr unsigned long kInitialize = 0x30000001, kRegisterSpace = 25, kUnregisterSpace = 26,
                               kRegisterChannel = 27, kUnregisterChannel = 28, kMapExternal = 33, kFree = 34,
                               kRegisterGpu = 37, kUnregisterGpu = 38, kUnmapExternal = 66, kCreateRange = 73,
                               kMmInitialize = 75;

struct Initialize {
  uint64_t flags;
  uint32_t status, pad;
};
struct MmInitialize {
  int32_t descriptor;
  uint32_t status;
};
struct RegisterGpu {
  CUuuid uuid;
  uint8_t numaEnabled, pad[3];
  int32_t numaNode, controlDescriptor;
  uint32_t client, partition, status;
};
static_assert(sizeof(RegisterGpu) == 40);
struct RegisterSpace {
  CUuuid uuid;
  int32_t controlDescriptor;
  uint32_t client, addressSpace, status;
};
static_assert(sizeof(RegisterSpace) == 32);
struct Unregister {  // a GPU or its address space
  CUuuid uuid;
  uint32_t status;
};
static_assert(sizeof(Unregister) == 20);
struct RegisterChannel {
  CUuuid uuid;
  int32_t controlDescriptor;
  uint32_t client, channel, pad;
  uint64_t base, length;
  uint32_t status, pad1;
};
static_assert(sizeof(RegisterChannel) == 56 && offsetof(RegisterChannel, base) == 32);
struct Range {  // CreateRange
  uint64_t base, length;
  uint32_t status, pad;
};
static_assert(sizeof(Range) == 24);
struct UnmapExternal {
  uint64_t base, length;
  CUuuid uuid;
  uint32_t status, pad;
};
static_assert(sizeof(UnmapExternal) == 40);

struct MappingAttributes {
  CUuuid uuid;
  uint32_t mappingType, cachingType, formatType, elementBits, compressionType;
};
static_assert(sizeof(MappingAttributes) == 36);
inline constexpr uint32_t kReadWriteAtomic = 1, kReadOnly = 3;  // mappingType

// The list's length, and with it the place of what follows, differs between versions: filled by offset (abi.h).
struct MapExternalHead {
  uint64_t base, length, offset;
  MappingAttributes first;
};
struct MapExternalTail {
  uint64_t count;
  int32_t controlDescriptor;
  uint32_t client, memory, status;
};
static_assert(sizeof(MapExternalTail) == 24);

}  // namespace vg::backend::nvidia::uvm
