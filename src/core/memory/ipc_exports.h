// Allocations of a device's heap as other processes get them: offered by the exporter's thread (ipc/exporter.h), asked
// for and mapped by the importer, who keeps what it has mapped whatever becomes of the exporter. Thread-safe.
#pragma once

#include <cuda.h>

#include <memory>

#include "alloc/heap.h"
#include "ipc/handle.h"

namespace vg::core {

class Device;

namespace memory {

// What an exporter says of its memory.
struct MemoryNote {
  uint64_t offset = 0;  // of the first byte in the object
  uint64_t bytes = 0;
  CUuuid device{};
  uint64_t id = 0;                    // of the allocation in the exporter
  uint64_t poolDevice = 0, pool = 0;  // which file is that of its pool; 0: it has none
};

// `subject` and `id` as ipc::publish has them. The offer ends with the allocation.
Result<ipc::Handle> offer(ipc::Subject subject, uint64_t id, const std::shared_ptr<const alloc::Heap::Share>& share,
                          MemoryNote note);

struct ReceivedMemory {
  alloc::PhysicalRef object;
  MemoryNote note;
  Device* device;
};
// Asks the exporter. As ipc::request(), and CUDA_ERROR_MAP_FAILED for what this process cannot have.
Result<ReceivedMemory> receive(const ipc::Handle& handle);

// Addresses that show the pages which hold it, at the same place in a granule as in the object, so that huge pages stay
// possible.
struct ShownMemory {
  uintptr_t reserved = 0;
  size_t reservedBytes = 0;
  uintptr_t start = 0;  // of the allocation
};
Result<ShownMemory> show(const ReceivedMemory& memory);

}  // namespace memory
}  // namespace vg::core
