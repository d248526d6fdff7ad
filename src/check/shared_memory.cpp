#include "check/shared_memory.h"

#include <algorithm>

#include "check/tools.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check {
namespace {

constexpr uint32_t kWord = 4;

uint32_t warpOf(uint32_t thread) { return thread / ptx::kWarpSize; }

}  // namespace

// An access as it looks to each byte.
struct SharedMemory::Touch {
  bool reads, writes;
  Reader self;
  uint32_t thread;
  const Clocks& clocks;

  bool conflicts(const Reader& earlier) const {
    return earlier.clock && !(earlier.strong && self.strong) && !clocks.ordered(earlier.thread, earlier.clock, thread);
  }
};

// What bytes_ holds of earlier blocks lies below the floor of the clocks.
void SharedMemory::reset(uint32_t bytes) {
  if (wants(Tool::Race) && bytes_.size() < bytes) bytes_.resize((bytes + kWord - 1) / kWord * kWord);
  if (wants(Tool::Race)) whole_.assign(bytes_.size() / kWord, 1);
  written_.assign(bytes, 0);
}

// True for a conflict; the first one of an access is told.
bool SharedMemory::touchByte(Byte& byte, const Touch& touch, uint32_t offset, Hazard& hazard) {
  bool found = false;
  const auto report = [&](Hazard::Kind kind, const Reader& earlier) {
    if (!found) hazard = {kind, offset, touch.thread, earlier.thread, touch.self.at, earlier.at};
    found = true;
  };
  if (touch.conflicts(byte.writer))
    report(touch.reads ? Hazard::Kind::ReadAfterWrite : Hazard::Kind::WriteAfterWrite, byte.writer);
  if (!touch.writes) {
    addReader(byte, touch.self, touch.clocks);
    return found;
  }
  for (const Reader& reader : byte.readers)
    if (touch.conflicts(reader)) report(Hazard::Kind::WriteAfterRead, reader);
  byte.writer = touch.self;
  byte.readers[0] = byte.readers[1] = Reader();
  return found;
}

void SharedMemory::split(uint32_t word) {
  if (!whole_[word]) return;
  whole_[word] = 0;
  std::fill_n(bytes_.begin() + word * kWord + 1, kWord - 1, bytes_[word * kWord]);
}

bool SharedMemory::touch(const ptx::Access& access, uint32_t offset, uint32_t thread, const Clocks& clocks,
                         Hazard& hazard) {
  using Kind = ptx::Access::Kind;
  const Touch touch{access.kind != Kind::Store, access.kind != Kind::Load,
                    Reader{clocks.now(thread), static_cast<uint16_t>(thread), access.strong, access.instruction},
                    thread, clocks};
  bool found = false;
  Hazard other;
  const auto byteAt = [&](uint32_t at) { found |= touchByte(bytes_[at], touch, at, found ? other : hazard); };
  const uint32_t end = offset + static_cast<uint32_t>(access.bytes);
  for (uint32_t at = offset; at < end;) {
    const uint32_t word = at / kWord;
    const bool together = at % kWord == 0 && end - at >= kWord;
    if (together && whole_[word]) {
      byteAt(at);
      at += kWord;
      continue;
    }
    split(word);
    for (const uint32_t last = std::min(end, (word + 1) * kWord); at < last; ++at) byteAt(at);
    if (together && touch.writes) whole_[word] = 1;  // all four are the same from now on
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
