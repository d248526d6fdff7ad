// Masks of lanes: made, combined, tested, kept in slots.
#pragma once

#include <functional>
#include <map>

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

using MaskSlot = llvm::SmallVector<llvm::AllocaInst*, 8>;

class Masks : public EmitterPart {
 public:
  explicit Masks(Emission& emission) : EmitterPart(emission) {}

  // Of the lanes that have not left the kernel.
  Mask live() { return loadMask(liveSlot_); }
  void setLive(const Mask& mask) { storeMask(liveSlot_, mask); }
  // Of the lanes in a region whose lanes are held: those that have not left it.
  Mask inside(uint32_t component) { return loadMask(insideSlot(component)); }
  void setInside(uint32_t component, const Mask& mask) { storeMask(insideSlot(component), mask); }
  void makeLive() { liveSlot_ = makeMaskSlot("live"); }
  Chunks chunksOf(const Mask& mask);
  Mask both(const Mask& a, const Mask& b);
  Mask without(const Mask& a, const Mask& b);
  Mask either(const Mask& a, const Mask& b);
  Mask whole(const PartedMask& mask);
  Value* withBit(const PartedMask& mask, Value* ofLanes);  // what all or any of its lanes say, and the bit
  Mask constantMask(uint32_t lanes);
  Mask lanesBelow(Value* count);  // those of lower numbers
  Value* anyLane(const Mask& mask);
  Value* anyLaneOfRow(const Mask& mask, uint32_t row);
  Value* allLanes(const Mask& mask);
  Value* maskBits(const Mask& mask);  // i32
  Mask maskFromBits(Value* bits);
  Value* firstLane(Value* bits);  // the lowest of them, as i32; lane 0 where there is none
  LType* maskSlotType();
  void storeMask(llvm::ArrayRef<llvm::AllocaInst*> slot, const Mask& mask);
  Mask loadMask(llvm::ArrayRef<llvm::AllocaInst*> slot);
  MaskSlot makeMaskSlot(const char* name);
  // Runs body once for each lane of the mask, ascending, with the lane number as i32; with 8, 16 or 32 for descending,
  // groups of so many lanes ascending, and the lanes of each descending.
  void forEachLane(const Mask& mask, const std::function<void(Value* lane)>& body, uint32_t descending = 1);

  Mask here;  // the lanes of the present copy

 private:
  Mask uniformMask(Value* bit);

  MaskSlot& insideSlot(uint32_t component) {
    MaskSlot& slot = insideSlots_[component];
    if (slot.empty()) slot = makeMaskSlot("inside");
    return slot;
  }

  MaskSlot liveSlot_;
  std::map<uint32_t, MaskSlot> insideSlots_;
};

}  // namespace vg::ptx::gen
