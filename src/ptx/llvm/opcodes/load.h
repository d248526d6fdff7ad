// Loads: one scalar access, whole vectors, or an access for each lane.
#pragma once

#include "ptx/llvm/compute/compare.h"
#include "ptx/llvm/emit/access_checks.h"
#include "ptx/llvm/emit/access_tests.h"
#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/opcodes/gather.h"

namespace vg::ptx::gen {

class Loads : public EmitterPart {
 public:
  Loads(Emission& emission, Runner& runner, Comparisons& comparisons, Masks& masks, Values& values,
        Predicates& predicates, Addresses& addresses, Gathers& gathers, AccessTests& tests, AccessChecks& checks)
      : EmitterPart(emission),
        runner_(runner),
        comparisons_(comparisons),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        addresses_(addresses),
        gathers_(gathers),
        tests_(tests),
        checks_(checks) {}

  void emitLoad(const Instruction& i);
  void emitConversionOfArgument(const Instruction& i);
  Components loadLanes(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);

 private:
  void loadParameters(const Instruction& i);
  void loadUniform(const Instruction& i, const Address& a, const Mask& mask);
  void loadSameInRow(const Instruction& i, const Address& a, const Mask& mask);
  void loadVarying(const Instruction& i, const Address& a, const Mask& mask);
  Components loadRow(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Value* loadSteps(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits, bool isVolatile);
  Components loadEach(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Components loadByTurns(const LanePlaces& places, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Components loadWhole(const Address& a, uint32_t bits, uint32_t count, const Mask& mask);
  Value* widenLoaded(Value* v, Type type, Class to);
  void prefetchAhead(const Instruction& i, const Address& a, uint32_t bytes);  // prefetch.cpp
  bool prefetchNextRound(const Instruction& i, const Address& a, uint32_t bytes);
  void prefetch(Value* at, uint32_t bytes);

  Runner& runner_;
  Comparisons& comparisons_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Addresses& addresses_;
  Gathers& gathers_;
  AccessTests& tests_;
  AccessChecks& checks_;
};

}  // namespace vg::ptx::gen
