// Rows of the tables of a core dump, as debuggers for CUDA read them since driver r575. Members that nobody knows of an
// emulated device stay zero.
#pragma once

#include <cstdint>

namespace vg::core::dump {

struct DeviceRow {
  uint64_t name, chip, instructionSet;  // texts
  uint32_t number, pciBus, pciDevice;
  uint32_t multiprocessors, warpsPerMultiprocessor, lanesPerWarp;
  uint32_t registersPerLane, predicatesPerLane;
  uint32_t major, minor;
  uint32_t instructionBytes;
  uint32_t status;
  uint32_t uniformRegisters, uniformPredicates, convergenceBarriers, zero;
};
static_assert(sizeof(DeviceRow) == 88);

struct ContextRow {
  uint64_t context;
  uint64_t sharedWindow, localWindow, globalWindow;
  uint32_t device, thread;
};
static_assert(sizeof(ContextRow) == 40);

struct ModuleRow {
  uint64_t module;
};

enum : uint32_t { kApplicationKernel = 2, kFromHost = 0, kActiveGrid = 2 };

struct GridRow {
  uint64_t grid, context, function, entry, module, parent, parametersOffset;
  uint32_t kind, origin, status, registers;
  uint32_t gridSize[3], blockSize[3];
  uint32_t blocking, thread;
  uint32_t clusterSize[3], zero;
  uint32_t preferredClusterSize[3], zeroToo;
};
static_assert(sizeof(GridRow) == 136);

struct MultiprocessorRow {
  uint32_t number, zero;
  uint32_t exception, placeKnown;
  uint64_t place;
  uint32_t targetKnown, target[3];
};
static_assert(sizeof(MultiprocessorRow) == 40);

struct BlockRow {
  uint64_t grid;
  uint32_t index[3], zero;
  uint32_t clusterIndex[3], zeroToo;
  uint32_t clusterSize[3], zeroStill;
};
static_assert(sizeof(BlockRow) == 56);

struct WarpRow {
  uint64_t place;
  uint32_t number, validLanes, activeLanes;
  uint32_t stopped, placeKnown, zero;
  uint32_t registers, zeroToo;
  uint32_t sharedBytes, zeroStill;
  uint32_t lanesInSystemCalls, convergedLanes, exitedLanes, collectiveLanes;
};
static_assert(sizeof(WarpRow) == 64);

struct ThreadRow {
  uint64_t place, offset;  // the instruction; from the beginning of its function
  uint32_t lane, index[3];
  uint32_t exception;
  uint32_t callDepth, systemCallDepth, carry;
  uint32_t state, zero;
};
static_assert(sizeof(ThreadRow) == 56);

struct AboutRow {
  uint64_t maker;  // text
  uint32_t driver[2], cuda[2];
  uint32_t flags, seconds;
};
static_assert(sizeof(AboutRow) == 32);

// Exceptions of warps and lanes, as debuggers number them. A trap is none.
enum : uint32_t {
  kNoException = 0,
  kLaneStackOverflow = 2,
  kIllegalInstruction = 4,
  kMisaligned = 6,
  kAssert = 12,
  kIllegalAddress = 14,
};

}  // namespace vg::core::dump
