// The driver library of the process, as far as this one needs it: the table that tells of calls and work
// (api/observer_table.h), and functions of the driver API, whose calls from here nobody is told of.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "api/observer_table.h"

namespace vg::cupti {

// Null where the driver library that the process finds is not ours, or is of another build: the log says so once.
const api::ObserverTable* driver();

// A function of the driver API by its exported name; null where there is none.
void* driverFunction(const char* symbol);

// While it lives, calls of the driver API on this thread are this library's own.
class OwnCalls {
 public:
  OwnCalls();
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  // Whether the thread is in one.
  static bool here();
};

// Calls a function of the driver API as this library's own. CUDA_ERROR_NOT_FOUND where there is none.
template <class Function, class... Args>
CUresult callDriver(const char* symbol, Args... args) {
  auto* const function = reinterpret_cast<Function*>(driverFunction(symbol));
  if (!function) return CUDA_ERROR_NOT_FOUND;
  const OwnCalls own;
  return function(args...);
}
// The name that the header's macro stands for.
#define VG_CALL_DRIVER(name, ...) VG_CALL_DRIVER_AS(name, __VA_ARGS__)
#define VG_CALL_DRIVER_AS(name, ...) ::vg::cupti::callDriver<decltype(::name)>(#name, __VA_ARGS__)

}  // namespace vg::cupti
