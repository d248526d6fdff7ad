// What the tests of page-locked memory share: host memory that is registered, another context, and whether a call
// waits.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace suite {

// Whole pages of the process, given back at the end of the scope.
class Pages {
 public:
  explicit Pages(size_t bytes, int protection = 3 /* to read and to write */);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();
  uint8_t* data() const { return data_; }
  void protect(int protection) const;

 private:
  uint8_t* data_;
  size_t size_;
};

// Pages that are registered while the scope lasts.
class Registered : public Pages {
 public:
  explicit Registered(size_t bytes, unsigned flags = 0);
  ~Registered();
};

// A further context of the device, current while the scope lasts.
class OtherContext {
 public:
  explicit OtherContext(CUdevice device);
  OtherContext(const OtherContext&) = delete;
  OtherContext& operator=(const OtherContext&) = delete;
  ~OtherContext();

 private:
  CUcontext context_ = nullptr;
};

// Whether `call`, given a stream that is busy until half a second later, succeeds before the stream is free. The stream
// has done its work when this returns.
bool returnsBeforeTheStream(const std::function<CUresult(CUstream)>& call);

}  // namespace suite
