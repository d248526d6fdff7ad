// Memory objects of a GPU as descriptors: for other processes, which import the object, and for other drivers, as
// dma-bufs. Whoever has imported keeps the memory, whatever becomes of the exporter.
#pragma once

#include <vector>

#include "backend/nvidia/driver/memory_object.h"
#include "backend/nvidia/driver/share_abi.h"

namespace vg::backend::nvidia {

// What travels with an object's descriptor.
struct ExportNote {
  uint8_t bytes[rm::kExportNoteBytes] = {};
};

// A new descriptor, which the caller owns, of the object.
Result<int> exportObject(Gpu& gpu, const MemoryObject& object, const ExportNote& note);
// The note of a descriptor that exportObject() made, here or in another process, for the same GPU. Quiet about what is
// none: CUDA_ERROR_INVALID_VALUE.
Result<ExportNote> exportNote(Gpu& gpu, int descriptor);
// The object of such a descriptor, of so many bytes. Who says more than there are gets errors from mappings.
Result<std::unique_ptr<MemoryObject>> importObject(Gpu& gpu, int descriptor, size_t bytes);

struct ObjectPart {
  const MemoryObject* object;
  size_t offset, bytes;  // multiples of 4 KiB
};
// A new dma-buf, which the caller owns, of these parts in a row.
Result<int> exportDmaBuf(Gpu& gpu, const std::vector<ObjectPart>& parts);

}  // namespace vg::backend::nvidia
