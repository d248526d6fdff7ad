// Calls of the driver and runtime APIs: callbacks before and behind them, their records, and what they mean.
#pragma once

#include <cstdint>

#include "api/tables/observer_table.h"

namespace vg::cupti::calls {

// The numbers of entry points, once, before the others.
void learn(const api::ObserverTable& table);

void began(api::ObservedCall& call);
void ended(api::ObservedCall& call);
void runtimeCall(uint32_t callback, api::RuntimeCall& call);

// As records have them.
uint32_t threadNumber();

}  // namespace vg::cupti::calls
