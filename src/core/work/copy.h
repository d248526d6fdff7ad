// Copies and fills as the API describes them, validated and brought into the one form that streams run.
//
// All checks of copy arguments are here, once for every entry point but batches (copy_batch.h): linear, pitched,
// three-dimensional, between devices. All functions are thread-safe and take no lock unless a stream has work queued.
#pragma once

#include <cuda.h>

#include <memory>

#include "arrays/pages.h"
#include "base/result.h"
#include "copy/shape.h"
#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::alloc {
struct Record;
}
namespace vg::core {
class Device;
}

namespace vg::core::memory {

// How the caller names a side: Device must be memory that CUDA knows, Unified and Host may be pageable too.
enum class Space : uint8_t { Host, Device, Unified };

struct Place {
  uintptr_t address;
  Space space;
  static Place device(CUdeviceptr p) { return {static_cast<uintptr_t>(p), Space::Device}; }
  static Place unified(CUdeviceptr p) { return {static_cast<uintptr_t>(p), Space::Unified}; }
  static Place host(const void* p) { return {reinterpret_cast<uintptr_t>(p), Space::Host}; }
};

// A byte of the first row of an array: what cuMemcpyAtoD and its like copy from and to.
struct ArrayPlace {
  CUarray array;
  size_t offset;  // bytes
};

// A copy or fill that has been checked and is to run later, perhaps often: as graphs do it. The records say what memory
// it was checked against; null: pageable.
struct DescribedCopy {
  copy::Shape shape;  // no bytes: nothing to do
  const alloc::Record* destination = nullptr;
  const alloc::Record* source = nullptr;
  // Set when a side is an array that the application maps: runPaged() runs it, and `shape` has no addresses.
  std::shared_ptr<const arrays::PagedCopy> paged = nullptr;
  bool mustBeMapped = false;  // an array of deferred mapping: touching it unmapped is a fault
};
struct DescribedFill {
  copy::Fill fill;  // no bytes: nothing to do
  const alloc::Record* destination = nullptr;
};
// Any: addresses are looked at by whoever runs the work, with describe called again; nothing is described.
enum class Addresses : uint8_t { Known, Any };
Result<DescribedCopy> describe(const CUDA_MEMCPY3D& box);
// Runs such a copy on the calling thread.
void runPaged(const DescribedCopy& copy, backend::FaultSink& faults);
Result<DescribedFill> describe(const Device& device, const CUDA_MEMSET_NODE_PARAMS_v2& rows,
                               Addresses addresses = Addresses::Known);

}  // namespace vg::core::memory

namespace vg::core::work {

// A row between pointers, as nearly all copies are: a Copy in short.
struct Row {
  memory::Place destination, source;
  size_t bytes;
};

// Copies in the words of the one that knows all of them.
Copy copyOf(const Row& row);
Copy copyOf(const CUDA_MEMCPY2D& box);
Copy copyOf(const CUDA_MEMCPY3D& box);
Copy copyOf(const CUDA_MEMCPY3D_PEER& box);  // the contexts in it say nothing that addresses do not
// A row of which one side or both are arrays.
Copy copyOf(memory::Place destination, memory::ArrayPlace source, size_t bytes);
Copy copyOf(memory::ArrayPlace destination, memory::Place source, size_t bytes);
Copy copyOf(memory::ArrayPlace destination, memory::ArrayPlace source, size_t bytes);

// Copy `i` of a batch.
Copy rowOf(const CopyBatch& batch, size_t i);

inline Fill fillOf(CUdeviceptr destination, size_t pitch, uint32_t value, uint32_t elementSize, size_t width,
                   size_t height) {
  return {{destination, pitch, value, elementSize, width, height, nullptr}, {}};
}

// For Stream::give().
Result<Work> keep(Stream& stream, const Row& row);
Result<Work> keep(Stream& stream, const Copy& copy);
Result<Work> keep(Stream& stream, const Fill& fill);
CUresult perform(Stream& stream, const Row& row, Form form);
CUresult perform(Stream& stream, const Copy& copy, Form form);
CUresult perform(Stream& stream, const Fill& fill, Form form);

}  // namespace vg::core::work
