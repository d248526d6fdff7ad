#include "check/memory/shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "check/tools.h"

namespace vg::check {

using global_memory::Conflict;
using global_memory::Row;
using global_memory::Who;
using Kind = ptx::Access::Kind;

// What the region holds of earlier blocks is over.
void SharedMemory::reset(uint32_t bytes) {
  blocks_ += 3;
  copies_.reset();
  identify(blocks_, blocks_ - 1, 0);
  if (wants(Tool::Race)) region_.reserve(bytes);
  unwritten_ = bytes;
  if (wants(Tool::Init)) written_.assign(bytes, 0);
}

bool SharedMemory::ordered(Who earlier, uint32_t thread) const {
  if (earlier.id() == copiesId()) return copies_.ordered(earlier.thread(), earlier.clock(), thread, *clocks_);
  if (earlier.id() == bulkId()) return copies_.bulkOrdered(earlier.clock(), thread, *clocks_);
  return clocks_->orderedSinceBegin(earlier.thread(), earlier.clock(), thread);
}

bool SharedMemory::touchByCopies(const ptx::Access& access, uint32_t offset, uint64_t laneBytes, uint32_t thread,
                                 uint32_t lanes, const Clocks& clocks) {
  const uint32_t span = !laneBytes                          ? 1
                        : lanes == global_memory::kAllLanes ? static_cast<uint32_t>(access.bytes / laneBytes)
                                                            : static_cast<uint32_t>(std::bit_width(lanes));
  uint32_t group = 0;
  if (!copies_.beginTogether(thread, span, group)) return true;
  return touchBy(global_memory::rowOf(access, offset, Who(copiesId(), thread, group), laneBytes, lanes), clocks,
                 nullptr);
}

bool SharedMemory::touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks,
                         Hazard& hazard) {
  const Who now = isAsyncCopy(access) ? Who(copiesId(), thread, copies_.begin(thread)) : who(thread, clocks);
  return touchAs(now, access, offset, clocks, hazard);
}

bool SharedMemory::touchByBulk(const ptx::Access& access, uint32_t offset, uint32_t thread, uint64_t barrier,
                               const Clocks& clocks, Hazard& hazard) {
  ptx::Access store = access;
  store.kind = Kind::Store;
  return touchAs(Who(bulkId(), thread, copies_.beginBulk(barrier)), store, offset, clocks, hazard);
}

bool SharedMemory::touchAs(Who now, const ptx::Access& access, uint32_t offset, const Clocks& clocks, Hazard& hazard) {
  Conflict conflict;
  if (!touchBy(global_memory::rowOf(access, offset, now), clocks, &conflict)) return false;
  const bool reads = access.kind != Kind::Store;
  hazard.kind = !conflict.earlierWrote ? Hazard::Kind::WriteAfterRead
                : reads                ? Hazard::Kind::ReadAfterWrite
                                       : Hazard::Kind::WriteAfterWrite;
  hazard.offset = static_cast<uint32_t>(conflict.address);
  hazard.thread = now.thread();
  hazard.other = conflict.earlier.thread();
  hazard.at = access.instruction;
  hazard.otherLine = conflict.where & global_memory::kLine;
  hazard.otherCopies = conflict.earlier.id() != blocks_;
  return true;
}

void SharedMemory::noteRead(uint32_t offset, uint64_t bytes, uint32_t thread, uint32_t line, const Clocks& clocks) {
  ptx::Access access;
  access.kind = Kind::Load;
  access.bytes = bytes;
  Row row = global_memory::rowOf(access, offset, who(thread, clocks));
  row.where = line & global_memory::kLine;
  touchBy(row, clocks, nullptr);
}

uint32_t SharedMemory::writtenAmong(uint32_t offset, uint32_t bytes) const {
  const uint8_t* const first = written_.data() + offset;
  const void* const empty = bytes ? std::memchr(first, 0, bytes) : nullptr;
  return empty ? static_cast<uint32_t>(static_cast<const uint8_t*>(empty) - first) : bytes;
}

void SharedMemory::written(uint32_t offset, uint32_t bytes) {
  if (!unwritten_ || !bytes) return;
  uint8_t* const first = written_.data() + offset;
  unwritten_ -= static_cast<uint32_t>(std::count(first, first + bytes, 0));
  std::memset(first, 1, bytes);
}

}  // namespace vg::check
