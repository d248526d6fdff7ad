// The video instructions, for one scalar or for W lanes at a time.
#pragma once

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Video : public EmitterPart {
 public:
  explicit Video(Emission& emission) : EmitterPart(emission) {}

  bool computeVideo(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);

 private:
  Value* videoField(Value* word, uint32_t first, uint32_t bits, bool isSignedField);
  Value* videoLimit(Value* v, uint32_t bits, bool isSignedType);
  Value* videoOperation(const Instruction& i, Value* a, Value* b);
  Value* videoSecond(const Instruction& i, Value* value, Value* c, uint16_t selector, bool isSignedType);
  Value* videoScalar(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);
  Value* videoMultiply(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);
  Value* videoParallel(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);
};

}  // namespace vg::ptx::gen
