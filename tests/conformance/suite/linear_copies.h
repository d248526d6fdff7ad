// The eleven functions that copy one row of bytes, seen as one: a test says what is copied from which kind of memory to
// which, and runs for each function that can.
#pragma once

#include <cuda.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "memory_objects.h"

namespace suite {

enum class Kind { Pageable, Pinned, Device, Managed };

const char* nameOf(Kind kind);

// Some bytes in memory of a kind, at an address that copies take.
class Place {
 public:
  Place(Kind kind, const Bytes& content);
  CUdeviceptr address() const;
  void* host() const { return reinterpret_cast<void*>(address()); }
  Bytes read() const;  // after the device is done with it
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
  Bytes pageable_;
  std::unique_ptr<PinnedBuffer> pinned_;
  std::unique_ptr<DeviceBuffer> device_;
  std::unique_ptr<ManagedBuffer> managed_;
};

struct LinearCopy {
  const char* name;              // cuMemcpyHtoD
  const char* prefix;            // MEMCPYHTOD
  std::vector<Kind> to, from;    // the kinds of memory that the function is for
  bool async;                    // takes a stream
  const char *result, *sync;     // numbers of the rules: what is copied; when the call returns
  const char *order, *fallback;  // of the asynchronous ones: queued in hStream; the default stream
  const char* straddle;          // registered and unregistered memory in one region
  CUresult (*call)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);

  std::string rule(const char* number) const { return std::string(prefix) + "-" + number; }
};

extern const std::vector<LinearCopy> kLinearCopies;

void PrintTo(const LinearCopy& copy, std::ostream* out);

}  // namespace suite
