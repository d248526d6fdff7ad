// Operands of an instruction as the interpreter reads them: slots of registers, constants, addresses.
#pragma once

#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {

// Of the instructions of one function. Requires: the frames of all functions of the program are laid out.
class Operands {
 public:
  Operands(const Program& program, const FunctionCode& code)
      : m_(*program.module), p_(program), code_(&code), f_(code.function) {}

  // Targets and sources of the step, in order.
  void fill(const Instruction& i, Step& s) const;
  // Those of barrier objects and bulk copies.
  void fillAsynchronous(const Instruction& i, Step& s) const;
  // Every operand by itself. Constants are whole numbers unless they are written as floats.
  void fillFlattened(const Instruction& i, Step& s) const;

  Target target(const Operand& o) const;
  // Constants take the form of `type`.
  Source source(const Operand& o, Type type) const;
  // An argument or a result of a call.
  CallSite::Argument passed(const Operand& o) const;

 private:
  void address(const Operand& o, Source& s) const;
  void moduleVariable(uint32_t index, Source& s) const;

  const Module& m_;
  const Program& p_;
  const FunctionCode* const code_;
  const Function* const f_;
};

}  // namespace vg::ptx::interpreter
