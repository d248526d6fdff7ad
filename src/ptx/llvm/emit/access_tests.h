// Tests of addresses before they are used: whether they are aligned (analysis/misalignment.h), and what they lead to
// (analysis/reach.h).
#pragma once

#include <functional>
#include <vector>

#include "ptx/llvm/analysis/misalignment.h"
#include "ptx/llvm/analysis/reach.h"
#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class AccessTests : public EmitterPart {
 public:
  AccessTests(Emission& emission, Runner& runner, Masks& masks, Values& values, Addresses& addresses)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        addresses_(addresses),
        alignment_(alignmentTests(program_, options_, options_.trustsParameters)) {}

  const std::vector<AlignmentRule>& alignmentRules() const { return alignment_.rules; }
  void checkAlignment(const Instruction& i, size_t source, const Mask& mask);
  void checkReach(const Instruction& i, size_t source, Space space, uint32_t bytes, const Mask& mask);

 private:
  static constexpr uint32_t kRare = 1, kUsual = 1 << 20;  // weights of branches

  bool atHand(ValueId id, BlockId where) const;
  Value* commonRemainder(ValueId address, const AlignmentTest& test, BlockId where);
  Value* remainderOf(Value* address, const AlignmentTest& test);
  Mask misalignedLanes(ValueId address, const AlignmentTest& test, const Mask& mask);
  Value* anyMisaligned(ValueId address, const AlignmentTest& test, const Mask& mask);  // i1
  void trapMisaligned(Value* bad, const std::function<Value*()>& lanes, uint32_t line);
  Value* reachField(size_t offset);
  Value* isAskedAbout(Value* address);
  bool mayBeLoaded(ValueId address);
  Value* asksAboutAny(const Address& a, const ReachTest& test, BlockId where, const Mask& mask);  // i1
  Value* asksAboutLanes(const Address& a, const Mask& mask);                                      // i1

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Addresses& addresses_;
  AlignmentTests alignment_;
  Value *window_ = nullptr, *windowBytes_ = nullptr;
  std::vector<bool> loaded_;  // where testsLoaded: which values may be (analysis/reach.h), found at the first question
};

}  // namespace vg::ptx::gen
