#include "backend/cpu/blocks/onlookers.h"

#include <algorithm>
#include <bit>

namespace vg::backend::cpu {
namespace {

// How often a warp may stop without looking before it counts as one that has given up: lanes that wait in different
// loops take turns, each for up to 2048 steps in the interpreter, a few of them a stop.
constexpr uint16_t kMostTurns = 512;

}  // namespace

void Onlookers::Lanes::add(uint32_t warp, uint32_t lanes) {
  of[warp] |= lanes;
  if (lanes) warps |= 1u << warp;
}

void Onlookers::Lanes::remove(uint32_t warp, uint32_t lanes) {
  of[warp] &= ~lanes;
  if (!of[warp]) warps &= ~(1u << warp);
}

void Onlookers::Looks::owe(const Lanes& lanes) {
  for (uint32_t left = lanes.warps; left; left &= left - 1) {
    const auto warp = static_cast<uint32_t>(std::countr_zero(left));
    owed.add(warp, lanes.of[warp]);
    turns[warp] = 0;
  }
}

void Onlookers::reset() {
  objects_.clear();
  looks_.clear();
  late_ = 0;
}

const Onlookers::Looks* Onlookers::find(const std::byte* object) const {
  const auto found = std::ranges::find(objects_, object);
  return found == objects_.end() ? nullptr : &looks_[static_cast<size_t>(found - objects_.begin())];
}

Onlookers::Looks& Onlookers::of(const std::byte* object) {
  const auto found = std::ranges::find(objects_, object);
  if (found != objects_.end()) return looks_[static_cast<size_t>(found - objects_.begin())];
  looks_.emplace_back();
  objects_.push_back(object);
  return looks_.back();
}

void Onlookers::asked(uint32_t warp, const std::byte* object, uint32_t lanes, uint32_t again) {
  Looks& looks = of(object);
  looks.expected &= ~(1u << warp);
  looks.owed.remove(warp, lanes);
  looks.told.remove(warp, lanes);
  looks.told.add(warp, again);
  looks.seen.remove(warp, again);
  looks.seen.add(warp, lanes & ~again);
}

void Onlookers::changed(const std::byte* object, uint32_t running) {
  Looks& looks = of(object);
  looks.owe(looks.told);
  looks.owe(looks.seen);
  looks.told = looks.seen = {};
  looks.expected |= running & ~looks.owed.warps;
  late_ |= looks.owed.warps | looks.expected;
}

uint32_t Onlookers::owed(const std::byte* object) const {
  const Looks* const looks = find(object);
  return looks ? looks->owed.warps | looks->expected : 0;
}

uint32_t Onlookers::waiting() const {
  uint32_t told = 0, owed = 0;
  for (const Looks& looks : looks_) {
    told |= looks.told.warps;
    owed |= looks.owed.warps;
  }
  return told & ~owed;
}

void Onlookers::stopped(uint32_t warp) {
  const uint32_t bit = 1u << warp;
  if (!(late_ & bit)) return;
  late_ &= ~bit;
  for (Looks& looks : looks_) {
    looks.expected &= ~bit;
    if (!(looks.owed.warps & bit)) continue;
    if (++looks.turns[warp] < kMostTurns)
      late_ |= bit;
    else
      looks.owed.remove(warp, ~0u);
  }
}

void Onlookers::ended(uint32_t warp) {
  for (Looks& looks : looks_) {
    looks.expected &= ~(1u << warp);
    for (Lanes* lanes : {&looks.told, &looks.seen, &looks.owed}) lanes->remove(warp, ~0u);
  }
}

}  // namespace vg::backend::cpu
