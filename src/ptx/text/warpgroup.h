// wgmma: what the four warps of a warpgroup do together, as what each of them does for itself (facts/matrix_form.h). A
// product is made where it stands, and is there at once. Who waits for it waits for the other warps: before it has
// passed, all have read what shared memory held. wgmma.fence and wgmma.commit_group have nothing left to do.
#pragma once

#include "ptx/text/ast.h"

namespace vg::ptx {

// Appends to the function's body what stands for the instruction, whose operands are the function's.
void addOfWarpgroup(Function& f, Instruction i);

}  // namespace vg::ptx
