// Facts about PTX instructions that the steps of the code generator share.
#pragma once

#include <optional>
#include <string_view>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// The type that an immediate at source operand `source` has.
Type sourceType(const ptx::Instruction& i, uint32_t source);
// How the emitter keeps the result of an instruction in a register of class `reg`.
Class resultClass(const ptx::Instruction& i, Class reg);
// The bits of a value that is a constant, or one that was moved into a register first, as compilers write it.
std::optional<uint64_t> knownBits(const Program& program, ValueId id);
// Where the pointer stands among the kernel's parameters (bytes) that this value is; none for any other value.
std::optional<uint32_t> givenPointer(const Program& program, ValueId value);
bool isWideSpecial(Special s);
// vprintf, malloc and the like: functions that the driver defines.
bool isSyscall(std::string_view name);
// A call of a function with code of its own (RuntimeCalls::callApart), in which everything may happen.
bool isCallApart(const Instruction& i);
// Reads memory that others may write meanwhile: volatile, relaxed, acquire, and atomics.
bool readsSharedState(const ptx::Instruction& i);
// Whether an instruction of the loop may wait there for what others write (facts/polls.h).
bool mayPoll(const ptx::Instruction& i, const Loop& loop);
bool isVolatileAccess(const ptx::Instruction& i);
// Bytes a lane that ld, st, atom and red access.
uint32_t accessBytes(const ptx::Instruction& i);
// Addresses that come out of memory are scattered as a rule, and those in lanes' own stacks are always; others are
// often consecutive in a way that the analysis cannot see.
bool isScattered(const Program& program, ValueId address, int depth = 0);
// A barrier of a block, unless it was taken out.
bool isBarrierOfBlock(const Instruction& i);
// A pause that insertPauses has put in: a barrier that waits for nothing.
bool isPause(const Instruction& i);
// Whether all lanes of the warp, or of the block, meet at an instruction of `function` before any goes on: barriers,
// and warp operations whose mask names all, but those that lanes of several branches come to.
bool lanesMeetAt(const ptx::Instruction& i, const ptx::Function& function);
// Of the code that holds lanes where they meet (analysis/lane_turns.h), which no text has: with .arrive they tell that
// they have come, with .red each finds out whether it may go on.
bool isHold(const ptx::Instruction& i);
// Holds of lanes that come to a barrier of the block: where they tell so, and where each takes what the barrier has
// combined. In between they wait at one for whom neither is true.
bool comesToBarrier(const ptx::Instruction& i);
bool takesFromBarrier(const ptx::Instruction& i);
bool waitsForBarrier(const ptx::Instruction& i);
// An operation of lanes that have come to different instructions: what they bring to it lies in memory.
bool isJoint(const ptx::Instruction& i);
// Exchanges data between lanes, waits, or calls the runtime: needs the exact mask at its place.
bool needsExactMask(const ptx::Instruction& i);

}  // namespace vg::ptx::gen
