// Which calls are "potentially unsafe" for stream captures: while a capture that is not relaxed goes on, the thunk
// refuses them as the capture modes say (core/capture.h). Recorded from the vendor's driver, which forbids less than
// one would think: loading modules, making streams, events and graphs, and asking for sizes are allowed.
#pragma once

#include "api/call.h"

namespace vg::api {

template <auto kHandler>
constexpr bool isUnsafeForCapture() {
  bool unsafe = false;
  const auto is = [&](auto handler) {
    if constexpr (std::is_same_v<decltype(kHandler), decltype(handler)>) unsafe |= kHandler == handler;
  };
#define VG_UNSAFE(name) is(&handlers::name);
#include "api/capture_rules.inc"
#undef VG_UNSAFE
  return unsafe;
}

}  // namespace vg::api
