// Reads a kernel and the functions it calls into blocks, orders them, and gives every register SSA values in one pass
// over the blocks (after Braun et al., "Simple and Efficient Construction of Static Single Assignment Form").
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/llvm/ir/call_graph.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// A call argument: variables by byte offset.
struct ParamObject {
  struct Piece {
    uint32_t variable;
    uint32_t bits;
  };
  std::map<int64_t, Piece> pieces;
};

struct Recursion;

// One inlined copy of a function.
struct Instance {
  const Function* function = nullptr;
  uint32_t functionIndex = 0;
  uint32_t firstVariable = 0;
  std::vector<ParamObject*> parameters, returns;
  std::map<uint32_t, ParamObject*> locals;  // .param variables of the body
  const Instance* caller = nullptr;
  Recursion* recursion = nullptr;  // the functions that call each other, among which this copy is or is called from
  // Of a function that calls itself again: the variable with the address of its local memory, and what lies where in
  // it.
  uint32_t localBase = kNone;
  std::map<uint32_t, uint32_t> localOffsets;
};

struct Item {
  const ptx::Instruction* ast = nullptr;
  Instance* instance = nullptr;
  // A copy between a register and a call argument, when ast is null.
  uint32_t copyTo = kNone, copyFrom = kNone;
  const Operand* copyOperand = nullptr;
};

struct RawBlock {
  std::vector<Item> items;
  Block::Terminator terminator = Block::Exit;
  std::vector<uint32_t> successors;
  uint32_t condition = kNone;  // variable
  bool negated = false;
  uint32_t line = 0;
};

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

// Functions that call each other again, as a loop over states: see ssa_recursion.cpp.
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

class SsaBuilder {
 public:
  SsaBuilder(const Module& module, uint32_t entry, bool meetings, Copies copies);
  Program build();

 private:
  static constexpr uint32_t kEnd = 0;

  // --- ssa_expand.cpp
  uint32_t newVariable(Class type);
  Instance* newInstance(uint32_t functionIndex, const Instance* caller);
  ParamObject* newObject();
  uint32_t newBlock();
  void jump(uint32_t from, uint32_t to);
  // Blocks of a function body; returns its first block. `after` is where `ret` goes.
  uint32_t expand(Instance& instance, uint32_t after);
  static uint32_t labelBlock(const Function& f, const std::vector<uint32_t>& blockAt, const Operand& o,
                             const ptx::Instruction& i);
  // A possibly guarded jump; returns the block that what follows goes to.
  uint32_t branch(Instance& instance, const ptx::Instruction& i, uint32_t current, uint32_t target, bool& open);
  ParamObject* objectOf(Instance& instance, const Operand& o, uint32_t line);
  void declarePieces(const ptx::Instruction& i, Instance& instance);
  uint32_t pieceOf(ParamObject& object, int64_t offset, uint32_t bits, uint32_t line);
  // Follows empty blocks that only jump.
  uint32_t thread(uint32_t b);
  void layOutBlocks(uint32_t first);

  // --- ssa_tangles.cpp
  std::vector<std::vector<uint32_t>> ways() const;
  void untangleLoops(uint32_t start);
  void enterThrough(uint32_t dispatch, const TangledLoop& loop);

  // --- ssa_calls.cpp
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
                     const std::vector<ParamObject*>& objects, uint32_t block, uint32_t line);
  void writeResults(Instance& instance, const Operand* list, const std::vector<ParamObject*>& objects, uint32_t block);
  uint32_t expandBody(Instance& instance, uint32_t after);
  uint32_t formalRegister(const Function& f, const Variable& formal) const;
  CallGraph& graph();

  // --- ssa_recursion.cpp
  // The kernel with all that it calls; returns its first block.
  uint32_t expandKernel();
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
  void copyPieces(ParamObject& from, ParamObject& to, uint32_t block, uint32_t line);
  uint32_t newState(Recursion& region, uint32_t block);
  void finish(Recursion& region, uint32_t leave);
  void refuseMeetings(const Recursion& region) const;
  std::vector<uint32_t> keptBy(const Recursion& region, const RecursiveCall& call,
                               const std::vector<std::vector<bool>>& live) const;
  void keepAndRestore(Recursion& region, RecursiveCall& call, const std::vector<uint32_t>& variables);
  static uint32_t bodyOf(const Recursion& region, const Instance& instance);
  void measureStack(const Recursion& region);

  // --- ssa_liveness.cpp
  struct Effects {
    std::vector<uint32_t> reads, writes;  // variables
    bool always = true;                   // writes them in all lanes
  };
  Effects effectsOf(const Item& item);
  void addReads(const Instance& instance, const Operand& o, Effects& out) const;
  void addPieces(Instance& instance, const Operand& o, uint32_t bits, uint32_t count, uint32_t line,
                 std::vector<uint32_t>& to);
  void addCall(const Item& item, Effects& out);
  // By block from region.firstBlock, by variable from region.firstVariable: read before it is written.
  std::vector<std::vector<bool>> liveVariables(const Recursion& region);

  // --- ssa_made.cpp
  static Operand inVariable(uint32_t variable);
  static Operand number(uint64_t bits);
  static Operand at(uint32_t variable, int64_t offset);
  ptx::Instruction& make(std::vector<Item>& items, Op op, Type type, std::initializer_list<Operand> operands,
                         uint32_t line);
  void makeStore(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line);
  void makeLoad(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line);
  Item made(const ptx::Instruction& i);

  // --- ssa_values.cpp
  ValueId newValue(Value value);
  ValueId resolve(ValueId v);
  // What a register holds that nothing wrote.
  ValueId unwritten(Class type);
  ValueId newPhi(BlockId b, uint32_t variable);
  // The value of a variable at the end of a block (or so far, while it is being filled).
  ValueId read(uint32_t variable, BlockId b);
  bool leavesLoop(BlockId from, BlockId to) const;
  void noteWrites();
  bool writes(LoopId loop, uint32_t variable) const;
  BlockId wayInto(LoopId loop) const;
  BlockId beforeLoop(uint32_t variable, BlockId b) const;
  void write(uint32_t variable, BlockId b, ValueId value) { current_[b][variable] = value; }
  void completePhis();
  // The one value a phi stands for, or kNone. A phi that carries a value out of its loop stays.
  ValueId trivialValue(ValueId id);
  void removeTrivialPhis();
  void removeDeadPhis();
  // A phi of float results is kept as a float: registers of newer PTX do not say.
  void refineTypes();
  void markCrossBlockUses();

  // --- ssa_operands.cpp
  ValueId constant(Class type, uint64_t bits);
  static uint64_t immediateBits(const Operand& o, Type type);
  ValueId symbolValue(const Instance& instance, SymbolKind kind, uint32_t symbol, int64_t offset, uint32_t line);
  void noteVariable(const Variable& v);
  void placeLocal(uint32_t function, uint32_t symbol, const Variable& v);
  ValueId special(ptx::Special which, uint32_t line);
  static uint32_t ownLocal(const Instance& instance, const Operand& o);
  // One source operand (not a vector) as a value.
  void addSource(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type);
  void addOperand(Instruction& out, const Instance& instance, const Operand& o, BlockId b, Type type);

  // --- ssa_instructions.cpp
  void fillBlock(BlockId b);
  void addItem(const Item& item, BlockId b);
  void addResult(Instruction& out, const Instance& instance, const Operand& o, BlockId b, uint32_t index);
  ValueId addResultVariable(Instruction& out, uint32_t variable, BlockId b, uint32_t index, Class type);
  void addCopy(const Item& item, BlockId b);
  // ld.param and st.param of call arguments (the entry's own parameters are memory).
  static bool isParamAccess(const ptx::Instruction& ast, const Instance& instance);
  void addParamAccess(const ptx::Instruction& ast, Instance& instance, BlockId b);
  ValueId addResultOf(Instruction out, Class type, BlockId b);
  ValueId displaced(ValueId address, int64_t offset, BlockId b, uint32_t line);
  // A value widened the way `ld` does: the emitter treats an Ld with kNone as its address as this conversion.
  ValueId convert(const ptx::Instruction& ast, const Function& f, ValueId value, Class type, BlockId b);
  // A call of one of the driver's own functions: sources are the arguments.
  void addSyscall(Instruction& out, Instance& instance, BlockId b, uint32_t index);

  Program program_;
  std::vector<RawBlock> raw_;
  std::vector<uint32_t> rawOf_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<ParamObject>> objects_;
  std::vector<Class> variableTypes_;
  std::vector<std::map<uint32_t, ValueId>> current_;
  std::vector<std::vector<BlockId>> writtenIn_;  // by variable, in order
  std::vector<ValueId> forward_;
  std::vector<std::pair<ValueId, uint32_t>> pendingPhis_;
  std::map<std::pair<Class, uint64_t>, ValueId> constants_;
  std::map<std::tuple<int, uint32_t, uint32_t, int64_t>, ValueId> symbols_;
  std::map<ptx::Special, ValueId> specials_;
  std::map<Class, ValueId> unwritten_;
  std::unique_ptr<CallGraph> graph_;  // once there is a call
  std::vector<std::unique_ptr<Recursion>> recursions_;
  Instance madeInstance_;
  uint32_t carry_ = 0;
  size_t expanded_ = 0;
  bool filling_ = false;  // all functions are expanded
  const bool meetings_;   // begin blocks
  const Copies copies_;
};

}  // namespace vg::ptx::gen
