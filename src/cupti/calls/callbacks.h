// The names and numbers of callbacks.
#pragma once

#include "cupti/cupti.h"

namespace vg::cupti {

inline constexpr unsigned kDriverCallbacks = 877, kRuntimeCallbacks = 567;

// How many numbers a domain has, counted from 0; 0: there is no such domain.
unsigned callbackCount(CUpti_CallbackDomain domain);
// Null: no callback of this library has that number.
const char* callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id);
// The number of an entry point of the driver API; 0: it has none.
CUpti_CallbackId driverCallback(const char* symbol);

}  // namespace vg::cupti
