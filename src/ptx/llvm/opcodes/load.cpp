// Loads. The shape of the address decides: one scalar access, whole vectors, or an access for each lane.
#include <llvm/IR/IntrinsicsX86.h>

#include <cstdlib>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/emit/memory.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/passes/single_loads.h"

namespace vg::ptx::gen {

// Where loads do no harm.
llvm::Value* Emitter::nowhere() {
  if (!dummy_) dummy_ = entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), 8), "nowhere", llvm::Align(64));
  return b_.CreatePtrToInt(dummy_, b_.getInt64Ty());
}

// The addresses of the lanes of a mask, and for the others one where loads do no harm.
llvm::Value* Emitter::orNowhere(Value* addresses, Value* mask) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  return b_.CreateSelect(mask, addresses, b_.CreateVectorSplat(lanes, nowhere()));
}

llvm::Value* Emitter::gather(Value* addresses, uint32_t bits, Value* mask, bool isVolatile) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (options_.avx512 && !isVolatile && lanes >= 8) {
    if (bits < 32) {
      Value* const words = b_.CreateAnd(addresses, number(addresses, b_.getInt64Ty(), ~uint64_t{3}));
      Value* const low = asInteger(addresses, 32);
      return partOfWord(gather(words, 32, mask, false), low, bits);
    }
    if (lanes > 8)
      return concat(gather(slice(addresses, 0, 8), bits, slice(mask, 0, 8), false),
                    gather(slice(addresses, 8, 8), bits, slice(mask, 8, 8), false));
    auto* type = llvm::FixedVectorType::get(integerType(bits), 8);
    return callIntrinsic(
        bits == 32 ? llvm::Intrinsic::x86_avx512_mask_gather_qpi_512 : llvm::Intrinsic::x86_avx512_mask_gather_qpq_512,
        {},
        {llvm::Constant::getNullValue(type), llvm::ConstantPointerNull::get(b_.getPtrTy()), addresses, mask,
         b_.getInt32(1)});
  }
  Value* const safe = orNowhere(addresses, mask);
  Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(integerType(bits), lanes));
  for (uint32_t l = 0; l < lanes; ++l) {
    auto* load = b_.CreateAlignedLoad(integerType(bits), pointer(b_.CreateExtractElement(safe, l)),
                                      llvm::Align(bits / 8), isVolatile);
    out = b_.CreateInsertElement(out, load, l);
  }
  return out;
}

// Of the aligned words around them, the elements of 8 or 16 bits at these places. No word is in two pages, so whoever
// may read an element may read the others too.
llvm::Value* Emitter::partOfWord(Value* words, Value* places, uint32_t bits) {
  Value* const bytes = b_.CreateAnd(places, number(places, b_.getInt32Ty(), 3));
  Value* const shifted = b_.CreateLShr(words, b_.CreateShl(bytes, number(bytes, b_.getInt32Ty(), 3)));
  return asInteger(shifted, bits);
}

// All lanes of a chunk, half of them by loads of their own. Processors gather elements that their caches have faster
// than they load them one by one, but have fewer of others under way at a time.
llvm::Value* Emitter::gatherAndLoad(Value* addresses, const Elements& all, uint32_t chunk, uint32_t bits) {
  const uint32_t half = w_ / 2;
  Value* const lanes = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), half));
  Value* const gathered = gather(slice(addresses, 0, half), bits, lanes, false);
  Value* loaded = llvm::PoisonValue::get(gathered->getType());
  uint32_t lane = 0;
  for (Value* const index : wordsOf(slice(asInteger(chunkOf(all.index, chunk), 32), half, half))) {
    Value* const element = b_.CreateAlignedLoad(integerType(bits), pointer(placeOf(all, index)), llvm::Align(bits / 8));
    loaded = b_.CreateInsertElement(loaded, element, lane++);
  }
  return concat(gathered, loaded);
}

llvm::Value* Emitter::repeatMask(Value* mask, uint32_t count, uint32_t) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t e = 0; e < w_ * count; ++e) order.push_back(static_cast<int>(e / count));
  return b_.CreateShuffleVector(mask, order);
}

Emitter::Components Emitter::loadRow(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                     bool isVolatile) {
  Components out(count);
  const uint32_t bytes = bits / 8;
  const uint32_t piece = lanesInPiece(a);
  auto* type = llvm::FixedVectorType::get(integerType(bits), piece * count);
  const auto load = [&](uint32_t c, uint32_t first) -> Value* {
    Value* const at = placeInRow(a, c * w_ + first, count * bytes);
    if (mask.full) return b_.CreateAlignedLoad(type, at, llvm::Align(bytes), isVolatile);
    Value* lanes = count == 1 ? mask.chunks[c] : repeatMask(mask.chunks[c], count, 0);
    if (piece < w_) lanes = slice(lanes, first * count, piece * count);
    auto* const masked = b_.CreateMaskedLoad(type, at, llvm::Align(bytes), lanes, llvm::Constant::getNullValue(type));
    if (a.space == Space::Shared) markShared(*masked);
    return masked;
  };
  for (uint32_t c = 0; c < k_; ++c) {
    llvm::SmallVector<Value*, 4> pieces;
    for (uint32_t first = 0; first < w_; first += piece) pieces.push_back(load(c, first));
    Value* const loaded = joined(pieces);
    for (uint32_t n = 0; n < count; ++n) {
      if (count == 1) {
        out[n].push_back(loaded);
        continue;
      }
      llvm::SmallVector<int, 16> order;
      for (uint32_t l = 0; l < w_; ++l) order.push_back(static_cast<int>(l * count + n));
      out[n].push_back(b_.CreateShuffleVector(loaded, order));
    }
  }
  return out;
}

// One place for all lanes of a row. Rows without lanes read where it does no harm.
void Emitter::loadSameInRow(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  const bool isVolatile = isVolatileAccess(*i.ast);
  LType* const whole = isVolatile && count > 1 ? wholeType(b_, bits / 8 * count) : nullptr;
  llvm::SmallVector<Form, 4> forms(count);
  for (uint32_t r = 0; r < rows_; ++r) {
    Value* const at = mask.full ? a.rows[r] : b_.CreateSelect(anyLaneOfRow(mask, r), a.rows[r], nowhere());
    const auto loadAs = [&](LType* as, uint32_t n) {
      Value* const element = pointer(b_.CreateAdd(at, b_.getInt64(uint64_t{n} * (bits / 8))));
      return b_.CreateAlignedLoad(as, element, llvm::Align(bits / 8), isVolatile);
    };
    Value* const vector =
        whole ? b_.CreateBitCast(loadAs(whole, 0), llvm::FixedVectorType::get(integerType(bits), count)) : nullptr;
    for (uint32_t n = 0; n < count; ++n) {
      if (i.results[n] == kNone) continue;
      Value* const element = vector ? b_.CreateExtractElement(vector, n) : loadAs(integerType(bits), n);
      forms[n].rows.push_back(widenLoaded(element, type, program_.values[i.results[n]].type));
    }
  }
  for (uint32_t n = 0; n < count; ++n) {
    forms[n].shape = {Shape::Rows, 0, false};
    if (i.results[n] != kNone) finish(i, n, std::move(forms[n]));
  }
}

// Vectors that other threads may be writing, a lane at a time.
Emitter::Components Emitter::loadWhole(const Address& a, uint32_t bits, uint32_t count, const Mask& mask) {
  Components out(count);
  const Chunks lanes = chunksOf(mask);
  auto* const element = llvm::FixedVectorType::get(integerType(bits), count);
  auto* const row = llvm::FixedVectorType::get(integerType(bits), w_);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const safe = orNowhere(addressChunk(a, c), lanes[c]);
    llvm::SmallVector<Value*, 8> rows(count, llvm::PoisonValue::get(row));
    for (uint32_t l = 0; l < w_; ++l) {
      Value* const loaded =
          b_.CreateBitCast(b_.CreateAlignedLoad(wholeType(b_, bits / 8 * count),
                                                pointer(b_.CreateExtractElement(safe, l)), llvm::Align(bits / 8), true),
                           element);
      for (uint32_t n = 0; n < count; ++n)
        rows[n] = b_.CreateInsertElement(rows[n], b_.CreateExtractElement(loaded, n), l);
    }
    for (uint32_t n = 0; n < count; ++n) out[n].push_back(rows[n]);
  }
  return out;
}

// Elements of a chunk whose lanes are a constant step apart: the addresses need no vectors.
llvm::Value* Emitter::loadSteps(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits, bool isVolatile) {
  Value* out = llvm::PoisonValue::get(vectorOf(integerType(bits)));
  for (uint32_t l = 0; l < w_; ++l) {
    Value* const at = placeInRow(a, chunk * w_ + l, a.shape.stride, offset);
    out =
        b_.CreateInsertElement(out, b_.CreateAlignedLoad(integerType(bits), at, llvm::Align(bits / 8), isVolatile), l);
  }
  return out;
}

Emitter::Components Emitter::loadEach(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                      bool isVolatile) {
  if (isVolatile && count > 1 && wholeType(b_, bits / 8 * count)) return loadWhole(a, bits, count, mask);
  if (lean) return loadByTurns(placesOfLanes(a), bits, count, mask, isVolatile);
  Components out(count);
  if (!options_.avx512 && mask.full && hasSteps(a)) {
    for (uint32_t c = 0; c < k_; ++c)
      for (uint32_t n = 0; n < count; ++n) out[n].push_back(loadSteps(a, c, n * (bits / 8), bits, isVolatile));
    return out;
  }
  const Chunks lanes = chunksOf(mask);
  if (hasIndices(a, isVolatile)) {
    for (uint32_t c = 0; c < k_; ++c)
      for (uint32_t n = 0; n < count; ++n)
        out[n].push_back(gatherIndexed(indicesOf(a, c, n * (bits / 8), bits), bits, lanes[c]));
    return out;
  }
  if (bits < 32 && !options_.avx512 && !mask.full) return loadByTurns(placesOfLanes(a), bits, count, mask, isVolatile);
  const bool gathers = options_.avx512 && w_ == 16 && bits == 32 && count == 1 && mask.full && !isVolatile;
  const std::optional<Elements> elements = gathers ? elementsOf(a) : std::nullopt;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const addresses = addressChunk(a, c);
    if (elements && c == 0) {  // loads for a quarter of the warp
      out[0].push_back(gatherAndLoad(addresses, *elements, c, bits));
      continue;
    }
    for (uint32_t n = 0; n < count; ++n) {
      Value* const at =
          n == 0 ? addresses
                 : b_.CreateAdd(addresses, llvm::ConstantInt::get(addresses->getType(), uint64_t{n} * (bits / 8)));
      out[n].push_back(gather(at, bits, lanes[c], isVolatile));
    }
  }
  return out;
}

// Lane after lane: a tenth of the code of one load beside the other.
Emitter::Components Emitter::loadByTurns(const LanePlaces& places, uint32_t bits, uint32_t count, const Mask& mask,
                                         bool isVolatile) {
  LType* const element = integerType(bits);
  const auto lanesOf = [&](uint32_t n) { return scratch(kFirstElement + n); };
  forEachLane(mask, [&](Value* lane) {
    Value* const address = places(lane);
    for (uint32_t n = 0; n < count; ++n) {
      Value* const at = pointer(b_.CreateAdd(address, b_.getInt64(uint64_t{n} * (bits / 8))));
      Value* const loaded = b_.CreateAlignedLoad(element, at, llvm::Align(bits / 8), isVolatile);
      b_.CreateStore(loaded, laneAddress(lanesOf(n), lane, element));
    }
  });
  Components out(count);
  for (uint32_t n = 0; n < count; ++n) out[n] = reload(lanesOf(n), element);
  return out;
}

Emitter::Components Emitter::loadLanes(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                       bool isVolatile) {
  const uint32_t stride = bits / 8 * count;
  const bool rowPossible = mask.full || (canMaskedAccess(bits) && !isVolatile);
  const bool row = a.shape.straight() && a.shape.stride == static_cast<int64_t>(stride) && rowPossible;
  if (row && !a.holds) return loadRow(a, bits, count, mask, isVolatile);
  Value* test = nullptr;
  Address straight = a;
  if (row) {
    test = a.holds;
  } else if (a.shape.varying() && rowPossible && count == 1 && !isScattered(program_, a.value)) {
    test = consecutive(a, stride, mask);
    startAtFirstLanes(straight);
  }
  if (!test) return loadEach(a, bits, count, mask, isVolatile);
  BB* const fast = newBlock("row");
  BB* const slow = newBlock("each");
  BB* const after = newBlock("after");
  row ? branchToRow(b_.CreateFreeze(test), fast, slow) : void(b_.CreateCondBr(b_.CreateFreeze(test), fast, slow));
  const bool caching = std::exchange(caching_, false);
  b_.SetInsertPoint(fast);
  const Components quick = loadRow(straight, bits, count, mask, isVolatile);
  BB* const fastEnd = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(slow);
  const bool whole = isVolatile && count > 1;
  const LanePlaces places = [&](Value* lane) { return addressLane(a, lane); };
  const Components each =
      row && !whole ? loadByTurns(places, bits, count, mask, isVolatile) : loadEach(a, bits, count, mask, isVolatile);
  BB* const slowEnd = b_.GetInsertBlock();
  b_.CreateBr(after);
  caching_ = caching;
  b_.SetInsertPoint(after);
  Components out(count);
  for (uint32_t n = 0; n < count; ++n)
    for (uint32_t c = 0; c < k_; ++c) {
      auto* phi = b_.CreatePHI(quick[n][c]->getType(), 2);
      phi->addIncoming(quick[n][c], fastEnd);
      phi->addIncoming(each[n][c], slowEnd);
      out[n].push_back(phi);
    }
  return out;
}

// A loaded element as a register holds it: extended by its type when the register is wider.
llvm::Value* Emitter::widenLoaded(Value* v, Type type, Class to) {
  return extend(asInteger(v, ptx::bitsOf(type)), bitsOf(to), isSigned(type));
}

void Emitter::emitConversionOfArgument(const Instruction& i) {
  const auto& v = program_.values[i.results[0]];
  Form form;
  form.shape = v.shape;
  if (!v.shape.varying()) {
    form.scalar = widenLoaded(scalarOf(i.sources[1]), i.ast->type(), v.type);
  } else {
    for (uint32_t c = 0; c < k_; ++c)
      form.chunks.push_back(widenLoaded(chunkOf(i.sources[1], c), i.ast->type(), v.type));
  }
  finish(i, 0, std::move(form));
}

// 128-bit elements travel as two of 64 bits, the lower first.
Chunks Emitter::joinHalves(const Components& halves) {
  LType* const wide = vectorOf(b_.getInt128Ty());
  Chunks out;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const high = b_.CreateShl(b_.CreateZExt(halves[1][c], wide), llvm::ConstantInt::get(wide, 64));
    out.push_back(b_.CreateOr(high, b_.CreateZExt(halves[0][c], wide)));
  }
  return out;
}

// Parameters are read once a launch.
void Emitter::loadParameters(const Instruction& i) {
  const auto& base = program_.values[i.sources[0]];
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const int64_t offset = program_.parameters[base.symbol].offset + base.offset + i.offsets[0];
  for (uint32_t n = 0; n < i.results.size(); ++n) {
    if (i.results[n] == kNone) continue;
    Value* const element = parameter(offset + n * (bits / 8), integerType(bits));
    finish(i, n, uniformForm(widenLoaded(element, i.ast->type(), program_.values[i.results[n]].type)));
  }
}

// One place for all lanes.
void Emitter::loadUniform(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  const bool isVolatile = isVolatileAccess(*i.ast);
  const auto loadAs = [&](LType* as, uint32_t n) {
    const auto load = [&]() -> Value* {
      Value* const at = pointer(b_.CreateAdd(a.scalar, b_.getInt64(uint64_t{n} * (bits / 8))));
      return b_.CreateAlignedLoad(as, at, llvm::Align(bits / 8), isVolatile);
    };
    return i.guard == kNone ? load() : whenTrue(anyLane(mask), as, load);
  };
  LType* const whole = isVolatile && count > 1 ? wholeType(b_, bits / 8 * count) : nullptr;
  Value* const vector =
      whole ? b_.CreateBitCast(loadAs(whole, 0), llvm::FixedVectorType::get(integerType(bits), count)) : nullptr;
  for (uint32_t n = 0; n < count; ++n) {
    if (i.results[n] == kNone) continue;
    Value* const element = vector ? b_.CreateExtractElement(vector, n) : loadAs(integerType(bits), n);
    finish(i, n, uniformForm(widenLoaded(element, type, program_.values[i.results[n]].type)));
  }
}

void Emitter::loadVarying(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  if (mask.full && a.shape.affine() && (a.space == Space::Global || a.space == Space::None))
    prefetchAhead(i, a, kWarpSize * count * bits / 8);
  const bool wide = bits == 128;
  Components data = loadLanes(a, wide ? 64 : bits, wide ? 2 : count, mask, isVolatileAccess(*i.ast));
  if (wide) data = {joinHalves(data)};
  for (uint32_t n = 0; n < count; ++n) {
    if (i.results[n] == kNone) continue;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    for (uint32_t c = 0; c < k_; ++c)
      form.chunks.push_back(widenLoaded(data[n][c], type, program_.values[i.results[n]].type));
    finish(i, n, std::move(form));
  }
}

void Emitter::emitLoad(const Instruction& i) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  if (bits < 8 || (bits > 64 && (bits != 128 || i.results.size() > 1))) unsupported(i, "width of an element");
  const auto& base = program_.values[i.sources[0]];
  if (base.kind == vg::ptx::gen::Value::Symbol && base.symbolKind == SymbolKind::Parameter) return loadParameters(i);
  const Address a = addressOf(i, 0, i.ast->space);
  const Mask mask = guardedMask(i);
  checkAlignment(i, 0, mask);
  checkReach(i, 0, i.ast->space, bits / 8 * std::max<uint32_t>(i.ast->vectorWidth, 1), mask);
  a.shape.uniform()     ? loadUniform(i, a, mask)
  : a.shape.sameInRow() ? loadSameInRow(i, a, mask)
                        : loadVarying(i, a, mask);
  if (i.ast->has(Mod::Acquire)) b_.CreateFence(llvm::AtomicOrdering::Acquire, llvm::SyncScope::SingleThread);
}

}  // namespace vg::ptx::gen
