// Addresses of loads, stores and atomics, in the shape of the register that holds them, and elements at them as vectors
// of lanes.
#pragma once

#include <functional>

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

struct Address {
  Space space = Space::None;
  Shape shape;
  llvm::Value* scalar = nullptr;  // i64 host address (lane 0's when affine)
  Chunks rows;                    // ... of the first lane of each row, as in a Form
  llvm::Value* holds = nullptr;
  ValueId value = kNone;
  int64_t offset = 0;
};

using LanePlaces = std::function<llvm::Value*(llvm::Value* lane)>;  // i64

class Addresses : public EmitterPart {
 public:
  Addresses(Emission& emission, Runner& runner, Masks& masks, Values& values)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values) {}

  Value* displaced(Value* address, int64_t offset);
  Address addressOf(const Instruction& i, size_t source, Space space);
  Value* addressChunk(const Address& a, uint32_t chunk);  // <W x i64>
  Chunks addressChunks(const Address& a);
  Value* addressLane(const Address& a, Value* lane);  // i64
  LanePlaces placesOfLanes(const Address& a);
  Value* placeInRow(const Address& a, uint32_t lane, int64_t step, int64_t offset = 0);
  // Lanes of one access; of so many bytes each where it is not to be more than the processor moves at once, as LLVM
  // cuts up what is more in an order of its own.
  uint32_t lanesInPiece(const Address& a, uint32_t laneBytes = 0) const {
    const uint32_t most = a.rows.empty() ? w_ : std::min(w_, rowLanes_);
    return laneBytes && a.rows.empty() ? std::clamp(w_ * 4 / laneBytes, 1u, most) : most;
  }
  Chunks joinHalves(const Components& halves);
  Components splitHalves(ValueId wide);
  // Whether lanes access elements side by side that are `stride` bytes: for sure, for all that is known (`likely`), or
  // as a test at run time finds.
  struct SideBySide {
    bool always, likely;
    Value* test;      // i1; null: never, or always
    Address address;  // where they do
  };
  SideBySide sideBySide(const Address& a, uint32_t stride, uint32_t elements, const Mask& mask);
  // Branches to the one or the other as the test finds.
  void branch(const SideBySide& found, BB* rows, BB* lanes);
  bool hasSteps(const Address& a) const;
  Value* goUpwards(const Address& a, uint32_t laneBytes, const Mask& mask);  // i1: one lane behind the other

 private:
  Value* consecutive(const Address& a, uint32_t stride, const Mask& mask);                        // i1
  Value* inSteps(const Chunks& values, const Chunks& starts, uint32_t stride, const Mask& mask);  // i1
  Chunks startsOfRows(const Chunks& values, uint32_t stride, const Mask& mask);
  uint32_t middleOfRow() const;
  Value* isThere(const Mask& mask, uint32_t lane);  // i1
  Value* areStartsKnown(const Mask& mask);          // i1
  Value* rowStart(Value* first, int64_t offset);
  Value* nearPlace(Value* first, int64_t offset);
  Value* startAtFirstLanes(Address& a, uint32_t stride, const Mask& mask);
  ValueId originOf(ValueId address) const;

  Runner& runner_;
  Masks& masks_;
  Values& values_;
};

}  // namespace vg::ptx::gen
