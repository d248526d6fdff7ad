// What integer operations of the interpreter share: a struct an operation, with an instance for each type.
#pragma once

#include <type_traits>

#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {

template <class T>
T as(uint64_t bits) {
  return static_cast<T>(bits);
}
template <class T>
uint64_t bitsFrom(T value) {
  return static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
}

// One struct an operation, `run` on one lane; forType picks the instance for a type.
template <template <class> class Operation>
Compute forType(Type type) {
  switch (type) {
    case Type::S16:
      return Operation<int16_t>::run;
    case Type::U16:
    case Type::B16:
      return Operation<uint16_t>::run;
    case Type::S32:
      return Operation<int32_t>::run;
    case Type::U32:
    case Type::B32:
      return Operation<uint32_t>::run;
    case Type::S64:
      return Operation<int64_t>::run;
    case Type::U64:
    case Type::B64:
      return Operation<uint64_t>::run;
    default:
      return nullptr;
  }
}

}  // namespace vg::ptx::interpreter
