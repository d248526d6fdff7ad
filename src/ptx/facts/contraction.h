// Products and sums that a GPU computes as one operation.
#pragma once

#include "ptx/text/ast.h"

namespace vg::ptx {

// Makes fma of add and sub of a product, where neither names a rounding, as ptxas does: in one block, where every use
// of the product is such a sum; of two products the first operand's. Types: f32, f64, f16, bf16 and pairs of halves.
// With `quotients` those of div.approx and div.full count, too: they are the dividend times the reciprocal of the
// divisor, both scaled where the reciprocal would be lost. So does rcp.approx without .ftz: it is scaled behind.
// Modules with `.target debug` stay as they are. Products whose register, or whose operand's register in between, is
// written more than once stay, too.
void contract(Module& module, bool quotients = true);

}  // namespace vg::ptx
