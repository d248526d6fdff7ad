// Barrier objects, bulk and tensor copies: what RuntimeCalls::asynchronous does. Copies are complete when they are
// issued, so that whoever waits for them finds them done. Wild addresses fault in the caller's thread.
#pragma once

#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/async_form.h"

namespace vg::ptx {

// Performs the operation for each lane of the mask; what is not allowed ends in RuntimeCalls::trap. `lanes`:
// kAsyncSlots slots of 32 values. True when the phase of a barrier object ended.
bool performAsync(BlockState* block, uint32_t warp, uint32_t mask, AsyncForm form, uint32_t line, uint64_t* lanes);

}  // namespace vg::ptx
