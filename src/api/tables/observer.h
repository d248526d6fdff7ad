// The export table of api/tables/observer_table.h.
#pragma once

#include "api/tables/observer_table.h"

namespace vg::api {

const ObserverTable& observerTable();

}  // namespace vg::api
