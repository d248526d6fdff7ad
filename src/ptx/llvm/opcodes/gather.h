// Gathers and scatters: elements of lanes whose addresses have nothing to do with each other.
#pragma once

#include <optional>

#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

// Addresses that are elements of one array by an index of 32 bits.
struct Elements {
  llvm::Value* base = nullptr;  // i64
  ValueId index = kNone;        // varying
  uint64_t step = 0;            // bytes
  bool isSigned = false;
};

struct Indices {
  llvm::Value* base;   // a pointer
  llvm::Value* bytes;  // <W x i32>, signed
};

class Gathers : public EmitterPart {
 public:
  Gathers(Emission& emission, Runner& runner, Values& values, Addresses& addresses)
      : EmitterPart(emission), runner_(runner), values_(values), addresses_(addresses) {}

  std::optional<Elements> elementsOf(const Address& a);
  Value* placeOf(const Elements& all, Value* index);  // i64
  Value* nowhere();                                   // i64
  Value* orNowhere(Value* addresses, Value* mask);
  Value* gather(Value* addresses, uint32_t bits, Value* mask, bool isVolatile);
  Value* gatherAndLoad(Value* addresses, const Elements& all, uint32_t chunk, uint32_t bits);
  void scatter(Value* addresses, Value* data, uint32_t bits, Value* mask);
  bool canMaskedAccess(uint32_t bits) const { return options_.avx512 || (options_.avx2 && bits >= 32); }
  bool hasIndices(const Address& a, bool isVolatile) const;
  Indices indicesOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits);
  Value* gatherIndexed(const Indices& at, uint32_t bits, Value* mask);
  void scatterIndexed(const Indices& at, Value* data, uint32_t bits, Value* mask);

 private:
  Value* partOfWord(Value* words, Value* places, uint32_t bits);
  Indices stepsOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits);

  Runner& runner_;
  Values& values_;
  Addresses& addresses_;
  llvm::AllocaInst* dummy_ = nullptr;
};

}  // namespace vg::ptx::gen
