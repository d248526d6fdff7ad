// Copies and fills as the API describes them, validated and brought into the one form that streams run.
//
// All checks of copy arguments are here, once for every entry point: linear, pitched, three-dimensional, between
// devices. All functions are thread-safe and take no lock unless a stream has work queued.
#pragma once

#include <cuda.h>

#include <memory>

#include "arrays/pages.h"
#include "base/result.h"
#include "copy/shape.h"
#include "core/streams/stream.h"

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

// Whether the caller asked for a function that returns when its work is done, or for the Async form. Either promise may
// be kept by doing more: an asynchronous copy of pageable memory returns when that memory is no longer needed, and a
// synchronous one inside device memory may return early, as the vendor's driver does.
enum class Form : uint8_t { Synchronous, Asynchronous };

CUresult copyLinear(Stream& stream, Place destination, Place source, size_t bytes, Form form);
CUresult copyLinear(Stream& stream, Place destination, ArrayPlace source, size_t bytes, Form form);
CUresult copyLinear(Stream& stream, ArrayPlace destination, Place source, size_t bytes, Form form);
CUresult copyLinear(Stream& stream, ArrayPlace destination, ArrayPlace source, size_t bytes, Form form);
CUresult copyBox(Stream& stream, const CUDA_MEMCPY2D& box, Form form);
CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D& box, Form form);
CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D_PEER& box, Form form);

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
Result<DescribedFill> describeFill(const Device& device, CUdeviceptr destination, size_t pitch, uint32_t value,
                                   uint32_t elementSize, size_t width, size_t height,
                                   Addresses addresses = Addresses::Known);

// `count` elements of `elementSize` bytes, or rows of them.
CUresult fillLinear(Stream& stream, CUdeviceptr destination, uint32_t value, uint32_t elementSize, size_t count,
                    Form form);
CUresult fillRows(Stream& stream, CUdeviceptr destination, size_t pitch, uint32_t value, uint32_t elementSize,
                  size_t width, size_t height, Form form);

}  // namespace vg::core::memory
