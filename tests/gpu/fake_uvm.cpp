#include "gpu/fake_uvm.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "backend/nvidia/driver/memory_object.h"
#include "backend/nvidia/driver/share_abi.h"

namespace vg::testing {

using namespace backend::nvidia;

namespace {

constexpr uint64_t kPage = 4096;

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

int FakeUvm::gpuOf(const CUuuid& uuid) const {
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu)
    if (!std::memcmp(&uuid, &gpus_[gpu], sizeof uuid)) return static_cast<int>(gpu);
  return -1;
}

// Where its structure has the driver's answer.
size_t FakeUvm::statusAt(unsigned long request) const {
  switch (request) {
    case uvm::kInitialize:
      return 8;
    case uvm::kMmInitialize:
      return 4;
    case uvm::kRegisterGpu:
      return 36;
    case uvm::kRegisterSpace:
      return 28;
    case uvm::kRegisterChannel:
      return 48;
    case uvm::kUnregisterChannel:
      return abi_->unregisterUuid + 8;
    case uvm::kEnablePeers:
    case uvm::kMapSparse:
    case uvm::kUnmapExternal:
    case uvm::kSetAccessedBy:
    case uvm::kUnsetAccessedBy:
      return 32;
    case uvm::kMapExternal:
      return abi_->mapExternalTail + 20;
    case uvm::kFree:
      return abi_->freeLength ? 16 : 8;
    case uvm::kMigrate:
      return 72;
    case uvm::kSetPreferred:
      return abi_->preferredStatus;
    default:
      return 16;
  }
}

int FakeUvm::control(int file, unsigned long request, void* argument) {
  std::byte* const bytes = static_cast<std::byte*>(argument);
  const auto answer = [&](Status status) {
    std::memcpy(bytes + statusAt(request), &status, sizeof status);
    return 0;
  };
  if (const Status refusal = std::exchange(refusal_, kOk)) return answer(refusal);
  if (request == uvm::kInitialize) return answer(initialize(file, read<uint64_t>(bytes)));
  if (request == uvm::kMmInitialize)
    return answer(read<int32_t>(bytes) == main_ && file != main_ ? kOk : kInvalidArgument);
  if (file != main_) return -EINVAL;
  switch (request) {
    case uvm::kRegisterGpu:
      return answer(registerGpu(read<CUuuid>(bytes)));
    case uvm::kUnregisterGpu:
      return answer(registered_.erase(gpuOf(read<CUuuid>(bytes))) ? kOk : kInvalidArgument);
    case uvm::kRegisterSpace:
      return answer(registerSpace(read<uvm::RegisterSpace>(bytes)));
    case uvm::kUnregisterSpace:
      return answer(spaces_.erase(gpuOf(read<CUuuid>(bytes))) ? kOk : kInvalidArgument);
    case uvm::kRegisterChannel:
      return answer(registerChannel(read<uvm::RegisterChannel>(bytes)));
    case uvm::kUnregisterChannel:
      return answer(kOk);
    case uvm::kEnablePeers: {
      const bool ours = isGpu(read<CUuuid>(bytes)) && isGpu(read<CUuuid>(bytes + 16));
      return answer(linked_ || !bus_ || !ours || peers_ ? 0x26 : (peers_ = true, kOk));
    }
    case uvm::kCreateRange:
      return answer(createRange(read<uint64_t>(bytes), read<uint64_t>(bytes + 8)));
    case uvm::kMapExternal:
      return answer(mapExternal(bytes));
    case uvm::kMapSparse:
      return answer(mapSparse(read<uvm::RangeOf>(bytes)));
    case uvm::kUnmapExternal:
      return answer(unmapExternal(read<uvm::RangeOf>(bytes)));
    case uvm::kFree: {
      const bool known = abi_->freeLength != 0;
      return answer(freeRange(read<uint64_t>(bytes), known ? read<uint64_t>(bytes + 8) : 0, known));
    }
    case uvm::kMigrate: {
      const auto a = read<uvm::Migrate>(bytes);
      const int place = placeOf(a.place);
      if (a.flags || a.hostNode != uvm::kAnyNode || place == kNowhere) return answer(kInvalidArgument);
      return answer(changePages(a.base, a.length, [place](Page& page) { page.place = place; }));
    }
    case uvm::kSetPreferred: {
      const auto a = read<uvm::SetPreferred>(bytes);
      const int place = placeOf(a.place);
      if (place == kNowhere) return answer(0x26);
      return answer(changePages(a.base, a.length, [place](Page& page) { page.preferred = place; }));
    }
    case uvm::kUnsetPreferred: {
      const auto a = read<uvm::Range>(bytes);
      return answer(changePages(a.base, a.length, [](Page& page) { page.preferred = kNowhere; }));
    }
    case uvm::kSetAccessedBy:
    case uvm::kUnsetAccessedBy: {
      const auto a = read<uvm::RangeOf>(bytes);
      const int place = placeOf(a.uuid);
      if (place == kNowhere) return answer(0x26);
      return answer(changePages(a.base, a.length, [=](Page& page) {
        if (request == uvm::kSetAccessedBy)
          page.accessors.insert(place);
        else
          page.accessors.erase(place);
      }));
    }
    case uvm::kEnableReadDuplication:
    case uvm::kDisableReadDuplication: {
      const auto a = read<uvm::Range>(bytes);
      const bool on = request == uvm::kEnableReadDuplication;
      return answer(changePages(a.base, a.length, [on](Page& page) { page.readMostly = on; }));
    }
    default:
      return -EINVAL;
  }
}

namespace {

// What was mapped over with inaccessible memory has gone.
bool readable(uint64_t page) {
  char byte;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(page), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

int FakeUvm::placeOf(const CUuuid& uuid) const {
  if (!std::memcmp(&uuid, &uvm::kHost, sizeof uuid)) return kHost;
  const int gpu = gpuOf(uuid);
  return registered_.count(gpu) ? gpu : kNowhere;
}

int FakeUvm::mapManaged(int file, void* address, size_t bytes, uint64_t offset) {
  const auto base = reinterpret_cast<uint64_t>(address);
  if (file != main_) return -EBADF;
  if (offset != base || bytes % kPage) return -EINVAL;
  if (rangeOverlaps(base, base + bytes)) return -EINVAL;
  constexpr int kFlags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(address, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return -errno;
  for (uint64_t page = base; page < base + bytes; page += kPage) managed_[page] = {};
  return 0;
}

FakeUvm::Page FakeUvm::managedPage(uint64_t address) const {
  const auto page = managed_.find(address / kPage * kPage);
  if (page == managed_.end() || !readable(page->first)) return {};
  Page found = page->second;
  found.there = true;
  return found;
}

template <class Change>
Status FakeUvm::changePages(uint64_t base, uint64_t length, Change change) {
  if (!length || (base | length) % kPage) return kInvalidAddress;
  for (uint64_t page = base; page < base + length; page += kPage)
    if (!managedPage(page).there) return kInvalidAddress;
  for (uint64_t page = base; page < base + length; page += kPage) change(managed_[page]);
  return kOk;
}

std::byte* FakeUvm::managedMemory(uint32_t gpu, uint64_t address, size_t bytes) {
  const auto place = static_cast<int>(gpu);
  const Status known =
      changePages(address / kPage * kPage, (address + bytes + kPage - 1) / kPage * kPage - address / kPage * kPage,
                  [place](Page& page) {
                    if (page.place == kNowhere || !page.accessors.count(place)) page.place = place;
                  });
  return known == kOk ? reinterpret_cast<std::byte*>(address) : nullptr;
}

void FakeUvm::fileClosed(int file) {
  if (file != main_) return;
  main_ = -1;
  ranges_.clear();
  managed_.clear();
  registered_.clear();
  spaces_.clear();
}

Status FakeUvm::initialize(int file, uint64_t flags) {
  if (flags & ~uint64_t{3}) return kInvalidArgument;
  main_ = file;
  return kOk;
}

Status FakeUvm::registerGpu(const CUuuid& gpu) {
  if (!isGpu(gpu)) return 0x12;
  registered_.insert(gpuOf(gpu));
  return kOk;
}

Status FakeUvm::registerSpace(const uvm::RegisterSpace& a) {
  if (!registered_.count(gpuOf(a.uuid))) return 0x26;
  if (!hooks_.isObject(a.client, a.addressSpace, rm::kAddressSpace)) return kObjectNotFound;
  spaces_.insert(gpuOf(a.uuid));
  return kOk;
}

Status FakeUvm::registerChannel(const uvm::RegisterChannel& a) {
  if (!spaces_.count(gpuOf(a.uuid))) return 0x26;
  if (!hooks_.isObject(a.client, a.channel, hooks_.channelClass)) return kObjectNotFound;
  hooks_.channelRegistered(a.channel);
  return kOk;
}

bool FakeUvm::rangeOverlaps(uint64_t base, uint64_t end) const {
  const auto next = ranges_.lower_bound(base);
  if (next != ranges_.end() && next->first < end) return true;
  return next != ranges_.begin() && std::prev(next)->second.end > base;
}

Status FakeUvm::createRange(uint64_t base, uint64_t length) {
  if (!base || !length || (base | length) % kPage) return kInvalidAddress;
  if (rangeOverlaps(base, base + length)) return kAddressInUse;
  ranges_[base].end = base + length;
  return kOk;
}

FakeUvm::Range* FakeUvm::rangeOf(uint64_t base, uint64_t end) {
  auto next = ranges_.upper_bound(base);
  if (next == ranges_.begin()) return nullptr;
  Range& range = std::prev(next)->second;
  return end <= range.end ? &range : nullptr;
}

// Mappings are cut between their pages only: the largest that address, length and place in the memory allow.
bool FakeUvm::canCut(const std::map<uint64_t, Mapping>& mappings, uint64_t base, uint64_t end) {
  for (const auto& [start, mapping] : mappings) {
    if (mapping.end <= base || start >= end) continue;
    const uint64_t alignments = mapping.memory ? start | mapping.end | mapping.offset : 65536;
    const uint64_t page = alignments % kHugePage == 0 ? kHugePage : alignments % kBigPage == 0 ? kBigPage : kPage;
    if ((base > start && base % page) || (end < mapping.end && end % page)) return false;
  }
  return true;
}

// Takes the addresses out of what is mapped.
void FakeUvm::cut(std::map<uint64_t, Mapping>& mappings, uint64_t base, uint64_t end) {
  std::map<uint64_t, Mapping> kept;
  for (auto& [start, mapping] : mappings) {
    if (start < base) {
      Mapping left = mapping;
      left.end = std::min(mapping.end, base);
      kept[start] = left;
    }
    if (mapping.end > end) {
      Mapping right = mapping;
      const uint64_t from = std::max(start, end);
      right.offset += from - start;
      kept[from] = right;
    }
  }
  mappings.swap(kept);
}

Status FakeUvm::mapExternal(std::byte* arguments) {
  const auto base = read<uint64_t>(arguments), length = read<uint64_t>(arguments + 8),
             offset = read<uint64_t>(arguments + 16);
  const auto attributes = read<uvm::MappingAttributes>(arguments + 24);
  const auto tail = read<uvm::MapExternalTail>(arguments + abi_->mapExternalTail);
  const int gpu = gpuOf(attributes.uuid);
  if (tail.count != 1 || !spaces_.count(gpu)) return kInvalidArgument;
  if ((base | length | offset) % kPage) return kInvalidAddress;
  const auto [memory, owner] = hooks_.memory(tail.client, tail.memory);
  if (!memory) return kObjectNotFound;
  if (owner >= 0 && owner != gpu && !linked_ && !peers_) return 0x26;
  if (offset + length > memory->bytes()) return 0x37;
  Range* const range = rangeOf(base, base + length);
  if (!range || !canCut(range->mappings[gpu], base, base + length)) return kInvalidAddress;
  cut(range->mappings[gpu], base, base + length);
  range->mappings[gpu][base] = {base + length, offset, memory, attributes.mappingType == uvm::kReadOnly};
  return kOk;
}

Status FakeUvm::mapSparse(const uvm::RangeOf& a) {
  constexpr uint64_t kSparsePage = 65536;
  const int gpu = gpuOf(a.uuid);
  Range* const range = rangeOf(a.base, a.base + a.length);
  if (!range || !a.length || (a.base | a.length) % kSparsePage) return kInvalidAddress;
  if (!spaces_.count(gpu)) return 0x26;
  if (!canCut(range->mappings[gpu], a.base, a.base + a.length)) return kInvalidAddress;
  cut(range->mappings[gpu], a.base, a.base + a.length);
  range->mappings[gpu][a.base] = {a.base + a.length, 0, nullptr, false};
  return kOk;
}

Status FakeUvm::unmapExternal(const uvm::RangeOf& a) {
  Range* const range = rangeOf(a.base, a.base + a.length);
  if (!range || !isGpu(a.uuid)) return kInvalidAddress;
  if (!canCut(range->mappings[gpuOf(a.uuid)], a.base, a.base + a.length)) return kInvalidAddress;
  cut(range->mappings[gpuOf(a.uuid)], a.base, a.base + a.length);
  return kOk;
}

Status FakeUvm::freeRange(uint64_t base, uint64_t length, bool lengthKnown) {
  const auto range = ranges_.find(base);
  if (range == ranges_.end()) return kObjectNotFound;
  if (lengthKnown && range->second.end != base + length) return kInvalidAddress;
  ranges_.erase(range);
  return kOk;
}

std::byte* FakeUvm::translate(uint32_t gpu, uint64_t address, size_t bytes, bool write) {
  if (managed_.count(address / kPage * kPage)) return managedMemory(gpu, address, bytes);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return nullptr;
  const auto& mappings = std::prev(next)->second.mappings[gpu];
  auto mapping = mappings.upper_bound(address);
  if (mapping == mappings.begin()) return nullptr;
  --mapping;
  const Mapping& m = mapping->second;
  if (address + bytes > m.end || (write && m.readOnly)) return nullptr;
  if (!m.memory) {
    hole_.assign(bytes, std::byte{0});
    return hole_.data();
  }
  return m.memory->start() + m.offset + (address - mapping->first);
}

}  // namespace vg::testing
