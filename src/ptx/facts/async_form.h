// What barrier objects, bulk and tensor copies ask of the runner: one call for a warp, RuntimeCalls::asynchronous, with
// the operation in 64 bits and the operands in slots of 32 lanes. Both machines, interpreter and generated code, make
// the call with what this file says of an instruction.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx {

enum class AsyncOperation : uint8_t {
  Nothing,  // hints, and waiting for copies: they are complete when they are issued
  BarrierInit,
  BarrierInvalidate,
  BarrierArrive,
  BarrierExpect,
  BarrierComplete,
  BarrierTest,
  BarrierPending,
  BarrierCopies,  // cp.async.mbarrier.arrive
  Copy,
  Reduce,
  LoadTensor,
  StoreTensor,
  ReduceTensor,
  ReplaceMap,
  Store,          // st.async
  ReduceValue,    // red.async
  Zero,           // st.bulk
  CancelCluster,  // clusterlaunchcontrol.try_cancel: the runner fills kAsyncValues (abi/cancelled_cluster.h)
};
enum class AsyncSpace : uint8_t { Host, Shared };
enum class AsyncReduction : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
enum class TensorMode : uint8_t { Tile, Im2col, Rows };  // Rows: tile::gather4 and tile::scatter4
// Fields of a tensor map that tensormap.replace names.
enum class MapField : uint8_t {
  Address,
  Rank,
  Box,
  Size,
  Stride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  SwizzleAtomicity,
  Fill,
};

// Bits of AsyncForm::flags.
inline constexpr uint8_t kReports = 1;     // to the barrier object of kAsyncBarrier, in bytes
inline constexpr uint8_t kMulticast = 2;   // to the blocks of kAsyncBlocks
inline constexpr uint8_t kByParity = 4;    // BarrierTest
inline constexpr uint8_t kDrops = 8;       // BarrierArrive: the thread takes part no longer
inline constexpr uint8_t kHolds = 8;       // BarrierTest: no loop asks again, so others run before the answer is no
inline constexpr uint8_t kExpects = 16;    // BarrierArrive: kAsyncCount is bytes to expect
inline constexpr uint8_t kCounted = 32;    // BarrierArrive: kAsyncCount arrivals
inline constexpr uint8_t kMasked = 64;     // Copy: only the bytes of every 16 that kAsyncMask names
inline constexpr uint8_t kShifted = 128;   // LoadTensor: with offsets of im2col
inline constexpr uint8_t kCutShort = 128;  // Copy: without the first and last bytes, as kAsyncCut says

inline constexpr uint32_t kRowCoordinates = 5;  // of TensorMode::Rows: the column and four rows

struct AsyncForm {
  AsyncOperation operation{};
  uint8_t flags = 0;
  AsyncSpace to{}, from{};  // of kAsyncTo and kAsyncFrom
  Type type = Type::None;   // of a reduced or stored element
  uint8_t detail = 0;       // Reduce..: AsyncReduction; ReplaceMap: MapField
  uint8_t count = 1;        // dimensions of a tensor, elements of a vector
  TensorMode mode{};

  bool has(uint8_t flag) const { return flags & flag; }
};
static_assert(sizeof(AsyncForm) == sizeof(uint64_t));
inline uint64_t wordOf(const AsyncForm& form) { return std::bit_cast<uint64_t>(form); }
inline AsyncForm asyncFormOf(uint64_t word) { return std::bit_cast<AsyncForm>(word); }

// Slots of operands; the result takes the place of the first. A slot holds the bits of 32 lanes, each extended to 64.
inline constexpr uint32_t kAsyncResult = 0, kAsyncTo = 0, kAsyncFrom = 1, kAsyncCount = 2, kAsyncBarrier = 3,
                          kAsyncBlocks = 4, kAsyncCoordinates = 5, kAsyncOffsets = 10, kAsyncValues = 13,
                          kAsyncMask = 17, kAsyncSlots = 18, kAsyncUnused = kAsyncSlots,
                          kAsyncCut = kAsyncOffsets;  // two slots: bytes at the beginning, bytes at the end

struct AsyncShape {
  AsyncForm form;
  std::vector<uint8_t> slots;  // of the operands after the destination, vectors flattened; kAsyncUnused: not looked at
};

bool isAsync(const Instruction& i);
// mbarrier.try_wait, which may hold a thread until the phase has ended. Where no loop asks again (kHolds), programs
// rely on it; in loops the loop itself lets others run.
bool mayHold(const Instruction& i);
// clusterlaunchcontrol.try_cancel: blocks that have not begun may be taken away while others run, so they are handed
// out one by one.
bool cancelsClusters(const Instruction& i);
// Nothing for forms that no machine runs. Requires: isAsync(i); `f` holds the operands.
std::optional<AsyncShape> describeAsync(const Instruction& i, const Function& f);

}  // namespace vg::ptx
