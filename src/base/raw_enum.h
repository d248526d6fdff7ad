// The number in an enum that the application filled in. Reading the enum itself is undefined when the number is none of
// its enumerators.
#pragma once

#include <cstring>
#include <type_traits>

namespace vg {

template <class Enum>
int rawValue(const Enum& value) {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(int));
  int raw;
  std::memcpy(&raw, &value, sizeof raw);
  return raw;
}

}  // namespace vg
