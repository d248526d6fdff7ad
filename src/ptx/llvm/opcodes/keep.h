// What debuggers and core dumps are shown (ptx/facts/kept_registers.h): registers of lanes, written to memory of their
// warp, and where the lanes are.
#pragma once

#include "ptx/facts/kept_registers.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class KeptRegisters : public EmitterPart {
 public:
  KeptRegisters(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emit(const Instruction& i);

 private:
  Value* place(uint32_t offset);  // in the memory of the warp
  void emitNote(const Instruction& i, uint32_t line);
  void storeChunks(uint32_t offset, Chunks chunks, uint32_t bits, const Mask& lanes);
  void storeBits(uint32_t offset, Value* bits, const Mask& lanes);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
};

}  // namespace vg::ptx::gen
