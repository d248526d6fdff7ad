#include "backend/nvidia/driver/shared_object.h"

#include <cstring>

namespace vg::backend::nvidia {
namespace {

CUresult addParts(Gpu& gpu, const std::vector<ObjectPart>& parts, size_t first, rm::DmaBufCall& call) {
  call.count = static_cast<uint32_t>(std::min<size_t>(parts.size() - first, rm::DmaBufCall::kMost));
  call.first = static_cast<uint32_t>(first);
  for (uint32_t i = 0; i < call.count; ++i) {
    parts[first + i].object->noteShared();
    call.objects[i] = parts[first + i].object->handle();
    call.offsets[i] = parts[first + i].offset;
    call.bytes[i] = parts[first + i].bytes;
  }
  const Status status = gpu.client().exportDmaBuf(gpu.file(), call);
  return status ? refused(status, "a dma-buf of %zu parts", parts.size()) : CUDA_SUCCESS;
}

}  // namespace

Result<int> exportObject(Gpu& gpu, const MemoryObject& object, const ExportNote& note) {
  Client& client = gpu.client();
  VG_TRY(DeviceFile file, openDeviceFile(client.calls(), Client::kControlNode));
  rm::ExportObjects call{};
  call.descriptor = file.descriptor();
  call.device = gpu.device();
  call.mostObjects = 1;
  std::memcpy(call.note, note.bytes, sizeof call.note);
  call.objects[0] = object.handle();
  call.count = 1;
  object.noteShared();
  if (const Status status = client.control(client.handle(), rm::kExportObjects, &call, sizeof call))
    return refused(status, "to export %zu bytes", object.bytes());
  return file.release();
}

Result<ExportNote> exportNote(Gpu& gpu, int descriptor) {
  Client& client = gpu.client();
  rm::ExportInfo info{};
  info.descriptor = descriptor;
  const Status status = client.control(client.handle(), rm::kGetExportInfo, &info, client.abi().exportInfo);
  if (status || info.deviceInstance != gpu.instance()) return CUDA_ERROR_INVALID_VALUE;
  ExportNote note;
  std::memcpy(note.bytes, reinterpret_cast<const std::byte*>(&info) + client.abi().exportNote, sizeof note.bytes);
  return note;
}

Result<std::unique_ptr<MemoryObject>> importObject(Gpu& gpu, int descriptor, size_t bytes) {
  Client& client = gpu.client();
  rm::ImportObject call{descriptor, rm::kObjectOfManager, gpu.device(), gpu.device(), client.newHandle()};
  if (const Status status = client.control(client.handle(), rm::kImportObject, &call, sizeof call))
    return refused(status, "to import %zu bytes", bytes);
  return MemoryObject::adopt(gpu, call.object, bytes);
}

// The first call makes the descriptor, others add to it.
Result<int> exportDmaBuf(Gpu& gpu, const std::vector<ObjectPart>& parts) {
  if (gpu.client().abi().dmaBuf != sizeof(rm::DmaBufCall))
    return fail(CUDA_ERROR_NOT_SUPPORTED, "dma-bufs of driver %s are not known here", gpu.client().version().c_str());
  rm::DmaBufCall call{};
  call.descriptor = -1;
  call.client = gpu.client().handle();
  call.totalObjects = static_cast<uint32_t>(parts.size());
  for (const ObjectPart& part : parts) call.totalBytes += part.bytes;
  for (size_t done = 0; done < parts.size(); done += call.count) {
    const CUresult added = addParts(gpu, parts, done, call);
    if (added == CUDA_SUCCESS) continue;
    if (call.descriptor >= 0) gpu.client().calls().close(call.descriptor);
    return added;
  }
  return call.descriptor;
}

}  // namespace vg::backend::nvidia
