// Whether a thread is in a function of the application that runs in stream order, where it must not call the API: the
// thunks answer it CUDA_ERROR_NOT_PERMITTED, but for the queries that the vendor's driver answers too
// (api/entry/exports.cpp).
#pragma once

namespace vg::core {

// True on a thread that is inside a host function or a stream callback.
extern constinit thread_local bool insideHostFunction [[gnu::tls_model("initial-exec")]];

// The time that a thread spends in a function of the application.
class InsideHostFunction {
 public:
  InsideHostFunction() : before_(insideHostFunction) { insideHostFunction = true; }
  ~InsideHostFunction() { insideHostFunction = before_; }
  InsideHostFunction(const InsideHostFunction&) = delete;

 private:
  const bool before_;
};

}  // namespace vg::core
