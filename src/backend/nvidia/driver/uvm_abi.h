// The interface of /dev/nvidia-uvm: who owns which range of the GPU's addresses. The request is the bare command; the
// status stands in the structure. Layouts of driver 580; abi.h has the differences.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia::uvm {

inline constexpr unsigned long kInitialize = 0x30000001, kRegisterSpace = 25, kUnregisterSpace = 26,
                               kRegisterChannel = 27, kUnregisterChannel = 28, kMapExternal = 33, kFree = 34,
                               kRegisterGpu = 37, kUnregisterGpu = 38, kSetPreferred = 42, kUnsetPreferred = 43,
                               kEnableReadDuplication = 44, kDisableReadDuplication = 45, kSetAccessedBy = 46,
                               kUnsetAccessedBy = 47, kMigrate = 51, kUnmapExternal = 66, kCreateRange = 73,
                               kMapSparse = 74, kMmInitialize = 75;

// The host among the processors that managed memory knows.
inline constexpr CUuuid kHost = {{'\xa6', '\x5e', '\x0f', '\x4e', '\xd7', '\xd4', '\x7b', '\xa2', '\x50', '\x47',
                                  '\x41', '\x2c', '\x14', '\x2a', '\x77', '\x73'}};
inline constexpr int32_t kAnyNode = -1;  // of the host's memory

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
struct Range {  // CreateRange, UnsetPreferred, EnableReadDuplication, DisableReadDuplication
  uint64_t base, length;
  uint32_t status, pad;
};
static_assert(sizeof(Range) == 24);
struct RangeOf {  // UnmapExternal, MapSparse, SetAccessedBy, UnsetAccessedBy
  uint64_t base, length;
  CUuuid uuid;
  uint32_t status, pad;
};
static_assert(sizeof(RangeOf) == 40);
struct SetPreferred {
  uint64_t base, length;
  CUuuid place;
  int32_t hostNode;  // not before 550, where the status stands here (abi.h)
  uint32_t status;
};
static_assert(sizeof(SetPreferred) == 40 && offsetof(SetPreferred, status) == 36);
struct Migrate {
  uint64_t base, length;
  CUuuid place;
  uint32_t flags, pad;
  uint64_t semaphore;
  uint32_t payload;
  int32_t hostNode;
  uint64_t leftStart, leftLength;  // what is left to user space
  uint32_t status, pad1;
};
static_assert(sizeof(Migrate) == 80 && offsetof(Migrate, semaphore) == 40 && offsetof(Migrate, status) == 72);

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
