// A kernel with all that it calls, before its registers have values: blocks of instructions over variables. Variables
// are registers of each copy of a function, pieces of call arguments, and what the builder needs itself.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Call arguments are written and read in pieces that overlap: all have to be of one size (RawCode's `granule`).
struct MixedPieces {};

// A call argument: variables by byte offset.
struct ParamObject {
  struct Piece {
    uint32_t variable;
    uint32_t bits;
  };
  std::map<int64_t, Piece> pieces;
};

struct Recursion;  // code_expander.h

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
  // A copy, when ast is null: from a variable or operand, to a variable. The first `bits` of a call argument may be in
  // the place of either.
  uint32_t copyTo = kNone, copyFrom = kNone;
  const Operand* copyOperand = nullptr;
  ParamObject* argument = nullptr;
  uint32_t bits = 0;
};

struct RawBlock {
  std::vector<Item> items;
  Block::Terminator terminator = Block::Exit;
  std::vector<uint32_t> successors;
  uint32_t condition = kNone;  // variable
  bool negated = false;
  uint32_t line = 0;
};

// What an instruction does with variables.
struct Effects {
  std::vector<uint32_t> reads, writes;
  bool always = true;  // writes them in all lanes
};

// Operands of instructions that the builder makes.
namespace operand {
Operand variable(uint32_t variable);
Operand number(uint64_t bits);
Operand at(uint32_t variable, int64_t offset);  // memory
}  // namespace operand

class RawCode {
 public:
  static constexpr uint32_t kEnd = 0;  // the block where lanes that leave go

  // `granule`: bytes of every piece of call arguments; 0: as wide as they are written and read.
  RawCode(Program& program, uint32_t granule);
  RawCode(const RawCode&) = delete;

  uint32_t newVariable(Class type);
  Instance* newInstance(uint32_t functionIndex, const Instance* caller);
  Instance* firstInstance() const { return instances_[0].get(); }
  ParamObject* newObject();
  uint32_t newBlock();
  void jump(uint32_t from, uint32_t to);

  // ld.param and st.param of call arguments (the entry's own parameters are memory).
  static bool isParamAccess(const ptx::Instruction& ast, const Instance& instance);
  ParamObject* objectOf(Instance& instance, const Operand& o, uint32_t line);
  void declarePieces(const ptx::Instruction& i, Instance& instance);
  uint32_t pieceOf(ParamObject& object, int64_t offset, uint32_t bits);
  // The pieces, in order, of what is written or read at once.
  std::vector<uint32_t> piecesOf(ParamObject& object, int64_t offset, uint32_t bits);
  // All functions are expanded: pieces have their widths from here on.
  void settle() { settled_ = true; }

  // Instructions that no PTX has, behind `items`: as the parser would have made them, over variables in place of
  // registers.
  ptx::Instruction& make(std::vector<Item>& items, Op op, Type type, std::initializer_list<Operand> operands,
                         uint32_t line);
  void makeStore(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line);
  void makeLoad(std::vector<Item>& items, uint32_t base, int64_t offset, uint32_t variable, uint32_t line);
  const Instance& made() const { return made_; }  // whose they are

  Effects effectsOf(const Item& item);

  std::vector<RawBlock> blocks;
  std::vector<Class> variableTypes;
  const uint32_t carry;  // the variable that .cc writes

 private:
  void addReads(const Instance& instance, const Operand& o, Effects& out) const;
  void addPieces(Instance& instance, const Operand& o, uint32_t bits, uint32_t count, uint32_t line,
                 std::vector<uint32_t>& to);
  void addCall(const Item& item, Effects& out);

  Program& program_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<ParamObject>> objects_;
  Instance made_;
  const uint32_t granule_;
  bool settled_ = false;
};

// The largest size of pieces of which everything consists that the program's functions write to and read from call
// arguments.
uint32_t granuleOf(const Program& program);

// Gives the program its blocks, in order, and breaks up loops with several entries. Returns the raw block of each.
std::vector<uint32_t> layOutBlocks(RawCode& code, Program& program, uint32_t first);

}  // namespace vg::ptx::gen
