// Which calls are "potentially unsafe" for stream captures: while a capture that is not relaxed goes on, the thunk
// refuses them as the capture modes say (core/graphs/capture.h). Recorded from the vendor's driver, which forbids less
// than one would think: loading modules, making streams, events and graphs (not executable ones), and asking for sizes
// are allowed.
#pragma once

#include "api/entry/same_handler.h"

namespace vg::api {

template <auto kHandler>
constexpr bool isUnsafeForCapture() {
#define VG_UNSAFE(name) isSameHandler<kHandler, &handlers::name>() ||
  return
#include "api/entry/capture_rules.inc"
      false;
#undef VG_UNSAFE
}

}  // namespace vg::api
