#include "check/memory/read_notes.h"

#include <bit>

namespace vg::check {
namespace {

constexpr size_t kNotes = 1 << 13;

// Of the lanes of a row each, or the first and the last of those at one place, which stand for all.
void look(const ptx::ReadNote& read, uint64_t base, SharedMemory& shared, const Clocks& clocks) {
  const ptx::AccessForm form = ptx::accessFormOf(read.form);
  const uint32_t each = 1u << (form.lanes >> ptx::kRowLanesShift & 7), before = read.row * each;
  const uint32_t mask = read.mask >> before & (each == ptx::kWarpSize ? ~0u : (1u << each) - 1);
  if (!mask) return;
  const bool apart = (form.lanes & ptx::kAccessLanes) == static_cast<uint8_t>(ptx::AccessLanes::SideBySide);
  const auto note = [&](uint32_t lane) {
    const uint64_t offset = (read.start - base + (apart ? lane * form.bytes : 0)) & 0xffffffff;
    shared.noteRead(static_cast<uint32_t>(offset), form.bytes, read.warp * ptx::kWarpSize + before + lane, read.line,
                    clocks);
  };
  const auto first = static_cast<uint32_t>(std::countr_zero(mask)),
             last = 31 - static_cast<uint32_t>(std::countl_zero(mask));
  if (!apart) {
    note(first);
    if (last != first) note(last);
    return;
  }
  for (uint32_t left = mask; left; left &= left - 1) note(static_cast<uint32_t>(std::countr_zero(left)));
}

}  // namespace

void ReadNotes::begin(const ptx::BlockState& block, bool may) {
  ptx::CheckedRanges* const ranges = block.checked;
  if (!ranges) return;
  if (may && room_.empty()) room_.resize(kNotes);
  ranges->next = may ? room_.data() : nullptr;
  ranges->end = may ? room_.data() + room_.size() : nullptr;
}

void ReadNotes::takeAll(const ptx::BlockState& block, SharedMemory& shared, const Clocks& clocks) {
  const ptx::ReadNote* const last = block.checked->next;
  block.checked->next = block.checked->end = nullptr;
  const uint64_t base = reinterpret_cast<uint64_t>(block.shared + block.sharedOffset);
  for (const ptx::ReadNote* read = room_.data(); read != last; ++read) look(*read, base, shared, clocks);
}

}  // namespace vg::check
