// A variable of the process that is never destroyed, and that takes no memory to be there: destructors and threads that
// run while the process exits, or while there is no memory, may use it.
#pragma once

#include <cstddef>
#include <new>

namespace vg {

// Of a type whose constructor neither takes memory nor throws. `Tag` tells variables of one type apart.
template <class T, class Tag>
T& undying() noexcept {
  alignas(T) static std::byte memory[sizeof(T)];
  static T* const instance = new (memory) T;
  return *instance;
}

}  // namespace vg
