// Stores, by the shape of the address as loads are.
#pragma once

#include "ptx/llvm/analysis/streaming.h"
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

struct Piece {
  llvm::Value *elements, *place;
  llvm::Value* lanes;  // null: all
};

class Stores : public EmitterPart {
 public:
  Stores(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates, Addresses& addresses,
         Gathers& gathers, AccessTests& tests, AccessChecks& checks)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        addresses_(addresses),
        gathers_(gathers),
        tests_(tests),
        checks_(checks),
        streamed_(streamedStores(program_)) {}

  uint64_t streamedPerThread() const { return streamed_.bytesPerThread; }
  void emitStore(const Instruction& i);
  void storeLanes(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);

 private:
  void storeUniform(const Instruction& i, const Address& a, const Mask& mask);
  Value* laneWhoseStoreStays(Value* lanes, uint32_t together);
  Components elementsOf(const Instruction& i);
  void storeSameInRow(const Instruction& i, const Address& a, const Mask& mask);
  bool storesByRows(const Instruction& i, const Address& a) const;
  void storeVarying(const Instruction& i, const Address& a, const Mask& mask);
  Value* interleaved(const Components& data, uint32_t chunk);
  void storeRow(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  llvm::SmallVector<Piece, 4> piecesOf(const Address& a, uint32_t chunk, uint32_t bytes, const Components& data,
                                       Value* mask, bool isVolatile);
  llvm::SmallVector<uint32_t, 8> chunksInStoreOrder(uint32_t bytes) const;  // bytes of a lane
  void storeWholeRow(const Address& a, uint32_t bits, const Components& data, bool isVolatile);
  void storeVector(llvm::Value* address, const llvm::SmallVectorImpl<llvm::Value*>& elements, uint32_t bits,
                   bool isVolatile);
  void storeEach(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  void storeByTurns(const LanePlaces& places, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  void storeByTurns(const LanePlaces& places, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile,
                    uint32_t descending);
  void storeVolatile(const Address& a, uint32_t bits, const Components& data, const Mask& mask);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Addresses& addresses_;
  Gathers& gathers_;
  AccessTests& tests_;
  AccessChecks& checks_;
  StreamedStores streamed_;
};

}  // namespace vg::ptx::gen
