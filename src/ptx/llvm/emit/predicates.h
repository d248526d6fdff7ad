// What predicates say of lanes: as masks, and by tests of scalars whether all lanes hold or none does.
#pragma once

#include <utility>

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/ir/row_thread.h"

namespace vg::ptx::gen {

class Predicates : public EmitterPart {
 public:
  Predicates(Emission& emission, Masks& masks, Values& values)
      : EmitterPart(emission), masks_(masks), values_(values) {}

  // Cheap tests of a predicate by scalars: {all lanes true, no lane true}, null when there is none.
  std::pair<Value*, Value*> quickTests(ValueId predicate, bool negated, int depth = 0);
  Mask mixedMask(ValueId predicate, bool negated);
  Mask guardedMask(const Instruction& i);
  Mask maskOf(ValueId predicate, bool negated);
  PartedMask partedMaskOf(ValueId predicate, bool negated);

 private:
  std::pair<Value*, Value*> rowTests(const Instruction& i, const RowComparison& comparison, bool negated);
  std::pair<Value*, Value*> straightTests(const Instruction& i, Value* base, Value* bound, int64_t distance,
                                          bool swapped);

  Masks& masks_;
  Values& values_;
};

}  // namespace vg::ptx::gen
