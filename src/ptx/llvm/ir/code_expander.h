// Reads a kernel and the functions it calls into raw blocks: every call a copy of its own, but for functions that call
// themselves or are shared, which are parts of one loop.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ptx/llvm/ir/call_graph.h"
#include "ptx/llvm/ir/raw_code.h"

namespace vg::ptx::gen {

// A call among functions that call each other.
struct RecursiveCall {
  uint32_t save, back;  // blocks: where the caller keeps what it needs, and where it goes on
  uint32_t backState;
  std::vector<ParamObject*> results;
  uint32_t line;
  uint32_t caller;                // the function whose body it is in
  std::vector<uint32_t> callees;  // that it may mean
  uint32_t stack = 0;             // bytes that the caller keeps
};

// Functions that call each other again, as a loop over states: see code_expander_recursion.cpp.
struct Recursion {
  uint32_t cycle = kNone;
  uint32_t firstVariable = 0, firstBlock = 0;
  uint32_t dispatch = 0;                     // block
  uint32_t state = 0, resume = 0, kept = 0;  // variables
  std::vector<uint32_t> states;              // blocks by state
  std::map<uint32_t, Instance*> bodies;      // by function
  std::map<uint32_t, uint32_t> entries;      // function -> state
  // What callers write parameters to and read results from, by the sizes of these: the same for all functions that a
  // call through a register may mean.
  std::map<std::vector<uint64_t>, std::vector<ParamObject*>> incoming, results;
  std::vector<RecursiveCall> calls;
  std::map<uint32_t, uint32_t> localBytes = {};  // function -> bytes of a lane's stack for its local variables
};

// A block that goes on with a call of a function.
struct CallWay {
  uint32_t function, block;
};

class CodeExpander {
 public:
  CodeExpander(RawCode& code, Program& program, const MeetingRules& rules, Copies copies)
      : code_(code), program_(program), rules_(rules), copies_(copies) {}
  // The kernel with all that it calls; returns its first block.
  uint32_t expandKernel();

 private:
  // Blocks of a function body; returns its first block. `after` is where `ret` goes.
  uint32_t expand(Instance& instance, uint32_t after);
  struct Expansion {  // of a body, so far
    Instance& instance;
    std::vector<uint32_t> blockAt;  // by instruction: the block that a label begins there
    uint32_t after = kNone;
    uint32_t current = kNone;
    bool open = true;  // the end of `current` can be reached
  };
  std::vector<uint32_t> blocksOfLabels(const Function& f);
  void goOnAtLabel(Expansion& x, size_t instruction);
  void expandInstruction(Expansion& x, const ptx::Instruction& i);
  void expandSwitch(Expansion& x, const ptx::Instruction& i);
  void expandPlain(Expansion& x, const ptx::Instruction& i);
  enum class Gathering { None, Named, All, Exchange, Barrier };
  Gathering gatheringFor(const Expansion& x, const ptx::Instruction& i) const;
  void expandHold(Expansion& x, const ptx::Instruction& i, uint32_t operands);
  void expandHoldOfAll(Expansion& x, const ptx::Instruction& i);
  ptx::Instruction& expandWait(Expansion& x, const ptx::Instruction& i);
  void expandPartedBarrier(Expansion& x, const ptx::Instruction& i);
  void expandJoint(Expansion& x, const ptx::Instruction& i);
  ptx::Instruction& copyMade(Expansion& x, const ptx::Instruction& i);
  void expandMissing(Expansion& x, const ptx::Instruction& i);
  static uint32_t labelBlock(const Function& f, const std::vector<uint32_t>& blockAt, const Operand& o,
                             const ptx::Instruction& i);
  // A possibly guarded jump; returns the block that what follows goes to.
  uint32_t branch(Instance& instance, const ptx::Instruction& i, uint32_t current, uint32_t target, bool& open);

  // --- code_expander_calls.cpp
  // Each adds to `current` or continues it, and returns the block that what follows goes to.
  uint32_t call(Instance& instance, const ptx::Instruction& i, uint32_t current);
  uint32_t callThroughRegister(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                               uint32_t current);
  uint32_t callFunction(Instance& instance, const ptx::Instruction& i, const CallOperands& call, uint32_t target,
                        uint32_t current);
  uint32_t callInlined(Instance& instance, const ptx::Instruction& i, const CallOperands& call, uint32_t target,
                       uint32_t current);
  std::vector<ParamObject*> passed(Instance& instance, const Operand* list, const std::vector<Variable>& formals,
                                   uint32_t line);
  void readArguments(Instance& instance, const Operand* list, const std::vector<Variable>& formals,
                     const std::vector<ParamObject*>& objects, uint32_t block);
  void writeResults(Instance& instance, const Operand* list, const std::vector<Variable>& formals,
                    const std::vector<ParamObject*>& objects, uint32_t block);
  uint32_t expandBody(Instance& instance, uint32_t after);
  uint32_t formalRegister(const Function& f, const Variable& formal) const;
  CallGraph& graph();

  // --- code_expander_recursion.cpp
  uint32_t callCycle(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                     const std::vector<CallWay>& ways);
  uint32_t callRecursive(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                         const std::vector<CallWay>& ways);
  uint32_t callAgain(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                     const std::vector<CallWay>& ways);
  void chooseStates(Recursion& region, const std::vector<CallWay>& ways, uint32_t common, uint32_t line);
  void passIn(Recursion& region, Instance& instance, const ptx::Instruction& i, const CallOperands& call,
              const Function& callee, uint32_t block);
  void passOut(Recursion& region, Instance& instance, const ptx::Instruction& i, const CallOperands& call,
               const Function& callee, uint32_t block);
  const std::vector<ParamObject*>& objectsFor(std::map<std::vector<uint64_t>, std::vector<ParamObject*>>& all,
                                              const std::vector<Variable>& formals);
  Recursion* newRecursion(uint32_t cycle);
  void addBody(Recursion& region, uint32_t function);
  void placeLocals(Instance& instance, uint32_t block);
  void declarePieces(Instance& instance, const std::vector<ParamObject*>& incoming);
  void copyPieces(ParamObject& from, ParamObject& to, uint32_t block);
  uint32_t newState(Recursion& region, uint32_t block);
  void finish(Recursion& region, uint32_t leave);
  [[noreturn]] void refuseInStates(const Recursion& region, const ptx::Instruction& i) const;
  std::vector<uint32_t> keptBy(const Recursion& region, const RecursiveCall& call,
                               const std::vector<uint32_t>& live) const;
  void keepAndRestore(Recursion& region, RecursiveCall& call, const std::vector<uint32_t>& variables);
  static uint32_t bodyOf(const Recursion& region, const Instance& instance);
  void measureStack(const Recursion& region);
  std::vector<std::vector<uint32_t>> liveBehindCalls(const Recursion& region);

  RawCode& code_;
  Program& program_;
  std::unique_ptr<CallGraph> graph_;  // once there is a call
  std::vector<std::unique_ptr<Recursion>> recursions_;
  size_t expanded_ = 0;
  const MeetingRules rules_;
  const Copies copies_;
};

}  // namespace vg::ptx::gen
