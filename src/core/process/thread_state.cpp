#include "core/process/thread_state.h"

#include <algorithm>

namespace vg::core {

constinit thread_local ThreadState threadState [[gnu::tls_model("initial-exec")]];

static_assert(sizeof(ThreadState) <= 128, "the C library keeps little room for thread-locals of libraries opened late");

namespace {

constexpr uint32_t kMinimumOverflow = 16;

// The deeper entries live in an array whose size is the next power of two.
uint32_t overflowCapacity(uint32_t used) {
  uint32_t capacity = kMinimumOverflow;
  while (capacity < used) capacity *= 2;
  return capacity;
}

void growOverflow(ThreadState& state, uint32_t used) {
  const uint32_t capacity = overflowCapacity(used);
  if (state.overflow && capacity < used + 1) {
    auto* grown = new ContextReference[overflowCapacity(used + 1)];
    std::copy_n(state.overflow, used, grown);
    delete[] state.overflow;
    state.overflow = grown;
  } else if (!state.overflow) {
    state.overflow = new ContextReference[kMinimumOverflow];
  }
}

void pushBelow(ThreadState& state, ContextReference entry) {
  if (state.depth < ThreadState::kInline) {
    state.below[state.depth] = entry;
  } else {
    const uint32_t used = state.depth - ThreadState::kInline;
    growOverflow(state, used);
    state.overflow[used] = entry;
  }
  ++state.depth;
}

ContextReference popBelow(ThreadState& state) {
  if (!state.depth) return {};
  --state.depth;
  if (state.depth < ThreadState::kInline) return state.below[state.depth];
  const ContextReference entry = state.overflow[state.depth - ThreadState::kInline];
  if (state.depth == ThreadState::kInline) {
    delete[] state.overflow;
    state.overflow = nullptr;
  }
  return entry;
}

void setTop(ThreadState& state, ContextReference entry) {
  state.current = entry.context;
  state.generation = entry.generation;
  state.green = entry.green;
}

}  // namespace

void pushCurrent(ContextReference context) {
  ThreadState& state = threadState;
  if (state.current) pushBelow(state, currentReference());
  setTop(state, context);
}

ContextReference takeCurrent() {
  ThreadState& state = threadState;
  const ContextReference top = currentReference();
  setTop(state, popBelow(state));
  return top;
}

void setCurrent(ContextReference context) {
  ThreadState& state = threadState;
  setTop(state, context.context ? context : popBelow(state));
}

}  // namespace vg::core
