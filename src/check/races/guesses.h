// Loads that may meet the atomics of others although they are plain: the first guess of a loop around a compare and
// swap, as CUDA's manual has it. What such a load gets does no harm, as the swap looks again.
#pragma once

#include <cstdint>

#include "ptx/text/ast.h"

namespace vg::check {

// Whether the instruction of this PTX line is a load of a word that a compare and swap of its function goes to, too.
bool isGuess(const ptx::Module& module, uint32_t line);

}  // namespace vg::check
