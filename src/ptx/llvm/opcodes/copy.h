// cp.async: copies of a few bytes a lane, done at once.
#pragma once

#include "ptx/llvm/emit/access_checks.h"
#include "ptx/llvm/emit/access_tests.h"
#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/opcodes/load.h"
#include "ptx/llvm/opcodes/store.h"

namespace vg::ptx::gen {

class LaneCopies : public EmitterPart {
 public:
  LaneCopies(Emission& emission, Masks& masks, Values& values, Predicates& predicates, Addresses& addresses,
             AccessTests& tests, AccessChecks& checks, Loads& loads, Stores& stores)
      : EmitterPart(emission),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        addresses_(addresses),
        tests_(tests),
        checks_(checks),
        loads_(loads),
        stores_(stores) {}

  void copyAsync(const Instruction& i);

 private:
  uint32_t bytesToCopy(const Instruction& i);
  Value* bytesToRead(const Instruction& i, uint32_t chunk, uint32_t bytes);
  void copyParts(const Address& to, const Address& from, const Chunks& bound, const Mask& lanes);
  void copyLimited(const Instruction& i, const Address& to, const Address& from, uint32_t bits, uint32_t count,
                   const Mask& mask);

  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Addresses& addresses_;
  AccessTests& tests_;
  AccessChecks& checks_;
  Loads& loads_;
  Stores& stores_;
};

}  // namespace vg::ptx::gen
