// Work that survives memory which is not there: what applications unmap, protect or never had under a copy.
//
// A thread that enters guarded() can be thrown out of it by the handler of SIGSEGV and SIGBUS, which belongs to the
// backend: it asks throwOut() about every such signal. What costs time is the likely way: six registers saved.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace vg::copy {

// What a thread needs to be thrown out: the stack to go on with. The innermost counts.
struct Guard {
  void* stack;
  Guard* outer;
};
extern constinit thread_local Guard* innermostGuard [[gnu::tls_model("initial-exec")]];

extern "C" {
// body(first, second, third), and true; false when it was thrown out. Says in *stack what a Guard wants to know.
bool vgGuardedCall(const void* first, const void* second, size_t third, void* body, void** stack);
}

// Tells sanitizers that the frames below are gone.
void forgetFrames(const Guard& guard);

// Runs body(first, second, third); false when it touched memory that cannot be touched that way. Then it stopped there,
// no destructor ran and what it held it holds for ever: the body must have nothing to undo.
template <class First, class Second, class Third>
[[nodiscard]] inline bool guarded(void (*body)(First*, Second, Third), First* first, Second second, Third third) {
  Guard guard{nullptr, innermostGuard};
  innermostGuard = &guard;
  const bool done = vgGuardedCall(first, reinterpret_cast<const void*>(second), static_cast<size_t>(third),
                                  reinterpret_cast<void*>(body), &guard.stack);
  innermostGuard = guard.outer;
  if (!done) [[unlikely]]
    forgetFrames(guard);
  return done;
}

// The same for anything that can be called.
template <class Body>
[[nodiscard]] inline bool guarded(Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  void (*const call)(Plain*, size_t, size_t) = [](Plain* self, size_t, size_t) { (*self)(); };
  return guarded(call, std::addressof(body), size_t{0}, size_t{0});
}

// For a handler, about a signal that an instruction of this thread caused: true when the thread was guarded; it goes on
// where guarded() returns false once the handler returns. Async-signal-safe.
bool throwOut(void* signalContext);

}  // namespace vg::copy
