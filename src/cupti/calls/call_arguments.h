// Reads arguments of a driver call from the structure that holds them.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>

namespace vg::cupti {

// The first arguments of a call, by their types: Arguments<CUstream, CUevent>(call.arguments).get<1>().
template <class... Types>
class Arguments {
 public:
  explicit Arguments(const void* structure) : bytes_(static_cast<const std::byte*>(structure)) {}

  template <size_t kIndex>
  auto get() const {
    using Type = std::tuple_element_t<kIndex, std::tuple<Types...>>;
    Type value;
    std::memcpy(&value, bytes_ + offsetOf(kIndex), sizeof value);
    return value;
  }

 private:
  static constexpr size_t offsetOf(size_t index) {
    constexpr size_t kSizes[] = {sizeof(Types)...}, kAlignments[] = {alignof(Types)...};
    size_t end = 0;
    for (size_t i = 0;; ++i) {
      const size_t at = (end + kAlignments[i] - 1) / kAlignments[i] * kAlignments[i];
      if (i == index) return at;
      end = at + kSizes[i];
    }
  }
  const std::byte* const bytes_;
};

}  // namespace vg::cupti
