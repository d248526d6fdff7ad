// The functions that compiled programs expect a driver to supply (vprintf, malloc, free, __assertfail,
// cudaGraphSetConditional): PTX of our own,
// made native code by the machine's compiler or, for sm_90, by scripts/gpu-kernels, and the layouts of the memory that
// they share with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "cubin/cubin.h"

namespace vg::cubin {

// The variable of the device functions; all addresses are the device's. 0: printing is lost, malloc gives null,
// conditions are not set.
inline constexpr std::string_view kDeviceState = "vg_device_state";
struct DeviceState {
  uint64_t output;  // OutputHeader
  uint64_t heap;    // HeapHeader
  // Values of conditional handles, 4 bytes each, kMostConditions of them.
  uint64_t conditions;
};
inline constexpr uint64_t kMostConditions = 4194304;

// What kernels print and which assertions fail: a ring of records behind the header. Must be memory that kernels can
// write and do atomic operations on, and that the host can read while they do.
struct OutputHeader {
  uint64_t reserved = 0;  // bytes of all records so far
  uint64_t capacity = 0;  // bytes of the ring: a power of two
  uint64_t unused[6] = {};
};
static_assert(sizeof(OutputHeader) == 64);

enum class RecordKind : uint32_t { Print = 1, Assertion = 2 };
// A record begins at a multiple of 16 bytes; device_functions.inc says what follows in which kind.
struct RecordHeader {
  uint32_t bytes;  // with this header; a multiple of 16
  uint32_t mark;   // markOf its place when it is whole
  RecordKind kind;
  uint32_t detail;
};
constexpr uint32_t markOf(uint64_t place) { return static_cast<uint32_t>(place >> 4) ^ 0x56475052; }

// The heap of malloc: memory of the device that begins with this.
struct HeapHeader {
  uint64_t used = kHeapStart;  // bytes from the header on
  uint64_t size = 0;           // bytes, with the header
  uint64_t unused[6] = {};
  uint64_t free[120] = {};  // by class
  static constexpr uint64_t kHeapStart = 1024;
};
static_assert(sizeof(HeapHeader) == HeapHeader::kHeapStart);

// The PTX text.
std::string_view deviceFunctionsPtx();

// Native code of the functions for an architecture, once a process: of what comes along (sm_90), else compiled or read
// from the kernel cache.
struct DeviceFunctions {
  std::shared_ptr<const Cubin> code;
  bool comesAlong = false;  // no compiler was asked
  // What a kernel that calls them needs at least, and on top of its own.
  uint32_t registers = 0, stackBytes = 0;

  // The function behind a name that programs use. Null: the driver supplies no such function.
  const Function* find(std::string_view external) const;
};
Result<const DeviceFunctions&> deviceFunctions(uint32_t architecture);

}  // namespace vg::cubin
