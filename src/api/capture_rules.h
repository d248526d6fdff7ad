// Which calls are "potentially unsafe" for stream captures: while a capture that is not relaxed goes on, the thunk
// refuses them as the capture modes say (core/capture.h). Recorded from the vendor's driver, which forbids less than
// one would think: loading modules, making streams, events and graphs (not executable ones), and asking for sizes are
// allowed.
#pragma once

#include <type_traits>

#include "api/call.h"

namespace vg::api {

namespace detail {
template <auto kHandler>
struct Is {};  // functions compared as types: sanitizers do not let their addresses be constants
}  // namespace detail

template <auto kHandler>
constexpr bool isUnsafeForCapture() {
#define VG_UNSAFE(name) std::is_same_v<detail::Is<kHandler>, detail::Is<&handlers::name>> ||
  return
#include "api/capture_rules.inc"
      false;
#undef VG_UNSAFE
}

}  // namespace vg::api
