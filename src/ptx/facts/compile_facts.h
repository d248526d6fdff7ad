// What a compile tells of itself besides its code, and what may be asked of it: the part of the C interface of
// libverdigris_ptx.so (engine.h) that has to do with how long compiles take.
#pragma once

#include <cstdint>

#include "ptx/abi/engine.h"

namespace vg::ptx {

// CompileRequest::flags, besides kTestsParameters.
// Of kernels whose good code takes long, code that is made soon and runs slower will do; CompileFacts::quick tells.
inline constexpr uint32_t kMayBeQuick = 1 << 1;
// Nobody waits for the code: other threads go first.
inline constexpr uint32_t kInBackground = 1 << 2;
// Approximate functions of f32 give a GPU's bits, instead of keeping to the bounds that PTX has for them.
inline constexpr uint32_t kApproximatesExactly = 1 << 3;
// The code asks before it touches memory that may not be the device's (llvm/analysis/reach.h).
inline constexpr uint32_t kTestsReach = 1 << 5;
// Nobody wants code, only whether there would be some: CompileResult::blob stays null.
inline constexpr uint32_t kOnlyTried = 1 << 6;
// As kMayBeQuick, of small kernels too: for tests.
inline constexpr uint32_t kQuickAnyway = 1 << 7;
// The code asks before it uses an address of the library's own that the kernel was not given. Not with kTestsReach,
// which asks about more.
inline constexpr uint32_t kTestsOwn = 1 << 8;

// Instructions are counted as coverage.h plans it.
inline constexpr uint32_t kCounts = 1 << 12;
// For debuggers: the code has frame pointers, and KernelBlob::lines all instructions.
inline constexpr uint32_t kDescribes = 1 << 13;
// Registers are kept in memory for debuggers and core dumps (kept_registers.h).
inline constexpr uint32_t kKeepsRegisters = 1 << 17;
// The code checks its accesses for checked mode (llvm/emit/access_checks.h), in place of what the flags above ask for.
inline constexpr uint32_t kChecksAccesses = 1 << 14;
// With kChecksAccesses: it tells of every one, also where nothing can be wrong with the address.
inline constexpr uint32_t kTellsAccesses = 1 << 15;
// The code tells checked mode where lanes and warps meet (llvm/emit/meeting_checks.h).
inline constexpr uint32_t kTellsMeetings = 1 << 16;

// What a compile has done, counted: the same on every machine.
enum class CompileWork : uint32_t {
  Emitted,    // instructions of LLVM's: as they were made
  Promoted,   // when slots have become registers, in which loops and joins cost phis
  Optimised,  // as machine code was made of them
  Joined,     // values that phis join when slots have become registers, one for each way to a phi's block
  Count
};

struct CompileFacts {
  uint64_t work[static_cast<uint32_t>(CompileWork::Count)];
  uint32_t quick;  // 1: the code is what kMayBeQuick allows
  uint32_t broke;  // 1: LLVM met a fault of its own; quick code is all there is, if that
};

using EngineCompileTold = int (*)(const CompileRequest*, CompileResult*, CompileFacts*);

inline constexpr const char* kEngineCompileToldSymbol = "vgPtxCompileTold";

}  // namespace vg::ptx
