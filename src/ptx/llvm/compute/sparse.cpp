#include "ptx/llvm/compute/sparse.h"

#include "ptx/facts/sparse_form.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

// A field of the words that begins at a bit, and is in one of them.
llvm::Value* Sparse::field(ArrayRef<Value*> words, uint32_t bit, uint32_t bits) {
  Value* const word = b_.asInteger(words[bit / 32], 32);
  Value* const down = b_.CreateLShr(word, llvm::ConstantInt::get(word->getType(), bit % 32));
  return b_.CreateAnd(down, llvm::ConstantInt::get(word->getType(), (1u << bits) - 1));
}

// Each place of a group takes one of the group's elements, or none: the last whose index names it.
bool Sparse::computeSparse(const Instruction& i, ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r) {
  if (i.ast->op != Op::Spdecompress) return false;
  const auto form = describeSparse(*i.ast, *i.function);
  if (!form) unsupported(i, "form of spdecompress");
  const ArrayRef<Value*> indexes = s.take_front(form->indexWords()), elements = s.drop_front(form->indexWords());
  LType* const type = b_.asInteger(s[0], 32)->getType();
  r.assign(form->wholeWords(), llvm::Constant::getNullValue(type));
  for (uint32_t group = 0; group < form->groups; ++group) {
    for (uint32_t place = 0; place < form->whole; ++place) {
      Value* chosen = llvm::Constant::getNullValue(type);
      for (uint32_t n = group * form->kept; n < (group + 1) * form->kept; ++n) {
        Value* const index = field(indexes, n * form->indexBits, form->indexBits);
        Value* const named = b_.CreateICmpEQ(index, llvm::ConstantInt::get(type, place));
        chosen = b_.CreateSelect(named, field(elements, n * form->elementBits, form->elementBits), chosen);
      }
      const uint32_t bit = (group * form->whole + place) * form->elementBits;
      Value*& word = r[bit / 32];
      word = b_.CreateOr(word, b_.CreateShl(chosen, llvm::ConstantInt::get(type, bit % 32)));
    }
  }
  return true;
}

}  // namespace vg::ptx::gen
