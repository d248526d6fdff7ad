// The export table of api/observer_table.h.
#pragma once

#include "api/observer_table.h"

namespace vg::api {

const ObserverTable& observerTable();

}  // namespace vg::api
