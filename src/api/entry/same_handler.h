// Whether two handlers are one, for rules about some of them that the thunks are made by.
#pragma once

#include <type_traits>

#include "api/entry/call.h"

namespace vg::api {

namespace detail {
template <auto kHandler>
struct Is {};  // functions compared as types: sanitizers do not let their addresses be constants
}  // namespace detail

template <auto kOne, auto kOther>
constexpr bool isSameHandler() {
  return std::is_same_v<detail::Is<kOne>, detail::Is<kOther>>;
}

}  // namespace vg::api
