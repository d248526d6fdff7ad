// What the library remembers about a thread: the stack of current contexts, and the thread's capture mode. One
// thread_local of plain data, small enough for the space that the C library keeps for libraries opened later.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace vg::core {

class Context;
class GreenContext;

// A context as a thread remembers it. The generation tells the context that was made current from a later one that has
// the same address. A green context is one beside its primary one, and its generation is the green one's number, which
// the primary context never has: Context::usable() says no, and the unlikely path looks closer.
struct ContextReference {
  Context* context = nullptr;
  uint64_t generation = 0;
  GreenContext* green = nullptr;
};

struct ThreadState {
  Context* current = nullptr;  // top of the stack; null when no context is current
  uint64_t generation = 0;     // of current, or of green where there is one
  GreenContext* green = nullptr;
  CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint32_t depth = 0;  // entries below the top
  static constexpr uint32_t kInline = 3;
  ContextReference below[kInline];
  ContextReference* overflow = nullptr;  // deeper entries; freed when the last of them is popped
};

extern constinit thread_local ThreadState threadState [[gnu::tls_model("initial-exec")]];

// The per-thread stack of contexts. Null stands for "no context", and may be pushed by setCurrent only.
void pushCurrent(ContextReference context);
// Takes the context off that is on top; null when there is none.
ContextReference takeCurrent();
// Replaces the top of the stack; null pops it.
void setCurrent(ContextReference context);
// The context on top; null when there is none.
inline ContextReference currentReference() { return {threadState.current, threadState.generation, threadState.green}; }

}  // namespace vg::core
