// Barrier objects, bulk and tensor copies: what RuntimeCalls::asynchronous does. Copies are complete when they are
// issued, so that whoever waits for them finds them done. Wild addresses fault in the caller's thread.
#pragma once

#include <cstddef>

#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/async_form.h"

namespace vg::ptx {

// What the runner wants to know of barrier objects, by their addresses in the host.
class ObjectWatch {
 public:
  // Lanes have asked whether a phase is over; `again`: those that it is not over for.
  virtual void asked(const std::byte* object, uint32_t lanes, uint32_t again) = 0;
  // A phase is about to end, or the object to be set up or given up. True: others ran meanwhile, so it may have
  // changed.
  virtual bool letOthersLook(const std::byte* object) = 0;
  virtual void changed(const std::byte* object) = 0;
  // Bytes are about to come for an object, perhaps in another block: one that has yet to set it up runs first.
  virtual void awaitSetUp(const std::byte* object) = 0;

 protected:
  ~ObjectWatch() = default;
};

// Performs the operation for each lane of the mask; what is not allowed ends in RuntimeCalls::trap. `lanes`:
// kAsyncSlots slots of 32 values. True when the phase of a barrier object ended. `watch` may be null.
bool performAsync(BlockState* block, uint32_t warp, uint32_t mask, AsyncForm form, uint32_t line, uint64_t* lanes,
                  ObjectWatch* watch = nullptr);

}  // namespace vg::ptx
