// spdecompress, for one scalar or for W lanes at a time.
#pragma once

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Sparse : public EmitterPart {
 public:
  explicit Sparse(Emission& emission) : EmitterPart(emission) {}

  bool computeSparse(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);

 private:
  Value* field(llvm::ArrayRef<Value*> words, uint32_t bit, uint32_t bits);
};

}  // namespace vg::ptx::gen
