#include "core/memory/ipc_exports.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/round.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "ipc/exporter.h"
#include "ipc/importer.h"

namespace vg::core::memory {
namespace {

static_assert(sizeof(MemoryNote) <= sizeof(ipc::Note));

class MemoryOffer final : public ipc::Offer {
 public:
  MemoryOffer(std::weak_ptr<const alloc::Heap::Share> share, const MemoryNote& note)
      : share_(std::move(share)), note_(note) {}

  Result<int> descriptor() const override {
    const auto share = share_.lock();
    if (!share) return fail(CUDA_ERROR_INVALID_VALUE, "the memory has been freed");
    return share->memory->duplicate();
  }
  bool lives() const override { return !share_.expired(); }
  ipc::Note note() const override {
    ipc::Note note{};
    std::memcpy(note.data(), &note_, sizeof note_);
    return note;
  }

 private:
  const std::weak_ptr<const alloc::Heap::Share> share_;
  const MemoryNote note_;
};

// What an exporter gave is nothing any more when it has ended meanwhile; who asks again finds that out.
CUresult whyNot(const ipc::Handle& handle) {
  Result<ipc::Grant> again = ipc::request(handle);
  if (!again) return again.error();
  ::close(again->descriptor);
  return CUDA_ERROR_MAP_FAILED;
}

Result<Device&> deviceWith(const CUuuid& uuid) {
  for (int i = 0; i < deviceCount(); ++i)
    if (!std::memcmp(&deviceAt(i).traits().uuid, &uuid, sizeof uuid)) return deviceAt(i);
  return fail(CUDA_ERROR_MAP_FAILED, "the memory is on a device that this process does not see");
}

}  // namespace

Result<ipc::Handle> offer(ipc::Subject subject, uint64_t id, const std::shared_ptr<const alloc::Heap::Share>& share,
                          MemoryNote note) {
  note.offset = share->offset;
  note.bytes = share->bytes;
  return ipc::publish(subject, id, std::make_shared<const MemoryOffer>(share, note));
}

Result<ReceivedMemory> receive(const ipc::Handle& handle) {
  VG_TRY(const ipc::Grant grant, ipc::request(handle));
  MemoryNote note;
  std::memcpy(&note, grant.note.data(), sizeof note);
  Result<Device&> device = deviceWith(note.device);
  Result<alloc::PhysicalRef> object = device ? device->backend().memory().import(grant.descriptor) : device.error();
  ::close(grant.descriptor);
  if (!device || !object) return whyNot(handle);
  return ReceivedMemory{std::move(*object), note, &device.value()};
}

Result<ShownMemory> show(const ReceivedMemory& memory) {
  const MemoryNote& note = memory.note;
  const alloc::PhysicalMemory& object = *memory.object;
  if (!note.bytes || note.offset > object.bytes() || note.bytes > object.bytes() - note.offset)
    return fail(CUDA_ERROR_MAP_FAILED, "%zu bytes at %zu of an object of %zu", size_t{note.bytes}, size_t{note.offset},
                object.bytes());
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  const size_t inGranule = note.offset % alloc::kGranule, page = object.pageBytes();
  ShownMemory shown;
  shown.reservedBytes = roundUp(inGranule + note.bytes, alloc::kGranule);
  VG_TRY(shown.reserved, space.reserve(shown.reservedBytes));
  shown.start = shown.reserved + inGranule;
  const size_t first = note.offset / page * page;
  auto* const start = reinterpret_cast<std::byte*>(shown.reserved) + inGranule / page * page;
  const size_t bytes = roundUp(note.offset + note.bytes - first, page);
  if (object.map(start, first, bytes, alloc::Protection::ReadWrite) != CUDA_SUCCESS) {
    space.free(shown.reserved, shown.reservedBytes);
    return CUDA_ERROR_MAP_FAILED;
  }
  madvise(start, bytes, MADV_DONTFORK);  // a child of a fork must not keep it
  return shown;
}

}  // namespace vg::core::memory
