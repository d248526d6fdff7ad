#include "check/shared_memory.h"

#include <algorithm>

#include "check/tools.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check {
namespace {

uint32_t warpOf(uint32_t thread) { return thread / ptx::kWarpSize; }

}  // namespace

// What bytes_ holds of earlier blocks lies below the floor of the clocks.
void SharedMemory::reset(uint32_t bytes) {
  if (wants(Tool::Race) && bytes_.size() < bytes) bytes_.resize(bytes);
  written_.assign(bytes, 0);
}

bool SharedMemory::touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks,
                         Hazard& hazard) {
  using Kind = ptx::Access::Kind;
  const bool reads = access.kind != Kind::Store, writes = access.kind != Kind::Load;
  bool found = false;
  const auto conflicts = [&](const Reader& earlier) {
    return earlier.clock && !(earlier.strong && access.strong) &&
           !clocks.ordered(earlier.thread, earlier.clock, thread);
  };
  const Reader self{clocks.now(thread), static_cast<uint16_t>(thread), access.strong, access.instruction};
  for (uint32_t k = 0; k < access.bytes; ++k) {
    Byte& byte = bytes_[offset + k];
    const auto report = [&](Hazard::Kind kind, const Reader& earlier) {
      if (!found) hazard = {kind, offset + k, thread, earlier.thread, access.instruction, earlier.at};
      found = true;
    };
    if (conflicts(byte.writer))
      report(reads ? Hazard::Kind::ReadAfterWrite : Hazard::Kind::WriteAfterWrite, byte.writer);
    if (!writes) {
      addReader(byte, self, clocks);
      continue;
    }
    for (const Reader& reader : byte.readers)
      if (conflicts(reader)) report(Hazard::Kind::WriteAfterRead, reader);
    byte.writer = self;
    byte.readers[0] = byte.readers[1] = Reader();
  }
  return found;
}

void SharedMemory::addReader(Byte& byte, const Reader& reader, const Clocks& clocks) {
  for (Reader& known : byte.readers)
    if (!known.clock || clocks.ordered(known.thread, known.clock, reader.thread)) {
      known = reader;
      return;
    }
  if (warpOf(byte.readers[0].thread) == warpOf(byte.readers[1].thread)) byte.readers[1] = reader;
}

uint32_t SharedMemory::writtenBytes(uint32_t offset, uint32_t bytes) const {
  const auto first = written_.begin() + offset;
  return static_cast<uint32_t>(std::find(first, first + bytes, 0) - first);
}

void SharedMemory::written(uint32_t offset, uint32_t bytes) { std::fill_n(written_.begin() + offset, bytes, 1); }

}  // namespace vg::check
