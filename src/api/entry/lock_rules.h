// Which calls go on while another process holds this one in the state CU_PROCESS_STATE_LOCKED: those that only ask, and
// those that wait for work, which has ended by then. Recorded from the vendor's driver; what was not recorded waits.
#pragma once

#include "api/entry/same_handler.h"

namespace vg::api {

template <auto kHandler>
constexpr bool runsWhileLocked() {
#define VG_RUNS(name) isSameHandler<kHandler, &handlers::name>() ||
  return
#include "api/entry/lock_rules.inc"
      false;
#undef VG_RUNS
}

}  // namespace vg::api
