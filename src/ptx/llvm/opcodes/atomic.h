// Atomics and fences.
#pragma once

#include "ptx/llvm/compute/convert.h"
#include "ptx/llvm/compute/float.h"
#include "ptx/llvm/compute/float_pieces.h"
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

class Atomics : public EmitterPart {
 public:
  Atomics(Emission& emission, Runner& runner, FloatPieces& pieces, Conversions& conversions, Floats& floats,
          Masks& masks, Values& values, Predicates& predicates, Addresses& addresses, Gathers& gathers,
          AccessTests& tests, AccessChecks& checks)
      : EmitterPart(emission),
        runner_(runner),
        pieces_(pieces),
        conversions_(conversions),
        floats_(floats),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        addresses_(addresses),
        gathers_(gathers),
        tests_(tests),
        checks_(checks) {}

  void emitAtomic(const Instruction& i);
  void emitFence(const Instruction& i);

 private:
  // What an element of the instruction's vector is done with.
  struct Element {
    const Instruction& i;
    uint32_t part;  // which one
    uint32_t bits;
    bool isInteger = false, shared = false;
    bool used = false;  // somebody reads what memory held before
    size_t operandCount = 1;
    Address a;
    Mask mask;
    Value* base = nullptr;  // of shared memory, where addresses are offsets of 32 bits from it
  };
  struct SpilledOperand {  // one of the two
    Value* uniform;
    llvm::AllocaInst* lanes;
  };
  using SpilledOperands = llvm::SmallVector<SpilledOperand, 2>;

  void emitWideAtomic(const Instruction& i);
  Mask lanesOf(const Instruction& i, uint32_t part);
  void emitAtomicElement(const Instruction& i, uint32_t part);
  Element elementOf(const Instruction& i, uint32_t part);
  bool isReducible(const Element& e);
  void emitReduced(const Element& e);
  bool isBrief(const Element& e);
  bool emitWrittenOut(const Element& e);
  void emitLaneByLane(const Element& e);
  Chunks laneAddresses(const Element& e);
  SpilledOperands spillOperands(const Element& e);
  void defineDead(const Instruction& i, uint32_t part);
  Value* inRegister(Value* v);
  llvm::SmallVector<Value*, 32> laneWords(ValueId id, int64_t plus);
  Value* atomicLane(const Instruction& i, Value* address, llvm::ArrayRef<Value*> operands, bool shared);
  Value* applyAtomic(const Instruction& i, Value* old, llvm::ArrayRef<Value*> operands);

  Runner& runner_;
  FloatPieces& pieces_;
  Conversions& conversions_;
  Floats& floats_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Addresses& addresses_;
  Gathers& gathers_;
  AccessTests& tests_;
  AccessChecks& checks_;
  Mask allowed_;  // of the atomic at work: what is checked of its first element counts for all
};

}  // namespace vg::ptx::gen
