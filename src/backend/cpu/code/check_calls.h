// What compiled kernels ask checked mode (ptx/abi/reach_abi.h, check/blocks/compiled.h).
#pragma once

#include <cstdint>

#include "ptx/abi/check_abi.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/matrix_form.h"

namespace vg::backend::cpu {

// ReachCalls::check.
uint32_t checkAccess(ptx::BlockState* state, ptx::CheckedRanges* ranges, uint32_t warp, uint32_t block, uint32_t mask,
                     const uint64_t* addresses, uint64_t form, uint32_t line, const void* locals, const void* frameEnd,
                     const void* data);

// ReachCalls::meet.
void tellMeeting(ptx::BlockState* state, uint32_t warp, uint32_t mask, ptx::Meeting meeting, uint32_t barrier,
                 uint32_t threads, uint32_t line, const uint32_t* members);

// Whether a matrix instruction may go on. Of rows, lanes that may not name `nowhere`, 16 bytes, instead.
bool checkMatrix(ptx::BlockState* state, uint32_t warp, uint32_t mask, const ptx::MatrixForm& form, uint32_t line,
                 void* operands, void* nowhere);
// The same of a product of four warps, which reads shared memory.
bool checkGroup(ptx::BlockState* state, uint32_t warp, uint32_t mask, const ptx::MatrixForm& form, uint32_t line,
                const void* operands);

}  // namespace vg::backend::cpu
