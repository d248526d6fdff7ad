// How the fake driver shares memory objects: by descriptors of the control node, and as dma-bufs.
#include <cstring>

#include "gpu/fake_driver.h"

namespace vg::testing {

using namespace backend::nvidia;

// One object a descriptor, which must be fresh.
Status FakeDriver::exportObjects(Client& client, std::byte* parameters) {
  const auto& call = *reinterpret_cast<const rm::ExportObjects*>(parameters);
  const auto file = files_.find(call.descriptor);
  if (file == files_.end() || file->second.node != Node::Control || file->second.exported) return 0x3b;
  if (!call.mostObjects || call.count != 1 || call.first) return 0x3b;
  const Object* const device = objectOf(client, call.device);
  const Object* const object = objectOf(client, call.objects[0]);
  if (!device || device->objectClass != rm::kDevice || !object || !object->memory || object->gpu != device->gpu)
    return kObjectNotFound;
  file->second.exported = object->memory;
  file->second.gpu = object->gpu;
  std::memcpy(file->second.note.data(), call.note, sizeof call.note);
  exports_[inodeOf(call.descriptor)] = file->second;
  return kOk;
}

Status FakeDriver::importObject(Client& client, std::byte* parameters) {
  auto& call = *reinterpret_cast<rm::ImportObject*>(parameters);
  const File* const file = exportedBy(call.descriptor);
  if (!file || call.type != rm::kObjectOfManager) return 0x3b;
  const Object* const parent = objectOf(client, call.parent);
  if (!parent || parent->objectClass != rm::kDevice || parent->gpu != file->gpu) return kInvalidParent;
  if (!call.object || objectOf(client, call.object)) return kInsertDuplicate;
  Object& object = client.objects[call.object];
  object.objectClass = rm::kMemoryLocalUser;
  object.gpu = parent->gpu;
  object.parent = call.parent;
  object.memory = file->exported;
  return kOk;
}

Status FakeDriver::exportInfo(std::byte* parameters) {
  auto& info = *reinterpret_cast<rm::ExportInfo*>(parameters);
  const File* const file = exportedBy(info.descriptor);
  if (!file) return 0x3b;
  info.deviceInstance = file->gpu;
  std::memcpy(parameters + abi_->exportNote, file->note.data(), sizeof info.note);
  return kOk;
}

// The first call makes a descriptor; the fake's shows the first part to mmap, as no real one does.
Status FakeDriver::exportDmaBuf(const File& file, rm::DmaBufCall& call) {
  if (call.allowMmap || call.mappingType) return kNotSupported;
  if (!call.count || call.count > rm::DmaBufCall::kMost || call.first + call.count > call.totalObjects)
    return kInvalidArgument;
  Client* const client = file.client < 0 ? nullptr : clientOf(file.client, call.client);
  if (!client) return kInvalidClient;
  for (uint32_t i = 0; i < call.count; ++i) {
    const Object* const object = objectOf(*client, call.objects[i]);
    if (!object || !object->memory || object->gpu != file.gpu) return kObjectNotFound;
    if ((call.offsets[i] | call.bytes[i]) % 4096 || call.offsets[i] + call.bytes[i] > object->memory->bytes())
      return kInvalidArgument;
    if (call.descriptor >= 0) continue;
    File made{Node::Control};
    made.mapping = object->memory;
    made.mappingOffset = call.offsets[i];
    made.mappingBytes = call.bytes[i];
    call.descriptor = nextFile_++;
    files_[call.descriptor] = made;
  }
  return kOk;
}

}  // namespace vg::testing
