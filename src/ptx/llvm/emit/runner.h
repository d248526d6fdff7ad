// What compiled code has of its runner: the records of the launch and of the block, the kernel's parameters and
// variables, its memory, and the functions that the runner does for it. What is read from records is read once a
// launch.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Runner : public EmitterPart {
 public:
  explicit Runner(Emission& emission) : EmitterPart(emission) {}

  void emitYield(uint32_t line, bool seldom = false);  // seldom: in one of some rounds
  Value* atLaunch(const std::function<Value*()>& make);
  Value* globalAddress(uint32_t variable);  // of a module variable in the kernel's table
  Value* launchField(size_t offset, LType* type);
  Value* blockField(size_t offset, LType* type);
  Value* blockIndex(uint32_t axis);
  Value* parameter(int64_t offset, LType* type);
  Value* runtimeCall(size_t offset, LType* result, llvm::ArrayRef<Value*> args);
  Value* ownShared();      // i64 host address of the block's shared memory
  Value* clusterBlocks();  // i32
  Value* sharedBase();
  // What lanes take of their stacks is a multiple of so many bytes and aligned to it, as the stacks are.
  static constexpr uint32_t kStackPiece = 64;
  Value* laneStackStride();  // i64
  Value* laneStacks();       // i64
  void callTrap(TrapReason reason, Value* lanes, uint32_t line);

  Value *block = nullptr, *launch = nullptr,
        *warp = nullptr;    // the records, and which warp runs; from Frame, as are those below
  Value* blockX = nullptr;  // %ctaid.x where a call runs several blocks
  // Where constants of the launch, of the block and of the warp are inserted.
  llvm::Instruction *launchPoint = nullptr, *blockPoint = nullptr, *warpPoint = nullptr;
  Value* localArea = nullptr;                         // of lane 0
  llvm::SmallVector<llvm::AllocaInst*, 8> stackTops;  // <W x i32>: bytes that lanes have taken of their stacks

 private:
  static constexpr uint32_t kSeldom = 16;  // rounds, a power of two
  void emitSeldomYield(uint32_t line);

  std::map<std::pair<size_t, LType*>, Value*> launchFields_, blockFields_;
  std::map<std::pair<int64_t, LType*>, Value*> parameters_;
  std::map<uint32_t, Value*> globals_;
  Value* laneStacks_ = nullptr;         // of kernels with alloca
  llvm::AllocaInst* rounds_ = nullptr;  // i32: of loops that yield seldom
};

}  // namespace vg::ptx::gen
