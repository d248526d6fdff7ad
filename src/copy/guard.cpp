#include "copy/guard.h"

#include "base/system/signal_context.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Where guarded() returns false: entered by the return from a signal, with the stack that vgGuardedCall told.
extern "C" void vgGuardedFault();

namespace vg::copy {

constinit thread_local Guard* innermostGuard [[gnu::tls_model("initial-exec")]] = nullptr;

void forgetFrames([[maybe_unused]] const Guard& guard) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr size_t kFrames = size_t{32} << 10;  // more than any guarded body uses
  __asan_unpoison_memory_region(static_cast<char*>(guard.stack) - kFrames, kFrames);
#endif
}

bool throwOut(void* signalContext) {
  if (!innermostGuard) return false;
  signal_context::goOnAt(signalContext, vgGuardedFault, innermostGuard->stack);
  return true;
}

}  // namespace vg::copy
