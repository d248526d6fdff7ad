// Builds LLVM IR for values of a warp: types, constants, conversions, vectors of lanes, branches, memory of the
// function's own. Knows nothing of the program.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <functional>

#include "ptx/abi/kernel_abi.h"
#include "ptx/llvm/emit/forms.h"

namespace vg::ptx::gen {

class Builder : public llvm::IRBuilder<> {
 public:
  using Value = llvm::Value;
  using LType = llvm::Type;
  using BB = llvm::BasicBlock;

  // With vectors of w lanes, k of which are a warp: whoever builds it may change both before anything is made.
  Builder(llvm::LLVMContext& context, const uint32_t& w, const uint32_t& k)
      : llvm::IRBuilder<>(context), w_(w), k_(k) {}

  llvm::Function* function = nullptr;  // that is made
  BB* entry = nullptr;                 // its first block
  bool caching = true;  // what is made now is also there for all that comes behind it in the present copy

  // A minimum of debug information: instructions that may fault carry their PTX line.
  void describeLines();
  llvm::DebugLoc lineAt(uint32_t line);

  // Types, and constants of the form of a value.
  llvm::VectorType* vectorOf(LType* element) { return llvm::FixedVectorType::get(element, w_); }
  LType* elementType(Class c);
  LType* integerType(uint32_t bits) { return getIntNTy(bits); }
  LType* like(Value* shape, LType* element);  // element, or a vector of it when shape is one
  Value* splatLike(Value* shape, Value* scalar);
  Value* number(Value* shape, LType* element, uint64_t bits);
  Value* real(Value* shape, LType* element, double value);
  Value* iota(uint32_t chunk, LType* element, int64_t stride, uint32_t again = kWarpSize);

  // Conversions.
  Value* asInteger(Value* v, uint32_t bits);  // reinterprets, truncates or zero-extends
  Value* asClass(Value* v, Class type);       // of the class's width, as a float where that is one
  Value* asType(Value* v, Type type);         // as the LLVM type that instructions of a PTX type compute in
  Value* asFloat(Value* v, LType* element);
  Value* extend(Value* v, uint32_t bits, bool isSigned);
  Value* pointer(Value* address) { return CreateIntToPtr(address, getPtrTy()); }

  Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> args);  // overloaded on the first argument's type
  Value* callIntrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<LType*> types, llvm::ArrayRef<Value*> args);

  // Vectors of lanes.
  Value* concat(Value* a, Value* b);
  llvm::SmallVector<Value*, 32> wordsOf(Value* vector);
  Value* joined(llvm::ArrayRef<Value*> pieces);  // a power of two of them
  Value* slice(Value* v, uint32_t first, uint32_t count);
  Value* reversed(Value* v) { return CreateVectorReverse(v); }
  Value* repeatMask(Value* mask, uint32_t count);  // of a lane for its `count` elements
  // The numbered lanes of a warp whose chunks these are, as one vector.
  Value* lanesFrom(const Chunks& chunks, llvm::ArrayRef<int> lanes);
  Value* extractLane(llvm::ArrayRef<Value*> chunks, Value* lane);

  // Branches.
  BB* newBlock(const char* name);
  Value* whenTrue(Value* condition, LType* type, const std::function<Value*()>& body);
  void ifTrue(Value* condition, const std::function<void()>& body);
  // Emits both bodies, each in its block, to which somebody has branched, and goes on behind them: with the elements of
  // the one that was taken, of which both have as many.
  Components eitherOf(BB* first, const std::function<Components()>& inFirst, BB* second,
                      const std::function<Components()>& inSecond);
  // To accesses of whole rows, or lane after lane (row_lanes.h).
  void branchToRow(Value* condition, BB* rows, BB* lanes);

  // Memory of the function's frame.
  llvm::AllocaInst* entryAlloca(LType* type, const char* name, llvm::Align align = llvm::Align(8));
  llvm::AllocaInst* scratch(uint32_t index);                               // 32 lanes of up to 8 bytes
  llvm::AllocaInst* spill(uint32_t index, llvm::ArrayRef<Value*> chunks);  // to a scratch array
  Value* laneAddress(llvm::AllocaInst* array, Value* lane, LType* element);
  Chunks reload(llvm::AllocaInst* array, LType* element);
  void storeLanes(llvm::AllocaInst* array, llvm::ArrayRef<Value*> chunks);

 private:
  LType* likeType(LType* shape, LType* element);
  Value* reinterpret(Value* v, LType* element);

  const uint32_t &w_, &k_;
  llvm::DISubprogram* debugScope_ = nullptr;
  llvm::SmallVector<llvm::AllocaInst*, 8> scratch_;
};

}  // namespace vg::ptx::gen
