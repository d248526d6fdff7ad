// The code generator's own form of a kernel: basic blocks of PTX instructions over SSA values, all calls inlined;
// functions that call themselves are loops over a stack.
//
// An instruction keeps pointing at its PTX instruction, which says what it does; its operands are values. Constants,
// special registers and addresses of symbols are values too, so that shape analysis and emission see one kind of
// operand. Values that leave a loop pass through a phi in the block outside (LCSSA), because lanes of a divergent loop
// leave at different iterations. Lives as long as one compile; belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/layout.h"
#include "ptx/text/ast.h"

namespace vg::ptx::gen {

using ValueId = uint32_t;
using BlockId = uint32_t;
using LoopId = uint32_t;
inline constexpr uint32_t kNone = ~0u;

// A construct that the generator does not cover; the kernel then runs in the interpreter.
struct Unsupported {
  std::string what;
  uint32_t line = 0;
};
[[noreturn]] void unsupportedConstruct(uint32_t line, const char* format, ...) __attribute__((format(printf, 2, 3)));

// How a value differs between the lanes of a warp.
struct Shape {
  enum Kind : uint8_t { Unknown, Uniform, Affine, Repeated, Rows, Varying };
  Kind kind = Unknown;
  // Affine: lane l holds lane 0's value + l * stride (two's complement of the value's width). Rows: that holds in each
  // row of threads, or part of one, that the warp consists of, from its first lane on. Repeated: and all are alike.
  int64_t stride = 0;
  // Through a widening that may wrap inside the warp or row: the scalar form holds only while a run-time flag is set.
  bool fragile = false;

  bool uniform() const { return kind == Uniform; }
  bool affine() const { return kind == Affine; }
  bool rows() const { return kind == Rows || kind == Repeated; }
  bool straight() const { return affine() || rows(); }
  // One value a row, which may be computed for each of them as a scalar.
  bool sameInRow() const { return rows() && stride == 0 && !fragile; }
  bool varying() const { return kind == Varying; }
  bool operator==(const Shape&) const = default;
};

// Types of values: the width and whether the emitter keeps it as a float.
enum class Class : uint8_t { Pred, I8, I16, I32, I64, F32, F64, I128 };
uint32_t bitsOf(Class c);
inline bool isFloat(Class c) { return c == Class::F32 || c == Class::F64; }
Class integerClass(uint32_t bits);

struct Instruction;

struct Value {
  enum Kind : uint8_t { Result, Phi, Constant, Special, Symbol, Undefined };
  Kind kind = Undefined;
  Class type = Class::I32;
  Shape shape;
  uint64_t bits = 0;       // Constant
  ptx::Special special{};  // Special
  // Symbol: an address. For FunctionVariable and Parameter `function` names the owner.
  SymbolKind symbolKind = SymbolKind::None;
  uint32_t symbol = 0;
  uint32_t function = 0;
  int64_t offset = 0;
  BlockId block = kNone;         // Result, Phi: where defined; others are available everywhere
  uint32_t instruction = kNone;  // Result: index into Program::instructions
  uint32_t resultIndex = 0;
  // Phi: one operand a predecessor, in the order of Block::predecessors.
  std::vector<ValueId> incoming;
  bool joinsDivergent = false;  // Phi: lanes may come from different predecessors
  bool usedElsewhere = false;   // used in a block other than the defining one, or by a phi
};

// Instructions that no text has: their registers are the builder's variables.
struct MadeCode {
  Function function;
  std::deque<ptx::Instruction> body;
};

struct Instruction {
  const ptx::Instruction* ast = nullptr;
  const ptx::Function* function = nullptr;  // whose operands and registers `ast` names
  uint32_t functionIndex = 0;
  BlockId block = 0;                  // kNone: it was taken out
  std::vector<ValueId> sources;       // operands after the destinations, vectors flattened, addresses as their base
  std::vector<int64_t> offsets;       // per source: byte offset of an address operand
  std::vector<uint8_t> operandFirst;  // per AST operand after the destinations: index of its first source
  std::vector<ValueId> results;       // flattened; kNone for sinks
  std::vector<ValueId> old;           // guarded: the destinations' values before, kNone when undefined
  std::vector<bool> negated;          // per source: !p
  ValueId guard = kNone;
  bool guardNegated = false;
  ValueId carryIn = kNone;   // addc, subc, madc
  ValueId carryOut = kNone;  // .cc: the result that is the carry
};

struct Block {
  enum Terminator : uint8_t { Jump, Branch, Switch, Exit };
  std::vector<uint32_t> instructions;
  std::vector<ValueId> phis;
  Terminator terminator = Exit;
  std::vector<BlockId> successors;    // Jump 1; Branch 2: [0] when the condition holds; Switch n
  std::vector<BlockId> predecessors;  // one an edge, in a fixed order
  ValueId condition = kNone;          // Branch: predicate; Switch: index
  bool conditionNegated = false;
  uint32_t line = 0;           // of the terminator
  LoopId loop = kNone;         // innermost
  bool divergent = false;      // ends in a branch whose lanes may disagree
  bool takesTurns = false;     // lanes come here at different times, each group on its own (lane_turns.h)
  uint32_t component = kNone;  // divergent region it belongs to
  bool bypassed = false;       // code of a region comes by what it dominates without having come by it
};

struct Loop {
  BlockId header = 0;
  LoopId parent = kNone;
  std::vector<BlockId> blocks;  // inner loops' included
  uint32_t depth = 0;
  bool fenced = false;      // has a fence: its weak loads see what others write
  bool rereads = false;     // has a meeting of a part of the block: so do weak loads that come back to their places
  bool polls = false;       // waits for memory: yields on its back edges
  bool seldom = false;      // not in each round: it is as likely a search that others do not end
  bool takesTurns = false;  // and lanes in it for others of their warp that have left it or went another way
};

// Blocks that run with one mask each because lanes disagree on the way through them.
struct Component {
  std::vector<BlockId> blocks;  // in emission order
  BlockId exit = kNone;         // where all lanes meet again; kNone: none does, the warp ends
  bool hasLaneExits = false;
  bool takesTurns = false;  // lanes that wait let the others go on as far as they can
  bool holdsLanes = false;  // and some wait for others to meet them
  uint32_t weight = 0;      // instructions
};

struct Program {
  const Module* module = nullptr;
  std::shared_ptr<MadeCode> made;  // instructions that the builder made
  uint32_t entry = 0;              // the kernel
  uint32_t root = 0;               // whose code it is: the kernel's, or that of a function which it calls apart
  KernelReferences references;
  SharedLayout shared;
  std::vector<ParameterSlot> parameters;
  std::vector<Block> blocks;  // [0] is the entry; in emission order after ordering
  std::deque<Instruction> instructions;
  std::deque<Value> values;
  std::vector<Loop> loops;  // outer before inner
  std::vector<Component> components;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> locals;  // (function, variable) in .local -> byte offset in a lane
  uint32_t localSize = 0;                                    // bytes a lane
  uint32_t localAlignment = kLocalAlignment;                 // of each lane's
  bool usesDynamicShared = false;
  bool recurses = false;
  uint32_t stackOfCalls = 0;  // bytes of a lane's stack for calls, unless it recurses
  bool callsApart = false;    // functions that have code of their own
  bool sharesForNow = false;  // functions are in it once that good code has copies of

  uint32_t localStride() const { return localLaneStride(localSize, localAlignment); }
  bool inLoop(BlockId block, LoopId loop) const;
  bool dominates(BlockId a, BlockId b) const;
  std::vector<BlockId> immediateDominator;
  struct Dominated {
    uint32_t first = 0, end = 0;
  };
  std::vector<Dominated> dominated;             // by block: the numbers of what it dominates, its own first
  std::vector<BlockId> immediatePostDominator;  // kNone: the end of the program
};

// What becomes of places where lanes of a warp meet.
struct MeetingRules {
  bool beginBlocks = false;                                   // where all do
  const std::set<const ptx::Instruction*>* held = nullptr;    // where lanes wait for each other (lane_turns.h)
  const std::set<const ptx::Instruction*>* joint = nullptr;   // of these, where lanes of different branches may meet
  const std::set<const ptx::Instruction*>* parted = nullptr;  // barriers of the block that lanes come to apart
};

// Blocks, SSA values and loops of an entry, or of a function `root` that it calls apart, with everything it calls.
// Throws Unsupported.
enum class Copies;
Program buildProgram(const Module& module, uint32_t entry, uint32_t root, const MeetingRules& rules, Copies copies);

// Divergence, shapes, components. `shapeOfSpecial` says what the block shape makes of special registers.
struct ShapeOptions {
  bool rowsOf32 = false;
  bool line = false;
  uint32_t rowLanes = 0;   // of blocks whose warps are several rows or parts of rows: lanes of each, a power of two
  bool wholeRows = false;  // they are rows
};
void analyseShapes(Program& program, const ShapeOptions& options);

// Text for VERDIGRIS_DUMP.
std::string describe(const Program& program);

}  // namespace vg::ptx::gen
