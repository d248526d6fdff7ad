// The driver library that calls are replayed on.
#pragma once

#include <cuda.h>

#include <string>

namespace vg::replay {

class Driver {
 public:
  // Throws std::runtime_error, with a reason for people.
  explicit Driver(const std::string& path);

  // Null: it has no such entry point.
  void* function(const char* symbol) const;
  template <class Function>
  Function* as(const char* symbol) const {
    return reinterpret_cast<Function*>(function(symbol));
  }

 private:
  void* library_;
};
#define VG_REPLAY_DRIVER(driver, name) (driver).as<decltype(::name)>(#name)

// "CUDA_ERROR_INVALID_VALUE", or the number.
std::string resultName(int result);

}  // namespace vg::replay
