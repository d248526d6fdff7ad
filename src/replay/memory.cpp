#include "replay/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace vg::replay {

using record::RangeKind;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGranule = 2 << 20;  // of device memory, on every device so far

uint64_t down(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t up(uint64_t value, uint64_t unit) { return down(value + unit - 1, unit); }

bool ofHost(RangeKind kind) {
  return kind == RangeKind::Pinned || kind == RangeKind::Managed || kind == RangeKind::Pageable;
}

// Whole units; those that touch are one.
std::vector<std::pair<uint64_t, uint64_t>> merge(std::vector<std::pair<uint64_t, uint64_t>> parts, uint64_t unit) {
  for (auto& [from, to] : parts) {
    from = down(from, unit);
    to = up(to, unit);
  }
  std::sort(parts.begin(), parts.end());
  std::vector<std::pair<uint64_t, uint64_t>> result;
  for (const auto& [from, to] : parts)
    if (!result.empty() && from <= result.back().second)
      result.back().second = std::max(result.back().second, to);
    else
      result.emplace_back(from, to);
  return result;
}

template <class Which>
std::vector<std::pair<uint64_t, uint64_t>> partsOf(const std::vector<RecordedRange>& ranges, Which which) {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const RecordedRange& range : ranges)
    if (which(range)) parts.emplace_back(range.address, range.address + range.size);
  return parts;
}

void* mapAt(uint64_t address, uint64_t size) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = ::mmap(wanted, size, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != MAP_FAILED && got != wanted) ::munmap(got, size);  // an old kernel, which knows no such flag
  return got == wanted ? got : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
}

}  // namespace

void Memory::keepHost(const std::vector<RecordedRange>& ranges) {
  for (const auto& [from, to] : merge(partsOf(ranges, [](const auto& range) { return ofHost(range.kind); }), kPage)) {
    void* const got = mapAt(from, to - from);
    if (got == MAP_FAILED) continue;
    host_.push_back({from, to - from, reinterpret_cast<uint64_t>(got), true});
    if (host_.back().now == from) continue;
    moved_ += to - from;
    values_.bindRange(from, to - from, host_.back().now);
  }
}

void Memory::reserveDevice(const Driver& driver, const std::vector<RecordedRange>& ranges) {
  driver_ = &driver;
  const auto reserve = VG_REPLAY_DRIVER(driver, cuMemAddressReserve);
  const auto release = VG_REPLAY_DRIVER(driver, cuMemAddressFree);
  const auto wanted = partsOf(ranges, [](const auto& range) { return range.kind == RangeKind::Device; });
  for (const auto& [from, to] : merge(wanted, kGranule)) {
    Block block{from, to - from};
    CUdeviceptr got = 0;
    if (reserve && reserve(&got, block.size, 0, from, 0) == CUDA_SUCCESS) {
      block.usable = got == from;
      if (!block.usable) release(got, block.size);
    }
    device_.push_back(block);
  }
}

bool Memory::mapRun(uint64_t from, uint64_t to, int device) {
  const auto create = VG_REPLAY_DRIVER(*driver_, cuMemCreate);
  const auto map = VG_REPLAY_DRIVER(*driver_, cuMemMap);
  const auto permit = VG_REPLAY_DRIVER(*driver_, cuMemSetAccess);
  const auto release = VG_REPLAY_DRIVER(*driver_, cuMemRelease);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemGenericAllocationHandle memory = 0;
  if (create(&memory, to - from, &properties, 0) != CUDA_SUCCESS) return false;
  const bool mapped = map(from, to - from, 0, memory, 0) == CUDA_SUCCESS;
  release(memory);
  if (!mapped) return false;
  const CUmemAccessDesc own{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (permit(from, to - from, &own, 1) != CUDA_SUCCESS) return false;
  int devices = 0;
  VG_REPLAY_DRIVER(*driver_, cuDeviceGetCount)(&devices);
  for (int other = 0; other < devices; ++other) {  // those that have access to each other
    const CUmemAccessDesc theirs{{CU_MEM_LOCATION_TYPE_DEVICE, other}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (other != device) permit(from, to - from, &theirs, 1);
  }
  for (uint64_t at = from; at < to; at += kGranule) mapped_.insert(at);
  return true;
}

// Granules stay mapped: who frees memory mostly gets the same addresses again.
bool Memory::placeDevice(const RecordedRange& range) {
  const auto block =
      std::find_if(device_.begin(), device_.end(), [&](const Block& b) { return b.contains(range.address); });
  if (block == device_.end() || !block->usable) return false;
  const uint64_t end = up(range.address + range.size, kGranule);
  for (uint64_t at = down(range.address, kGranule); at < end;) {
    if (mapped_.count(at)) {
      at += kGranule;
      continue;
    }
    uint64_t to = at;
    while (to < end && !mapped_.count(to)) to += kGranule;
    if (!mapRun(at, to, range.device)) return false;
    at = to;
  }
  return true;
}

Memory::Block* Memory::hostBlock(uint64_t address) {
  for (Block& block : host_)
    if (block.contains(address)) return &block;
  return nullptr;
}

CUresult Memory::placeHost(const RecordedRange& range) {
  Block* const block = hostBlock(range.address);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(reinterpret_cast<void*>(block->now + (range.address - block->start)), 0, range.size);
  if (range.kind == RangeKind::Pageable || block->registered) return CUDA_SUCCESS;
  block->registered = true;
  return VG_REPLAY_DRIVER(*driver_, cuMemHostRegister_v2)(reinterpret_cast<void*>(block->now), block->size,
                                                          CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

bool Memory::placed(uint64_t address) const {
  for (const Block& block : host_)
    if (block.contains(address)) return true;
  return mapped_.count(down(address, kGranule)) > 0;
}

char* Memory::hostPointer(uint64_t recorded, uint64_t size) const {
  for (const Block& block : host_)
    if (block.contains(recorded) && size <= block.size - (recorded - block.start))
      return reinterpret_cast<char*>(block.now + (recorded - block.start));
  auto after = bound_.upper_bound(recorded);
  if (after == bound_.begin()) return nullptr;
  --after;
  if (recorded - after->first >= after->second) return nullptr;
  return reinterpret_cast<char*>(values_.address(recorded));
}

}  // namespace vg::replay
