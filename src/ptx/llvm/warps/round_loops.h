// Loops of their own for stretches between barriers, where all warps of a block wait alike.
#pragma once

#include "ptx/llvm/warps/suspend.h"

namespace vg::ptx::gen {

// After splitAtSuspends, for frames with `alike`: stretches that share no code get copies of the loop over warps, so
// that warps need not be sent on their way one by one.
void separateRounds(const SuspendFrame& frame);

}  // namespace vg::ptx::gen
