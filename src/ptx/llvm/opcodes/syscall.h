// Traps, the functions that the driver defines, and those with code of their own: calls of the runtime.
#pragma once

#include <string>

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class Syscalls : public EmitterPart {
 public:
  Syscalls(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emitSyscall(const Instruction& i);
  void emitNanosleep(const Instruction& i);
  void emitTrap(const Instruction& i);

 private:
  void emitCallApart(const Instruction& i);
  std::string calledName(const Instruction& i) const;
  Value* argument(const Instruction& i, uint32_t number, uint32_t bits);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
};

}  // namespace vg::ptx::gen
