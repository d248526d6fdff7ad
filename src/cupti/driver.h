// The driver library of the process, as far as this one needs it: the table that tells of calls and work
// (api/tables/observer_table.h), and functions of the driver API, whose calls from here nobody is told of.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "api/tables/observer_table.h"

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

// A function of the driver API, looked for at its first call. Calling it is a call of this library's own, and
// CUDA_ERROR_NOT_FOUND where there is none.
template <class Function>
class DriverFunction;
template <class... Args>
class DriverFunction<CUresult(Args...)> {
 public:
  // `symbol`: its exported name.
  constexpr explicit DriverFunction(const char* symbol) : symbol_(symbol) {}
  CUresult operator()(Args... args) {
    auto* function = found_.load(std::memory_order_relaxed);
    if (!function) {
      function = reinterpret_cast<CUresult (*)(Args...)>(driverFunction(symbol_));
      if (!function) return CUDA_ERROR_NOT_FOUND;
      found_.store(function, std::memory_order_relaxed);
    }
    const OwnCalls own;
    return function(args...);
  }

 private:
  const char* const symbol_;
  std::atomic<CUresult (*)(Args...)> found_{nullptr};
};

// The function of the header's name, which may be a macro.
#define VG_CALL_DRIVER(name, ...) VG_CALL_DRIVER_AS(name, __VA_ARGS__)
#define VG_CALL_DRIVER_AS(name, ...)                                         \
  [&] {                                                                      \
    static constinit ::vg::cupti::DriverFunction<decltype(::name)> f{#name}; \
    return f(__VA_ARGS__);                                                   \
  }()

}  // namespace vg::cupti
