// Whether an instruction has the operands that its opcode needs: number, kind, register widths. What passes here can
// be read without further checks of operand counts by the interpreter and the code generator. Pure.
#pragma once

#include "ptx/text/ast.h"

namespace vg::ptx {

// Null when the instruction is well formed, or what is wrong with it. Operands are in f.operands already. Names that
// only a later label defines still look like labels.
const char* validate(const Instruction& i, const Function& f);

}  // namespace vg::ptx
