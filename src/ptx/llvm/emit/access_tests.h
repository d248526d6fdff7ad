// Tests of addresses before they are used: whether they are aligned (analysis/misalignment.h), and what they lead to
// (analysis/reach.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/llvm/analysis/misalignment.h"
#include "ptx/llvm/analysis/reach.h"
#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/ir/ptx_facts.h"

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

  void beginCopy();  // of a block: nothing has been tested in it yet
  const std::vector<AlignmentRule>& alignmentRules() const { return alignment_.rules; }
  // Both for ld, st, atom and red, whose first operand is the address.
  void checkAccess(const Instruction& i, const Mask& mask) {
    checkAlignment(i, 0, mask);
    checkReach(i, 0, i.ast->space, accessBytes(*i.ast), mask);
  }
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
  Value* isOutOfReach(Value* address);
  void askAbout(const Chunks& addresses, uint32_t bytes, const Mask& mask, uint32_t line);
  Value* asksAboutAny(const Address& a, const ReachTest& test, BlockId where, const Mask& mask);  // i1
  Value* asksAboutLanes(const Address& a, const Mask& mask);                                      // i1

  // own_tests.cpp
  void checkOwn(const Instruction& i, size_t source, uint32_t bytes, const Mask& mask);
  struct Span {
    int64_t begin, end;  // from an address
  };
  void listAlike(BlockId block);
  Span takeAlike(const Instruction& i, size_t source, uint32_t bytes);
  Chunks speakers(ValueId address, int64_t offset, ValueId base, BlockId where);
  Value* lacksBit(const Chunks& numbers, const Mask& mask);
  Value* isInOwnRange(const Chunks& numbers, const Mask& mask);
  Value* leavesLocal(const Chunks& places, const Mask& mask);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Addresses& addresses_;
  AlignmentTests alignment_;
  Value *window_ = nullptr, *windowBytes_ = nullptr, *ownBit_ = nullptr;
  // Where testsOwn, of the present copy: accesses by register, guard and its sense that no test is made for yet; those
  // that are.
  using LikeAccesses = std::map<std::tuple<ValueId, ValueId, bool>, std::vector<const Instruction*>>;
  std::optional<LikeAccesses> likeAccesses_;
  std::set<const Instruction*> asked_;
};

}  // namespace vg::ptx::gen
