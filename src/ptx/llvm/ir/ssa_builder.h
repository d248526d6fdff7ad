// Gives every register SSA values, in one pass over the blocks (after Braun et al., "Simple and Efficient Construction
// of Static Single Assignment Form").
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/llvm/ir/raw_code.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

class SsaBuilder {
 public:
  // `rawOf`: the raw block of each of the program's blocks, which are laid out.
  SsaBuilder(Program& program, RawCode& code, std::vector<uint32_t> rawOf);
  void run();

 private:
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
  void addParamAccess(const ptx::Instruction& ast, Instance& instance, BlockId b);
  // What is read from or written to a call argument, of one piece or several.
  ValueId joined(const std::vector<uint32_t>& pieces, uint32_t bits, BlockId b, uint32_t line);
  void part(const std::vector<uint32_t>& pieces, uint32_t bits, ValueId value, BlockId b, uint32_t line);
  Instruction made(Op op, Type type, std::vector<ValueId> sources, BlockId b, uint32_t line);
  ValueId addResultOf(Instruction out, Class type, BlockId b);
  ValueId timeNow(ptx::Special which, ValueId clock, BlockId b, uint32_t line);
  ValueId displaced(ValueId address, int64_t offset, BlockId b, uint32_t line);
  // A value widened the way `ld` does: the emitter treats an Ld with kNone as its address as this conversion.
  ValueId convert(const ptx::Instruction& ast, const Function& f, ValueId value, Class type, BlockId b);
  // A call of one of the driver's own functions, whose sources are the arguments, or through a register, whose source
  // is the address.
  void addSyscall(Instruction& out, Instance& instance, BlockId b);

  Program& program_;
  RawCode& code_;
  std::vector<uint32_t> rawOf_;
  std::vector<std::map<uint32_t, ValueId>> current_;
  std::vector<std::vector<BlockId>> writtenIn_;  // by variable, in order
  std::vector<ValueId> forward_;
  std::vector<std::pair<ValueId, uint32_t>> pendingPhis_;
  std::map<std::pair<Class, uint64_t>, ValueId> constants_;
  std::map<std::tuple<int, uint32_t, uint32_t, int64_t>, ValueId> symbols_;
  std::map<ptx::Special, ValueId> specials_;
  std::map<Class, ValueId> unwritten_;
};

}  // namespace vg::ptx::gen
