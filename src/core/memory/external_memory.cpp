#include "core/memory/external_memory.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "alloc/address_space.h"
#include "alloc/host_memory.h"
#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "base/undo.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"

namespace vg::core::memory {
namespace {

struct External {
  Context* owner;
  alloc::PhysicalRef memory;
  unsigned long long bytes;  // that the importer says there are
};

// A mapping from the page that holds the buffer's first byte on.
struct Buffer {
  alloc::PhysicalRef memory;
  alloc::Record* record;
  uintptr_t start;
  size_t bytes;
};

constexpr uint32_t kBuffer = 1u << 31;  // in Record::flags

constinit Slab<External, 1 << 16> slab;
constinit Mutex mutex;  // guards buffers, and finding and ending objects

std::map<uintptr_t, Buffer>& buffers() VG_REQUIRES(mutex) { return undying<std::map<uintptr_t, Buffer>, Buffer>(); }

Result<External&> find(CUexternalMemory handle) {
  External* external = slab.find(handle);
  if (!external) return fail(CUDA_ERROR_INVALID_VALUE, "%p is no external memory", static_cast<void*>(handle));
  return *external;
}

CUresult checkBuffer(const External& external, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& asked) {
  if (!asked.size || asked.flags)
    return fail(CUDA_ERROR_INVALID_VALUE, "a buffer of %llu bytes, flags %#x", asked.size, asked.flags);
  const unsigned long long available = std::min<unsigned long long>(external.bytes, external.memory->bytes());
  if (asked.offset > available || asked.size > available - asked.offset)
    return fail(CUDA_ERROR_INVALID_VALUE, "%llu bytes at %llu of external memory of %llu", asked.size, asked.offset,
                available);
  return CUDA_SUCCESS;
}

void end(alloc::AddressSpace& space, const Buffer& buffer) {
  space.withdraw(buffer.record);
  buffer.memory->unmap(reinterpret_cast<std::byte*>(buffer.start), buffer.bytes);
  space.free(buffer.start, roundUp(buffer.bytes, alloc::kGranule));
}

alloc::Record* publish(alloc::AddressSpace& space, const External& external, uintptr_t address, size_t bytes) {
  alloc::Record record;
  record.base = address;
  record.size = bytes;
  record.owner = external.owner;
  record.kind = alloc::Kind::Imported;
  record.window = static_cast<uint16_t>(external.owner->device().ordinal());
  record.flags = kBuffer;
  return space.publish(record);
}

// Of the device's own kind, or the host's.
Result<alloc::PhysicalRef> memoryBehind(int descriptor, Device& device) {
  alloc::MemorySource& own = device.backend().memory();
  return own.labelOf(descriptor).empty() ? alloc::HostMemory::fromDescriptor(descriptor) : own.import(descriptor);
}

}  // namespace

Result<CUexternalMemory> importExternal(Context& context, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& asked) {
  if (const int type = rawValue(asked.type); type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
    return fail(CUDA_ERROR_INVALID_VALUE, "external memory of type %d cannot be imported here", type);
  if (!asked.size || asked.flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED})
    return fail(CUDA_ERROR_INVALID_VALUE, "%llu bytes, flags %#x", asked.size, asked.flags);
  Result<alloc::PhysicalRef> memory = memoryBehind(asked.handle.fd, context.device());
  if (!memory && memory.error() != CUDA_ERROR_OUT_OF_MEMORY)
    return fail(CUDA_ERROR_UNKNOWN, "descriptor %d is no memory", asked.handle.fd);
  VG_CHECK(memory);
  External* made = slab.create(External{&context, std::move(memory).value(), asked.size});
  close(asked.handle.fd);
  return reinterpret_cast<CUexternalMemory>(made);
}

CUresult destroyExternal(CUexternalMemory handle) {
  const MutexLock lock(mutex);
  VG_TRY(External & external, find(handle));
  slab.destroy(&external);
  return CUDA_SUCCESS;
}

Result<CUdeviceptr> mapExternalBuffer(CUexternalMemory handle, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& asked) {
  const MutexLock lock(mutex);
  VG_TRY(const External& external, find(handle));
  VG_CHECK(checkBuffer(external, asked));
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = asked.offset % page, bytes = roundUp(before + asked.size, page);
  const size_t reserved = roundUp(bytes, alloc::kGranule);
  VG_TRY(const uintptr_t start, space.reserve(reserved));
  Undo unreserve([&] { space.free(start, reserved); });
  auto* const first = reinterpret_cast<std::byte*>(start);
  VG_CHECK(external.memory->map(first, asked.offset - before, bytes, alloc::Protection::ReadWrite));
  Undo unmap([&] { external.memory->unmap(first, bytes); });
  std::map<uintptr_t, Buffer>& all = buffers();
  const auto buffer = all.emplace(start + before, Buffer{external.memory, nullptr, start, bytes}).first;
  Undo forget([&] { all.erase(buffer); });
  buffer->second.record = publish(space, external, start + before, asked.size);
  forget.done();
  unmap.done();
  unreserve.done();
  return static_cast<CUdeviceptr>(start + before);
}

bool isExternalBuffer(const alloc::Record& record) {
  return record.kind.load(std::memory_order_relaxed) == alloc::Kind::Imported &&
         (record.flags.load(std::memory_order_relaxed) & kBuffer);
}

bool freeExternalBuffer(CUdeviceptr address, uint64_t id) {
  const MutexLock lock(mutex);
  const auto buffer = buffers().find(address);
  if (buffer == buffers().end() || buffer->second.record->id.load(std::memory_order_relaxed) != id) return false;
  end(*addressSpace(), buffer->second);
  buffers().erase(buffer);
  return true;
}

void releaseExternal(Context& context) {
  const MutexLock lock(mutex);
  std::erase_if(buffers(), [&](const auto& entry) {
    if (entry.second.record->owner.load(std::memory_order_relaxed) != &context) return false;
    end(*addressSpace(), entry.second);
    return true;
  });
  slab.forEach([&](External& external) {
    if (external.owner == &context) slab.destroy(&external);
  });
}

}  // namespace vg::core::memory
