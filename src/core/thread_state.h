// What the library remembers about a thread: the stack of current contexts. One thread_local of plain data.
#pragma once

namespace vg::core {

class Context;

struct ThreadState {
  Context* current = nullptr;  // top of the stack; null when no context is current
};

extern constinit thread_local ThreadState threadState;

}  // namespace vg::core
