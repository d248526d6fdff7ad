// Operations on vectors as functions of a module: one for each kind, given vectors by their addresses.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instruction.h>

#include <map>
#include <string>

namespace vg::ptx::gen {

inline bool isVector(const llvm::Value& v) { return v.getType()->isVectorTy(); }

// What a vector is in memory. Of a mask each lane is a byte, whose sign says whether the lane is in it.
llvm::Type* stored(llvm::Type* type);
llvm::Value* loadFrom(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* place);
void storeTo(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* place);

// How an operation is given one of its operands.
enum class Way : uint8_t {
  Memory,  // a vector, by its address
  Splat,   // a vector of equal lanes, by one of them
  Scalar,
  Fixed,  // a constant that is part of the operation
};
Way wayOf(const llvm::Instruction& i, unsigned n);
unsigned operandsOf(const llvm::Instruction& i);  // without the function of a call
bool canPass(const llvm::Type* type);             // as an argument, in a register
// The argument for a scalar: single bits travel as bytes.
llvm::Value* asPassed(llvm::IRBuilder<>& b, llvm::Value* scalar);

// Whether an instruction can be such an operation: it computes from its operands and does nothing else.
bool isOperation(const llvm::Instruction& i);

// The functions of a module that a function calls.
class VectorOperations {
 public:
  explicit VectorOperations(llvm::Function& user) : user_(user), module_(*user.getParent()) {}

  // An operation: of the place of its result, where that is a vector, and its operands.
  llvm::Function* of(const llvm::Instruction& i);
  llvm::Function* copy(llvm::Type* type);           // of a place and where to take from
  llvm::Function* splat(llvm::Type* type);          // of a place and the value of all lanes
  llvm::Function* constant(llvm::Constant& value);  // of a place alone

 private:
  llvm::Function* begin(llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);
  llvm::Function* filler(llvm::Type* source, llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value&)> what);
  llvm::Function* declare(const llvm::Instruction& i);
  llvm::Function* make(const llvm::Instruction& i);
  llvm::Type* pointer();

  llvm::Function& user_;
  llvm::Module& module_;
  std::map<std::string, llvm::Function*> functions_;  // by all that tells operations apart
  std::map<llvm::Type*, llvm::Function*> copies_, splats_;
  std::map<llvm::Constant*, llvm::Function*> constants_;
};

}  // namespace vg::ptx::gen
