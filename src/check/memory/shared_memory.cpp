#include "check/memory/shared_memory.h"

#include <algorithm>
#include <cstring>

#include "check/tools.h"

namespace vg::check {

using global_memory::Conflict;
using global_memory::Row;
using global_memory::Who;
using Kind = ptx::Access::Kind;

// What the region holds of earlier blocks is over.
void SharedMemory::reset(uint32_t bytes) {
  ++blocks_;
  identify(blocks_, blocks_ - 1, 0);
  if (wants(Tool::Race)) region_.reserve(bytes);
  unwritten_ = bytes;
  if (wants(Tool::Init)) written_.assign(bytes, 0);
}

bool SharedMemory::ordered(Who earlier, uint32_t thread) const {
  return clocks_->orderedSinceBegin(earlier.thread(), earlier.clock(), thread);
}

bool SharedMemory::touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks,
                         Hazard& hazard) {
  Conflict conflict;
  if (!touchBy(global_memory::rowOf(access, offset, who(thread, clocks)), clocks, &conflict)) return false;
  const bool reads = access.kind != Kind::Store;
  hazard.kind = !conflict.earlierWrote ? Hazard::Kind::WriteAfterRead
                : reads                ? Hazard::Kind::ReadAfterWrite
                                       : Hazard::Kind::WriteAfterWrite;
  hazard.offset = static_cast<uint32_t>(conflict.address);
  hazard.thread = thread;
  hazard.other = conflict.earlier.thread();
  hazard.at = access.instruction;
  hazard.otherLine = conflict.where & global_memory::kLine;
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
