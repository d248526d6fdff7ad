#include "core/virtual/virtual_access.h"

#include <algorithm>

#include "base/memory/out_of_memory.h"
#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/memory/device_visible_host.h"
#include "core/process/device.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

using alloc::Protection;

// What a record says of its access, for readers without the lock: two bits a place in Record::access, the first
// devices by themselves, then all other devices together, then the host.
constexpr int kOtherDevices = 14, kHostSlot = 15;
unsigned slotOf(int place) {
  return static_cast<unsigned>(place == Allocation::kHost ? kHostSlot : std::min(place, kOtherDevices));
}

uint32_t accessOf(const std::vector<Grant>& grants) {
  uint32_t access = 0;
  for (const Grant& grant : grants) access |= static_cast<uint32_t>(grant.flags) << 2 * slotOf(grant.place);
  return access;
}

uint32_t maskOf(Access access) { return access == Access::Write ? 2 : 1; }

// CUDA_ERROR_INVALID_DEVICE for what is no place.
Result<int> placeOf(const CUmemLocation& location) {
  switch (rawValue(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      VG_TRY(const Device& device, findDevice(location.id));
      return device.ordinal();
    }
    case CU_MEM_LOCATION_TYPE_HOST:
      return int{Allocation::kHost};
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (host_register::nodeExists(location.id)) return int{Allocation::kHost};
      return fail(CUDA_ERROR_INVALID_DEVICE, "the machine has no memory node %d", location.id);
    default:
      return fail(CUDA_ERROR_INVALID_DEVICE, "location type %d", rawValue(location.type));
  }
}

Result<Grant> grantOf(const CUmemAccessDesc& asked) {
  Result<int> place = placeOf(asked.location);
  if (!place) return CUDA_ERROR_INVALID_VALUE;
  const int flags = rawValue(asked.flags);
  if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return fail(CUDA_ERROR_INVALID_VALUE, "access flags %#x", flags);
  return Grant{place.value(), static_cast<CUmemAccess_flags>(flags)};
}

// The host reaches memory of a device by copies only, other devices only that of their peers.
CUresult checkReach(const Grant& grant, const Allocation& allocation) {
  if (grant.place == Allocation::kHost && allocation.place() != Allocation::kHost)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "memory of device %d cannot be made accessible to the host",
                allocation.place());
  if (grant.place == Allocation::kHost || grant.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
      !allocation.memory()->ofDevice() || grant.place == allocation.place() ||
      deviceAt(grant.place).reaches(deviceAt(allocation.place())))
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NOT_SUPPORTED, "kernels of device %d do not reach the memory of device %d", grant.place,
              allocation.place());
}

CUmemAccess_flags flagsOf(const std::vector<Grant>& grants, int place) {
  for (const Grant& grant : grants)
    if (grant.place == place) return grant.flags;
  return CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

std::vector<Grant> with(std::vector<Grant> grants, const Grant& asked) {
  std::erase_if(grants, [&](const Grant& other) { return other.place == asked.place; });
  if (asked.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) grants.push_back(asked);
  return grants;
}

// The mappings of a range that begins and ends with one. As recorded from the vendor's driver, what lies between need
// not be mapped; then only those before the first gap get the access.
Result<Section> coveredBy(Mappings& mappings, uintptr_t start, size_t bytes) {
  VG_TRY(const Section section, wholeMappings(mappings, start, bytes));
  uintptr_t end = start;
  auto mapping = section.first;
  for (; mapping != section.last && mapping->first == end; ++mapping) end += mapping->second.bytes;
  if (mapping == section.first) return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is not mapped", start);
  const auto& [lastStart, last] = *std::prev(section.last);
  if (lastStart + last.bytes != start + bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is not mapped", start + bytes - 1);
  return Section{section.first, mapping};
}

// What either allows.
std::vector<Grant> both(std::vector<Grant> grants, const std::vector<Grant>& others) {
  for (const Grant& other : others)
    if (other.flags > flagsOf(grants, other.place)) grants = with(std::move(grants), other);
  return grants;
}

bool same(const std::vector<Grant>& grants, const std::vector<Grant>& others) {
  const auto among = [&](const Grant& grant) { return flagsOf(others, grant.place) == grant.flags; };
  return grants.size() == others.size() && std::all_of(grants.begin(), grants.end(), among);
}

Protection protectionOf(unsigned flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? Protection::None
         : flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? Protection::Read
                                                  : Protection::ReadWrite;
}

Protection widest(const std::vector<Grant>& grants) {
  unsigned flags = 0;
  for (const Grant& grant : grants) flags |= static_cast<unsigned>(grant.flags);
  return protectionOf(flags);
}

// The page tables of the devices that may reach a device's own memory, one after the other.
CUresult grantPages(std::byte* address, Mapping& mapping, const std::vector<Grant>& wanted) {
  backend::Device& owner = deviceAt(mapping.allocation->place()).backend();
  std::vector<Grant>& applied = mapping.applied;
  const auto allow = [&](const Grant& grant) {
    return deviceAt(grant.place).backend().grant(owner, address, mapping.bytes, protectionOf(grant.flags));
  };
  for (const Grant& grant : wanted) {
    if (grant.flags == flagsOf(applied, grant.place)) continue;
    VG_CHECK(allow(grant));
    std::erase_if(applied, [&](const Grant& other) { return other.place == grant.place; });
    applied.push_back(grant);
  }
  while (true) {
    const auto over = std::find_if(applied.begin(), applied.end(), [&](const Grant& grant) {
      return flagsOf(wanted, grant.place) == CU_MEM_ACCESS_FLAGS_PROT_NONE;
    });
    if (over == applied.end()) return CUDA_SUCCESS;
    VG_CHECK(allow({over->place, CU_MEM_ACCESS_FLAGS_PROT_NONE}));
    applied.erase(over);
  }
}

// Makes the pages of a mapping allow this. After an error they may allow some of it; allowing less never fails.
// Requires: `applied` has room for all of it, so that nothing is noted in vain.
CUresult applyPages(uintptr_t start, Mapping& mapping, const std::vector<Grant>& wanted, LingeringPages& lingering) {
  auto* const address = reinterpret_cast<std::byte*>(start);
  const Allocation& allocation = *mapping.allocation;
  const alloc::PhysicalMemory& memory = *allocation.memory();
  const bool ofDevice = memory.ofDevice();
  const Protection before = widest(mapping.applied), now = widest(wanted);
  if (now == Protection::None) {
    if (before != Protection::None) memory.unmap(address, mapping.bytes);
    mapping.applied.clear();
    return CUDA_SUCCESS;
  }
  if (before == Protection::None) {
    lingering.makeWay(start, mapping.bytes, ofDevice);
    VG_CHECK(memory.map(address, mapping.offset, mapping.bytes, ofDevice ? Protection::None : now));
    lingering.replace(start, mapping.bytes);
    const CUmemLocation& home = allocation.properties().location;
    if (home.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) host_register::placeOnNode(address, mapping.bytes, home.id);
  } else if (!ofDevice && before != now) {
    VG_CHECK(memory.protect(address, mapping.bytes, now));
  }
  if (!ofDevice) {
    mapping.applied = wanted;
    return CUDA_SUCCESS;
  }
  const CUresult granted = unlessOutOfMemory([&] { return grantPages(address, mapping, wanted); });
  if (mapping.applied.empty()) memory.unmap(address, mapping.bytes);
  return granted;
}

// A mapping, what its access is to be, what its pages allow until then, and what they allowed before.
struct Change {
  Mappings::iterator mapping;
  std::vector<Grant> grants, widened, before;
};

// Widens the pages of all mappings or of none.
CUresult widenAll(std::vector<Change>& changes, LingeringPages& lingering) {
  for (size_t i = 0; i < changes.size(); ++i) {
    auto& entry = *changes[i].mapping;
    const CUresult applied =
        unlessOutOfMemory([&] { return applyPages(entry.first, entry.second, changes[i].widened, lingering); });
    if (applied == CUDA_SUCCESS) continue;
    for (size_t k = 0; k <= i; ++k)
      (void)applyPages(changes[k].mapping->first, changes[k].mapping->second, changes[k].before, lingering);
    return applied;
  }
  return CUDA_SUCCESS;
}

void narrow(VirtualState& all, Mappings::iterator mapping, const std::vector<Point>& pending) VG_REQUIRES(all.mutex) {
  auto& [start, what] = *mapping;
  if (same(what.grants, what.applied)) return;
  if (pending.empty()) return (void)applyPages(start, what, what.grants, all.lingering);
  all.late.push_back({start, what.record->id.load(std::memory_order_relaxed), pending});
}

// Devices that do not see the process's pages by themselves get them, all alike.
void show(uintptr_t start, Mapping& mapping) {
  if (mapping.allocation->memory()->ofDevice()) return;
  std::vector<Grant> devices = mapping.grants;
  std::erase_if(devices, [](const Grant& grant) { return grant.place == Allocation::kHost; });
  const Protection wanted = widest(devices);
  if (wanted == mapping.shown) return;
  auto* const address = reinterpret_cast<std::byte*>(start);
  if (mapping.shown != Protection::None) hideFromDevices(address, mapping.bytes);
  if (wanted != Protection::None) showToDevices(address, mapping.bytes, wanted == Protection::Read);
  mapping.shown = wanted;
}

// To all mappings of a section or to none.
CUresult grantTo(VirtualState& all, const Section& section, const Grant& grant) VG_REQUIRES(all.mutex) {
  std::vector<Change> changes;
  for (auto mapping = section.first; mapping != section.last; ++mapping) {
    VG_CHECK(checkReach(grant, *mapping->second.allocation));
    std::vector<Grant> grants = with(mapping->second.grants, grant);
    std::vector<Grant> widened = both(grants, mapping->second.applied);
    mapping->second.applied.reserve(widened.size());
    changes.push_back({mapping, std::move(grants), std::move(widened), mapping->second.applied});
  }
  VG_CHECK(widenAll(changes, all.lingering));
  bool narrower = false;
  for (Change& change : changes) {
    Mapping& mapping = change.mapping->second;
    mapping.grants = std::move(change.grants);
    mapping.record->access.store(accessOf(mapping.grants), std::memory_order_release);
    show(change.mapping->first, mapping);
    narrower |= !same(mapping.grants, mapping.applied);
  }
  if (!narrower) return CUDA_SUCCESS;
  // Read once no copy is accepted any more that the narrower access forbids.
  const std::vector<Point> pending = pendingEverywhere();
  for (const Change& change : changes) narrow(all, change.mapping, pending);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult setAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc* grants, size_t count) {
  VG_CHECK(checkRange(start, bytes));
  std::vector<Grant> asked;
  for (size_t i = 0; i < count; ++i) {
    VG_TRY(const Grant grant, grantOf(grants[i]));
    asked.push_back(grant);
  }
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  sweep(all);
  VG_TRY(const Section section, coveredBy(all.mappings, start, bytes));
  // One after the other, as the vendor's driver does: those before a refused one count.
  for (const Grant& grant : asked) VG_CHECK(grantTo(all, section, grant));
  return CUDA_SUCCESS;
}

Result<CUmemAccess_flags> accessOf(const CUmemLocation& location, CUdeviceptr address) {
  VG_TRY(const int place, placeOf(location));
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  const auto mapping = firstBehind(all.mappings, address);
  if (mapping == all.mappings.end() || mapping->first > address) {
    if (lookup(address)) return CU_MEM_ACCESS_FLAGS_PROT_NONE;  // other memory of ours, whatever may touch it
    return fail(CUDA_ERROR_INVALID_VALUE, "nothing is mapped at %#llx", address);
  }
  return flagsOf(mapping->second.grants, place);
}

void sweep(VirtualState& all) {
  all.lingering.sweep();
  std::erase_if(all.late, [&all](const VirtualState::Late& narrowed) VG_REQUIRES(all.mutex) {
    if (!std::all_of(narrowed.pending.begin(), narrowed.pending.end(), [](Point point) { return point.done(); }))
      return false;
    const auto mapping = all.mappings.find(narrowed.start);
    if (mapping != all.mappings.end() && mapping->second.record->id.load(std::memory_order_relaxed) == narrowed.id)
      (void)applyPages(mapping->first, mapping->second, mapping->second.grants, all.lingering);
    return true;
  });
}

bool mappedForAny(const alloc::Record& record, Access access) {
  constexpr uint32_t kDevices = 0x15555555;
  return record.access.load(std::memory_order_acquire) & kDevices * maskOf(access);
}

}  // namespace vg::core::memory
