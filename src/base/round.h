// Whole multiples.
#pragma once

#include <concepts>
#include <type_traits>

namespace vg {

// The least multiple of `unit` that is not below `value`; both of one type, for literals of the value's.
template <std::unsigned_integral T>
constexpr T roundUp(T value, std::type_identity_t<T> unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace vg
