// Moves, addresses between spaces, selections, and what clusters have of these.
#pragma once

#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"

namespace vg::ptx::gen {

class Moves : public EmitterPart {
 public:
  Moves(Emission& emission, Runner& runner, FloatPieces& pieces)
      : EmitterPart(emission), runner_(runner), pieces_(pieces) {}

  bool computeMove(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  bool computeCluster(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);

 private:
  void move(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* somewhereIn(Space space);
  Value* convertAddress(const Instruction& i, Value* address);
  Value* isInside(Value* address, Value* base, Value* size);
  Value* isShared(Value* address);
  Value* isLocal(Value* address);
  Value* isParameter(Value* address);
  Value* isConstant(Value* address);
  Value* isIn(const Instruction& i, Value* generic);
  Value* isPositive(const ptx::Instruction& ast, Value* v);
  void queryCancelled(const Instruction& i, Value* answer, llvm::SmallVectorImpl<Value*>& r);

  Runner& runner_;
  FloatPieces& pieces_;
};

}  // namespace vg::ptx::gen
