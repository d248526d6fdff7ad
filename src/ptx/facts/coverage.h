// What coverage counts of a module, and the instructions that count it.
//
// Counters stand one behind the other, function by function in the module's order. A counter holds how many lanes came
// to a place: the beginning of a block of the body, or an instruction whose predicate was true. Which ways branches
// went follows from these; they get a counter of their own only where it does not. What is counted depends on the
// blocks and predicates of the text alone, so that whoever has the text can name every counter.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx::coverage {

// An instruction that adds the lanes that execute it to a counter: an event of the performance monitor, with a width
// that no text gives it. Its operand is the counter's number.
bool counts(const Instruction& i);
inline uint64_t counterOf(const Instruction& i, const Function& f) { return f.operands[i.first].bits; }

inline constexpr uint32_t kNoCounter = ~0u;

// Instructions begin .. end-1 of a body: lanes come to the first, and leave behind the last.
struct Block {
  uint32_t begin, end;
  uint32_t counter;
};

// How many lanes went one way: what a counter says, less what another one says.
struct Way {
  uint32_t counter;
  uint32_t without = kNoCounter;

  uint64_t of(const uint64_t* counters) const {
    const uint64_t all = counters[counter], others = without == kNoCounter ? 0 : counters[without];
    return all > others ? all - others : 0;
  }
};

// An instruction with a predicate: lanes that execute it or branch, in the order of its table of targets, and behind
// them those whose predicate is false.
struct Branch {
  uint32_t instruction;
  std::vector<Way> ways;
};

struct FunctionPlan {
  std::vector<Block> blocks;     // in order; empty for a declaration
  std::vector<Branch> branches;  // by instruction
  struct Count {                 // before an instruction
    uint32_t instruction, counter;
    bool guarded;  // as the instruction is
  };
  std::vector<Count> counts;  // in order
  struct Detour {             // of one target of a table, by a place of its own
    uint32_t table, label, counter;
  };
  std::vector<Detour> detours;
};

struct Plan {
  std::vector<FunctionPlan> functions;  // by Module::functions
  uint32_t counters = 0;
};
Plan planOf(const Module& module);

// Puts the instructions that count in front of what they count. Labels stay where they are.
void instrument(Module& module, const Plan& plan);

}  // namespace vg::ptx::coverage
