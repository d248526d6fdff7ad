// What is known of each opcode without looking at what it computes: the rows of ops.inc as a table. The validator, both
// machines and the analyses of the code generator ask it; docs/opcodes.md is written from it. Constant data.
#pragma once

#include "base/text/inline_text.h"
#include "ptx/text/ast.h"
#include "ptx/text/op.h"

namespace vg::ptx {

// What it does with memory that other threads may see, or with a lane's own.
enum class MemoryUse : uint8_t {
  NoMemory,
  Loads,
  Stores,
  Updates,    // reads and writes one place in one step
  Moves,      // from one place to another
  ByForm,     // its words say which of these
  AnyMemory,  // what it calls decides
};

// How lanes meet in it.
enum class Meets : uint8_t {
  Apart,      // each for itself
  Sees,       // which lanes are there
  Warp,       // those that a mask names, its last operand, exchange something
  WholeWarp,  // all lanes of the warp
  Block,      // the block's threads, or the warp's where it says .warp
  Object,     // through a barrier object in memory
};

// When the lanes of a warp get equal results.
enum class ResultKind : uint8_t {
  NoResult,
  Alike,    // equal where the operands are equal
  Own,      // each lane has its own
  OfMask,   // equal where the mask, its last operand, is equal
  Uniform,  // equal in all lanes
};

// Traits, a bit each.
enum class Trait : uint16_t {
  Plain = 0,
  Pure = 1 << 0,        // gives results, which depend on the operands alone, and does nothing else
  Arithmetic = 1 << 1,  // of floats: where the result is a NaN it is the one that a GPU makes
  Carries = 1 << 2,     // reads the carry flag
  MayFault = 1 << 3,    // may fault, or has the runner do something: the runner is to know its line
  Exact = 1 << 4,       // needs to know exactly which lanes execute it
  Yields = 1 << 5,      // lets other warps run meanwhile
  Orders = 1 << 6,      // what other threads see of the accesses before and behind it
  Leaves = 1 << 7,      // what comes next may be another place
  Hint = 1 << 8,        // changes nothing on an emulated device
  Slow = 1 << 9,        // keeps its warp for a while on a GPU
  Texture = 1 << 10,    // of textures and surfaces: texture_form.h
  Matrix = 1 << 11,     // of fragments of matrices: matrix_form.h
  Missing = 1 << 12,    // neither machine runs it in any form
};
constexpr Trait operator|(Trait a, Trait b) { return static_cast<Trait>(static_cast<int>(a) | static_cast<int>(b)); }

struct Opcode {
  InlineText<24> word;
  InlineText<12> operands;  // one letter each, destinations first: validate.cpp
  MemoryUse memory;
  Meets meets;
  ResultKind result;
  Trait traits;

  constexpr bool has(Trait trait) const { return static_cast<int>(traits) & static_cast<int>(trait); }
  constexpr bool touchesMemory() const { return memory != MemoryUse::NoMemory; }
  constexpr bool readsMemory() const { return touchesMemory() && memory != MemoryUse::Stores; }
  constexpr bool writesMemory() const { return touchesMemory() && memory != MemoryUse::Loads; }
};

// Words that mean the same wherever they stand, or nothing on an emulated device: convergence, order, scope, caches.
inline constexpr char kCommonWords[] =
    "uni sync aligned volatile relaxed acquire release acq_rel sc weak mmio cta cluster gpu sys gl ca cg cs lu cv wb "
    "wt "
    "evict_first evict_last evict_normal evict_unchanged no_allocate L1 L2 L1::evict_normal L1::evict_unchanged "
    "L1::evict_first L1::evict_last L1::no_allocate L2::evict_last L2::evict_normal L2::evict_first "
    "L2::evict_unchanged "
    "L2::cache_hint L2::64B L2::128B L2::256B";

namespace rows {

using enum MemoryUse;
using enum Meets;
using enum ResultKind;
using enum Trait;

inline constexpr Opcode kOpcodes[] = {
    {"(unknown)", "?*", NoMemory, Apart, NoResult, MayFault | Exact},
#define VG_PTX_OP(name, word, operands, memory, meets, result, traits, types, words) \
  {word, operands, memory, meets, result, traits},
#include "ptx/text/ops.inc"
};

}  // namespace rows

constexpr const Opcode& rowOf(Op op) { return rows::kOpcodes[static_cast<size_t>(op)]; }

// The two last columns of the row. Types of the forms that both machines run: for the table of the documents and the
// tests.
const char* typesOf(Op op);
// The words that it may have besides kCommonWords. "*": any, as nothing that it does here depends on them.
const char* wordsOf(Op op);
// The operands of this instruction: those of its row, or of the first of the opcode's forms whose word it has.
const char* operandsOf(const Instruction& i);
// How many operands, counted as written, are destinations.
uint32_t destinationCount(const Instruction& i);
// Whether the row names the instruction's first type, or none at all.
bool listsType(const Instruction& i);
// Whether the opcode may have the word.
bool allows(Op op, Mod word);

// A barrier of the block, or of the warp: bar.warp.
constexpr bool isBarrier(Op op) { return rowOf(op).meets == Meets::Block; }
// Of the block: not bar.warp.
inline bool isBlockBarrier(const Instruction& i) { return isBarrier(i.op) && !i.has(Mod::Warp); }
// Whether lanes that a mask names do one operation together where they come to these two instructions.
inline bool meetAlike(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.mods == b.mods && a.type() == b.type();
}
// Reads and writes in one.
constexpr bool isAtomic(Op op) { return op == Op::Atom || op == Op::Red; }

}  // namespace vg::ptx
