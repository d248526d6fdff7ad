// What kernels of a real GPU print: takes the records of cubin/device_functions.h out of memory that they fill, and
// makes text of them. One reader at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cubin/device_functions.h"

namespace vg::backend {

class DeviceOutput {
 public:
  // Bytes to allocate for CU_LIMIT_PRINTF_FIFO_SIZE.
  static size_t bytesFor(size_t limit);
  // Takes over memory of bytesFor(limit) bytes that the device sees too, and writes its header.
  DeviceOutput(std::byte* memory, size_t bytes);

  struct Drained {
    std::string printed;     // for standard output
    std::string assertions;  // for standard error; not empty: an assertion failed, and its grid has ended
  };
  // Everything that is whole by now. When more was written than fits, the oldest is lost. Cheap when there is nothing.
  Drained drain();

 private:
  uint64_t reserved() const;
  cubin::RecordHeader headerAt(uint64_t place) const;
  bool wholeAt(uint64_t place, uint64_t end) const;
  std::string bytesAt(uint64_t place, size_t bytes) const;

  std::byte* const memory_;
  const uint64_t capacity_;
  uint64_t read_ = 0;  // place of the next record
};

}  // namespace vg::backend
