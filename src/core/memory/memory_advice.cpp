#include "core/memory/memory_advice.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory/own_memory.h"
#include "base/memory/safe_read.h"
#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/memory/advice_table.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/pools/memory_pool.h"
#include "core/process/device.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

bool managed(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  return kind == alloc::Kind::Managed || (kind == alloc::Kind::Pool && pooledKind(record) == PooledKind::Managed);
}

Result<const alloc::Record*> managedRecord(CUdeviceptr pointer, size_t bytes) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "a range of 0 bytes");
  VG_TRY(const alloc::Record* record, deviceRecord(pointer, bytes));
  if (!managed(*record)) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  return record;
}

CUresult checkKnownType(CUmemLocation location) {
  const int type = rawValue(location.type);
  if (type >= CU_MEM_LOCATION_TYPE_DEVICE && type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
}

// That the place exists; `noDevice`: the code for a device that there is not.
CUresult checkPlace(CUmemLocation location, CUresult noDevice) {
  VG_CHECK(checkKnownType(location));
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !findDevice(location.id)) return noDevice;
  if (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && !host_register::nodeExists(location.id))
    return fail(CUDA_ERROR_INVALID_VALUE, "the host has no memory node %d", location.id);
  return CUDA_SUCCESS;
}

CUmemLocation locationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

Result<unsigned> accessorOf(CUmemLocation location) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST) return unsigned{Accessors::kHost};
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return fail(CUDA_ERROR_INVALID_VALUE, "location type %d cannot access memory", rawValue(location.type));
  if (!findDevice(location.id)) return CUDA_ERROR_INVALID_VALUE;
  return static_cast<unsigned>(location.id);
}

// Null: the host.
const backend::Device* placeOf(CUmemLocation location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? &deviceAt(location.id).backend() : nullptr;
}

// What those who move the memory are told; `tell` gets the memory and its first byte.
template <class Tell>
CUresult tellMover(CUdeviceptr pointer, Tell tell) {
  backend::MovableMemory* const movable = movableMemory();
  return movable ? tell(*movable, reinterpret_cast<std::byte*>(pointer)) : CUDA_SUCCESS;
}

// A node of the host is the host, as the vendor's driver answers.
void setPreferred(RangeAdvice& advice, CUmemLocation location) {
  const bool device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  advice.preferredType = device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
  advice.preferredId = device ? location.id : CU_DEVICE_CPU;
}

// Memory of the application that some device reaches as it lies: advice about it is taken, and there is nothing to
// move.
bool reachedWhereItLies(CUdeviceptr pointer, size_t bytes) {
  const auto address = static_cast<uintptr_t>(pointer);
  if (!address || !bytes || address + bytes < address || lookup(pointer)) return false;
  if (table().ours(address) || table().ours(address + bytes - 1) || own_memory::overlaps(address, bytes)) return false;
  for (int i = 0; i < deviceCount(); ++i)
    if (deviceAt(i).attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)) return true;
  return false;
}

// As recorded, advice that names a node of the host is taken whatever the range is, unless it is about who accesses it.
bool takenUnseen(int advice, CUmemLocation location) {
  const int type = rawValue(location.type);
  return (type == CU_MEM_LOCATION_TYPE_HOST_NUMA || type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) &&
         advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

bool managedAt(CUdeviceptr pointer) {
  const alloc::Record* const record = lookup(pointer);
  return record && managed(*record);
}

}  // namespace

CUresult advise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  if (!managedAt(pointer)) {
    if (takenUnseen(rawValue(advice), location)) return CUDA_SUCCESS;
    if (reachedWhereItLies(pointer, bytes)) return checkPlace(location, CUDA_ERROR_INVALID_VALUE);
  }
  VG_TRY(const alloc::Record* record, managedRecord(pointer, bytes));
  VG_CHECK(checkKnownType(location));
  const auto update = [&](auto change, auto tell) {
    VG_CHECK(tellMover(pointer, tell));
    advice::update(*record, pointer, bytes, change);
    return CUDA_SUCCESS;
  };
  using Memory = backend::MovableMemory;
  switch (const int number = rawValue(advice)) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: {
      const bool on = number == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return update([&](RangeAdvice& range) { range.readMostly = on; },
                    [&](Memory& memory, std::byte* start) { return memory.setReadMostly(start, bytes, on); });
    }
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      VG_CHECK(checkPlace(location, CUDA_ERROR_INVALID_VALUE));
      return update([&](RangeAdvice& range) { setPreferred(range, location); },
                    [&](Memory& memory, std::byte* start) { return memory.prefer(placeOf(location), start, bytes); });
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      return update(
          [](RangeAdvice& range) {
            range.preferredType = CU_MEM_LOCATION_TYPE_INVALID;
            range.preferredId = CU_DEVICE_INVALID;
          },
          [&](Memory& memory, std::byte* start) { return memory.preferNone(start, bytes); });
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: {
      VG_TRY(const unsigned accessor, accessorOf(location));
      const bool on = number == CU_MEM_ADVISE_SET_ACCESSED_BY;
      return update(
          [&](RangeAdvice& range) { range.accessors.set(accessor, on); },
          [&](Memory& memory, std::byte* start) { return memory.setAccessedBy(placeOf(location), start, bytes, on); });
    }
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "advice %d", number);
  }
}

CUresult adviseDevice(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUdevice device) {
  const int number = rawValue(advice);
  const bool asksForDevice = number == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                             number == CU_MEM_ADVISE_SET_ACCESSED_BY || number == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (asksForDevice && device != CU_DEVICE_CPU) VG_CHECK(findDevice(device));
  return advise(pointer, bytes, advice, locationOf(device));
}

namespace {

// A move in its stream's order. That it cannot be done is no error: pages move when they are touched.
struct Move {
  backend::MovableMemory& memory;
  const backend::Device* place;
  std::byte* start;
  size_t bytes;
  static void runAndEnd(void* data) {
    const std::unique_ptr<const Move> move(static_cast<const Move*>(data));
    (void)move->memory.moveTo(move->place, move->start, move->bytes);
  }
};

CUresult queueMove(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination) {
  return tellMover(pointer, [&](backend::MovableMemory& memory, std::byte* start) -> CUresult {
    auto move = std::make_unique<Move>(Move{memory, placeOf(destination), start, bytes});
    VG_CHECK(stream.submit(backend::HostCall{Move::runAndEnd, move.get()}));
    (void)move.release();
    return CUDA_SUCCESS;
  });
}

CUresult prefetchRange(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination) {
  VG_TRY(const alloc::Record* record, managedRecord(pointer, bytes));
  VG_CHECK(queueMove(stream, pointer, bytes, destination));
  advice::update(*record, pointer, bytes, [&](RangeAdvice& range) {
    range.prefetchType = destination.type;
    range.prefetchId = destination.id;
  });
  return CUDA_SUCCESS;
}

}  // namespace

CUresult prefetch(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination) {
  VG_CHECK(stream.mustRun("a prefetch"));
  if (pointer && bytes) VG_CHECK(checkPlace(destination, CUDA_ERROR_INVALID_DEVICE));
  if (reachedWhereItLies(pointer, bytes)) return CUDA_SUCCESS;
  VG_CHECK(managedRecord(pointer, bytes));
  VG_CHECK(stream.context().state());
  if (destination.type == CU_MEM_LOCATION_TYPE_HOST) destination.id = CU_DEVICE_CPU;
  return prefetchRange(stream, pointer, bytes, destination);
}

CUresult prefetchToDevice(Stream& stream, CUdeviceptr pointer, size_t bytes, CUdevice device) {
  return prefetch(stream, pointer, bytes, locationOf(device));
}

namespace {

CUresult checkArrays(const RangeBatch& ranges) {
  if (ranges.pointers && ranges.bytes && ranges.count) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%zu ranges without pointers or sizes", ranges.count);
}

CUresult checkRanges(const RangeBatch& ranges) {
  VG_CHECK(checkArrays(ranges));
  for (size_t i = 0; i < ranges.count; ++i) VG_CHECK(managedRecord(ranges.pointers[i], ranges.bytes[i]));
  return CUDA_SUCCESS;
}

CUresult checkPlaces(const RangeBatch& ranges, const CUmemLocation* places, const size_t* firsts, size_t count) {
  if (!places || !firsts || !count || count > ranges.count)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu locations for %zu ranges", count, ranges.count);
  if (firsts[0]) return fail(CUDA_ERROR_INVALID_VALUE, "the first location is for range %zu on", firsts[0]);
  for (size_t i = 0; i < count; ++i) {
    if (firsts[i] >= ranges.count || (i && firsts[i] < firsts[i - 1]))
      return fail(CUDA_ERROR_INVALID_VALUE, "location %zu is for range %zu on, of %zu", i, firsts[i], ranges.count);
    VG_CHECK(checkPlace(places[i], CUDA_ERROR_INVALID_VALUE));
  }
  return CUDA_SUCCESS;
}

// Which location range `range` goes to, where the one before went to `place`: the first of those whose index it is.
size_t nextPlace(const size_t* firsts, size_t count, size_t place, size_t range) {
  for (size_t next = place + 1; next < count && firsts[next] <= range; ++next)
    if (firsts[next] > firsts[place]) return next;
  return place;
}

}  // namespace

// As the vendor's driver does it, the ranges before one that is refused have been prefetched.
CUresult prefetchBatch(Stream& stream, const RangeBatch& ranges, const CUmemLocation* places, const size_t* firsts,
                       size_t placeCount) {
  VG_CHECK(stream.mustRun("a batch of prefetches"));
  VG_CHECK(checkArrays(ranges));
  VG_CHECK(checkPlaces(ranges, places, firsts, placeCount));
  VG_CHECK(stream.context().state());
  for (size_t i = 0, place = 0; i < ranges.count; ++i) {
    place = nextPlace(firsts, placeCount, place, i);
    VG_CHECK(prefetchRange(stream, ranges.pointers[i], ranges.bytes[i], places[place]));
  }
  return CUDA_SUCCESS;
}

CUresult discardBatch(Stream& stream, const RangeBatch& ranges) {
  VG_CHECK(stream.mustRun("a batch of discards"));
  VG_CHECK(checkRanges(ranges));
  return stream.context().state();
}

namespace {

CUresult put(void* data, int value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// Devices, then the host; filled up with CU_DEVICE_INVALID.
CUresult putAccessors(void* data, size_t size, const Accessors& accessors) {
  auto* out = static_cast<char*>(data);
  const char* const end = out + size;
  const auto append = [&](int device) {
    if (out == end) return;
    put(out, device);
    out += sizeof device;
  };
  for (unsigned device = 0; device < Accessors::kHost; ++device)
    if (accessors.has(device)) append(static_cast<int>(device));
  if (accessors.has(Accessors::kHost)) append(CU_DEVICE_CPU);
  while (out != end) append(CU_DEVICE_INVALID);
  return CUDA_SUCCESS;
}

int deviceNumber(CUmemLocationType type, int id) {
  if (type == CU_MEM_LOCATION_TYPE_INVALID) return CU_DEVICE_INVALID;
  return type == CU_MEM_LOCATION_TYPE_DEVICE ? id : CU_DEVICE_CPU;
}

}  // namespace

namespace {

constexpr size_t kPage = 4096;

// Where the host has the page: a node, nowhere, or CUDA_ERROR_INVALID_VALUE where there is no memory.
Result<CUmemLocation> pageOnHost(CUdeviceptr address) {
  CUmemLocation place{};
  place.type = CU_MEM_LOCATION_TYPE_NONE;
  void* page = reinterpret_cast<void*>(address / kPage * kPage);
  unsigned char resident = 0;
  const bool known = mincore(page, 1, &resident) == 0;  // not in every sandbox
  if (!known && !safe_read::mapped(page, 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no memory at %#llx", static_cast<unsigned long long>(address));
  int node = 0;  // on hosts that do not tell, the only one
  const long asked = syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0);
  if (!asked && node == -ENOENT) return place;
  if (asked && known && !(resident & 1)) return place;
  place.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  place.id = asked || node < 0 ? 0 : node;
  return place;
}

// Looks at pages, each once as long as the questions stay on it.
class Places {
 public:
  explicit Places(const alloc::Record* record) : record_(record) {}
  Result<CUmemLocation> at(CUdeviceptr address) {
    if (address / kPage == page_) return CUmemLocation{place_};
    VG_TRY(place_, look(address));
    page_ = address / kPage;
    return CUmemLocation{place_};
  }

 private:
  Result<CUmemLocation> look(CUdeviceptr address) const {
    if (!record_) return pageOnHost(address);
    const RangeAdvice said = advice::common(*record_, address, 1);
    if (said.prefetchType == CU_MEM_LOCATION_TYPE_INVALID) return pageOnHost(address);
    CUmemLocation place{};
    place.type = said.prefetchType;
    place.id = said.prefetchId;
    return place;
  }

  const alloc::Record* const record_;
  CUdeviceptr page_ = ~CUdeviceptr{0};
  CUmemLocation place_{};
};

// Where most of the samples of one stretch are; the first of several that are equal.
Result<CUmemLocation> mostOf(Places& places, CUdeviceptr first, size_t bytes, size_t step) {
  std::vector<std::pair<CUmemLocation, size_t>> found;
  for (size_t at = 0; at < bytes; at += std::min(step, bytes - at)) {
    VG_TRY(const CUmemLocation place, places.at(first + at));
    const auto known = std::find_if(found.begin(), found.end(), [&](const auto& row) {
      return row.first.type == place.type && row.first.id == place.id;
    });
    if (known == found.end())
      found.emplace_back(place, 1);
    else
      ++known->second;
  }
  return std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

CUresult locate(CUdeviceptr pointer, size_t bytes, size_t summary, size_t sampling, CUmemLocation* places) {
  if (!pointer || !bytes || bytes > SIZE_MAX - pointer || !summary || summary > bytes || sampling > summary)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes by %zu, looked at every %zu", bytes, summary, sampling);
  for (int i = 0; i < deviceCount(); ++i)
    if (!deviceAt(i).attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS))
      return unsupported("the place of memory, as device %d has no concurrent managed access", i);
  const alloc::Record* record = lookup(pointer);
  if (record) VG_CHECK(managedRecord(pointer, bytes));
  if (!record && table().ours(pointer)) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no memory", pointer);
  const size_t step = std::max(sampling, kPage);  // a page has one place
  Places known(record);
  for (size_t at = 0, i = 0; at < bytes; at += std::min(summary, bytes - at), ++i) {
    VG_TRY(places[i], mostOf(known, pointer + at, std::min(summary, bytes - at), step));
  }
  return CUDA_SUCCESS;
}

CUresult checkRangeQuery(int which, size_t dataSize) {
  if (which < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY || which > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no range attribute %d", which);
  const bool list = which == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  if (!dataSize || dataSize % sizeof(int) || (!list && dataSize != sizeof(int)))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes for range attribute %d", dataSize, which);
  return CUDA_SUCCESS;
}

CUresult rangeAttribute(void* data, size_t dataSize, int which, CUdeviceptr pointer, size_t bytes) {
  VG_TRY(const alloc::Record* record, managedRecord(pointer, bytes));
  const RangeAdvice said = advice::common(*record, pointer, bytes);
  switch (which) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return put(data, said.readMostly);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return put(data, deviceNumber(said.preferredType, said.preferredId));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return putAccessors(data, dataSize, said.accessors);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return put(data, deviceNumber(said.prefetchType, said.prefetchId));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return put(data, said.preferredType);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return put(data, said.preferredId);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return put(data, said.prefetchType);
    default:
      return put(data, said.prefetchId);
  }
}

CUresult attach(Stream& stream, bool byNullStream, CUdeviceptr pointer, size_t bytes, unsigned flags) {
  VG_CHECK(stream.mustRun("cuStreamAttachMemAsync"));
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  if (flags == CU_MEM_ATTACH_SINGLE && byNullStream)
    return fail(CUDA_ERROR_INVALID_VALUE, "memory cannot be attached to the null stream alone");
  const alloc::Record* record = lookup(pointer);
  if (!record) {
    const bool reachable = stream.context().device().attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    if (reachable && pointer && bytes) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  }
  if (!managed(*record)) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  if (record->base.load(std::memory_order_relaxed) != pointer || (bytes && bytes != record->bytes()))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %#llx are only a part of the allocation", bytes, pointer);
  return stream.context().state();
}

}  // namespace vg::core::memory
