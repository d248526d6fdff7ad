// Tells checked mode where lanes of a warp, and warps of a block, meet: barriers, and operations that name the lanes
// that take part.
//
// Only what all living lanes of a warp come to is told of, as compiled code takes the ways of lanes that disagree one
// after the other. Kernels with such an operation on one of these ways are for the interpreter.
#pragma once

#include <optional>

#include "ptx/abi/check_abi.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class MeetingChecks : public EmitterPart {
 public:
  MeetingChecks(Emission& emission, Runner& runner, Masks& masks, Values& values)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values) {}

  // Around every instruction. Throws Unsupported for what only the interpreter can follow.
  void before(const Instruction& i);
  void after(const Instruction& i);

 private:
  bool mayBeAlone(const Instruction& i) const;
  void followed(const Instruction& i) const;
  void beforeBarrier(const Instruction& i);
  void tellCopies(const Instruction& i);
  void tellMembers(const Instruction& i, ValueId members, Meeting meeting);
  void tell(const Instruction& i, Meeting meeting, Value* members);
  bool handsOn();
  Value* barrierArgument(const Instruction& i, size_t source);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  std::optional<bool> handsOn_;  // whether atomics and flags of the kernel carry order
};

}  // namespace vg::ptx::gen
