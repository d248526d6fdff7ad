// Loads. The shape of the address decides: one scalar access, whole vectors, or an access for each lane.
#include "ptx/llvm/opcodes/load.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cstdlib>

#include "ptx/llvm/emit/memory.h"
#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/passes/single_loads.h"

namespace vg::ptx::gen {

// Volatile elements from the last to the first (operations/store_order.h).
Components Loads::loadRow(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile) {
  Components out(count);
  for (Chunks& element : out) element.resize(k_);
  const uint32_t bytes = bits / 8;
  const uint32_t piece = addresses_.lanesInPiece(a, isVolatile ? count * bytes : 0);
  auto* type = llvm::FixedVectorType::get(b_.integerType(bits), piece * count);
  const auto load = [&](uint32_t c, uint32_t first) -> Value* {
    Value* const at = addresses_.placeInRow(a, c * w_ + first, count * bytes);
    if (mask.full) return b_.CreateAlignedLoad(type, at, llvm::Align(bytes), isVolatile);
    Value* lanes = count == 1 ? mask.chunks[c] : b_.repeatMask(mask.chunks[c], count);
    if (piece < w_) lanes = b_.slice(lanes, first * count, piece * count);
    auto* const masked = b_.CreateMaskedLoad(type, at, llvm::Align(bytes), lanes, llvm::Constant::getNullValue(type));
    if (a.space == Space::Shared) markShared(*masked);
    return masked;
  };
  const auto inOrder = [&](uint32_t n, uint32_t all) { return isVolatile ? all - 1 - n : n; };
  for (uint32_t step = 0; step < k_; ++step) {
    const uint32_t c = inOrder(step, k_);
    Chunks pieces(w_ / piece);
    for (uint32_t n = 0; n < pieces.size(); ++n) {
      const uint32_t at = inOrder(n, w_ / piece);
      pieces[at] = load(c, at * piece);
      keepOrder(b_, options_, isVolatile, llvm::AtomicOrdering::Acquire);
    }
    Value* const loaded = b_.joined(pieces);
    for (uint32_t n = 0; n < count; ++n) {
      llvm::SmallVector<int, 16> order;
      for (uint32_t l = 0; l < w_; ++l) order.push_back(static_cast<int>(l * count + n));
      out[n][c] = count == 1 ? loaded : b_.CreateShuffleVector(loaded, order);
    }
  }
  return out;
}

// One place for all lanes of a row. Rows without lanes read where it does no harm.
void Loads::loadSameInRow(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  const bool isVolatile = isVolatileAccess(*i.ast);
  LType* const whole = isVolatile && count > 1 ? wholeType(b_, bits / 8 * count) : nullptr;
  llvm::SmallVector<Form, 4> forms(count);
  for (uint32_t r = 0; r < rows_; ++r) {
    Value* const at =
        mask.full ? a.rows[r] : b_.CreateSelect(masks_.anyLaneOfRow(mask, r), a.rows[r], gathers_.nowhere());
    const auto loadAs = [&](LType* as, uint32_t n) {
      Value* const element = b_.pointer(b_.CreateAdd(at, b_.getInt64(uint64_t{n} * (bits / 8))));
      return b_.CreateAlignedLoad(as, element, llvm::Align(bits / 8), isVolatile);
    };
    Value* const vector =
        whole ? b_.CreateBitCast(loadAs(whole, 0), llvm::FixedVectorType::get(b_.integerType(bits), count)) : nullptr;
    for (uint32_t n = 0; n < count; ++n) {
      if (i.results[n] == kNone) continue;
      Value* const element = vector ? b_.CreateExtractElement(vector, n) : loadAs(b_.integerType(bits), n);
      forms[n].rows.push_back(widenLoaded(element, type, program_.values[i.results[n]].type));
    }
  }
  for (uint32_t n = 0; n < count; ++n) {
    forms[n].shape = {Shape::Rows, 0, false};
    if (i.results[n] != kNone) values_.finish(i, n, std::move(forms[n]));
  }
}

// Vectors that other threads may be writing, a lane at a time, from the last to the first.
Components Loads::loadWhole(const Address& a, uint32_t bits, uint32_t count, const Mask& mask) {
  Components out(count);
  for (Chunks& chunks : out) chunks.resize(k_);
  const Chunks lanes = masks_.chunksOf(mask);
  auto* const element = llvm::FixedVectorType::get(b_.integerType(bits), count);
  auto* const row = llvm::FixedVectorType::get(b_.integerType(bits), w_);
  for (uint32_t c = k_; c-- != 0;) {
    Value* const safe = gathers_.orNowhere(addresses_.addressChunk(a, c), lanes[c]);
    llvm::SmallVector<Value*, 8> rows(count, llvm::PoisonValue::get(row));
    for (uint32_t l = w_; l-- != 0;) {
      Value* const loaded = b_.CreateBitCast(
          b_.CreateAlignedLoad(wholeType(b_, bits / 8 * count), b_.pointer(b_.CreateExtractElement(safe, l)),
                               llvm::Align(bits / 8), true),
          element);
      keepOrder(b_, options_, true, llvm::AtomicOrdering::Acquire);
      for (uint32_t n = 0; n < count; ++n)
        rows[n] = b_.CreateInsertElement(rows[n], b_.CreateExtractElement(loaded, n), l);
    }
    for (uint32_t n = 0; n < count; ++n) out[n][c] = rows[n];
  }
  return out;
}

// Elements of a chunk whose lanes are a constant step apart: the addresses need no vectors.
llvm::Value* Loads::loadSteps(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits, bool isVolatile) {
  Value* out = llvm::PoisonValue::get(b_.vectorOf(b_.integerType(bits)));
  for (uint32_t l = 0; l < w_; ++l) {
    Value* const at = addresses_.placeInRow(a, chunk * w_ + l, a.shape.stride, offset);
    out = b_.CreateInsertElement(out, b_.CreateAlignedLoad(b_.integerType(bits), at, llvm::Align(bits / 8), isVolatile),
                                 l);
  }
  return out;
}

Components Loads::loadEach(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile) {
  if (isVolatile && count > 1 && wholeType(b_, bits / 8 * count)) return loadWhole(a, bits, count, mask);
  if (emission_.lean) return loadByTurns(addresses_.placesOfLanes(a), bits, count, mask, isVolatile);
  Components out(count);
  if (!options_.avx512 && mask.full && addresses_.hasSteps(a)) {
    for (uint32_t c = 0; c < k_; ++c)
      for (uint32_t n = 0; n < count; ++n) out[n].push_back(loadSteps(a, c, n * (bits / 8), bits, isVolatile));
    return out;
  }
  const Chunks lanes = masks_.chunksOf(mask);
  if (gathers_.hasIndices(a, isVolatile)) {
    for (uint32_t c = 0; c < k_; ++c)
      for (uint32_t n = 0; n < count; ++n)
        out[n].push_back(gathers_.gatherIndexed(gathers_.indicesOf(a, c, n * (bits / 8), bits), bits, lanes[c]));
    return out;
  }
  if (bits < 32 && !options_.avx512 && !mask.full)
    return loadByTurns(addresses_.placesOfLanes(a), bits, count, mask, isVolatile);
  const bool gathers = options_.avx512 && w_ == 16 && bits == 32 && count == 1 && mask.full && !isVolatile;
  const std::optional<Elements> elements = gathers ? gathers_.elementsOf(a) : std::nullopt;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const addresses = addresses_.addressChunk(a, c);
    if (elements && c == 0) {  // loads for a quarter of the warp
      out[0].push_back(gathers_.gatherAndLoad(addresses, *elements, c, bits));
      continue;
    }
    for (uint32_t n = 0; n < count; ++n) {
      Value* const at =
          n == 0 ? addresses
                 : b_.CreateAdd(addresses, llvm::ConstantInt::get(addresses->getType(), uint64_t{n} * (bits / 8)));
      out[n].push_back(gathers_.gather(at, bits, lanes[c], isVolatile));
    }
  }
  return out;
}

// Lane after lane: a tenth of the code of one load beside the other.
Components Loads::loadByTurns(const LanePlaces& places, uint32_t bits, uint32_t count, const Mask& mask,
                              bool isVolatile) {
  LType* const element = b_.integerType(bits);
  const auto lanesOf = [&](uint32_t n) { return b_.scratch(kFirstElement + n); };
  masks_.forEachLane(mask, [&](Value* lane) {
    Value* const address = places(lane);
    for (uint32_t n = 0; n < count; ++n) {
      Value* const at = b_.pointer(b_.CreateAdd(address, b_.getInt64(uint64_t{n} * (bits / 8))));
      Value* const loaded = b_.CreateAlignedLoad(element, at, llvm::Align(bits / 8), isVolatile);
      b_.CreateStore(loaded, b_.laneAddress(lanesOf(n), lane, element));
    }
    keepOrder(b_, options_, isVolatile, llvm::AtomicOrdering::Acquire);
  });
  Components out(count);
  for (uint32_t n = 0; n < count; ++n) out[n] = b_.reload(lanesOf(n), element);
  return out;
}

Components Loads::loadLanes(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile) {
  const auto each = [&] { return loadEach(a, bits, count, mask, isVolatile); };
  if (!mask.full && (isVolatile || !gathers_.canMaskedAccess(bits))) return each();
  const Addresses::SideBySide found = addresses_.sideBySide(a, bits / 8 * count, count, mask);
  const auto row = [&] { return loadRow(found.address, bits, count, mask, isVolatile); };
  if (found.always) return row();
  if (!found.test) return each();
  BB *const fast = b_.newBlock("row"), *const slow = b_.newBlock("each");
  addresses_.branch(found, fast, slow);
  const LanePlaces places = [&](Value* lane) { return addresses_.addressLane(a, lane); };
  const bool byTurns = found.likely && !(isVolatile && count > 1);
  return b_.eitherOf(fast, row, slow,
                     [&] { return byTurns ? loadByTurns(places, bits, count, mask, isVolatile) : each(); });
}

// A loaded element as a register holds it: extended by its type when the register is wider.
llvm::Value* Loads::widenLoaded(Value* v, Type type, Class to) {
  return b_.extend(b_.asInteger(v, ptx::bitsOf(type)), bitsOf(to), isSigned(type));
}

void Loads::emitConversionOfArgument(const Instruction& i) {
  const auto& v = program_.values[i.results[0]];
  Form form;
  form.shape = v.shape;
  if (!v.shape.varying()) {
    form.scalar = widenLoaded(values_.scalarOf(i.sources[1]), i.ast->type(), v.type);
  } else {
    for (uint32_t c = 0; c < k_; ++c)
      form.chunks.push_back(widenLoaded(values_.chunkOf(i.sources[1], c), i.ast->type(), v.type));
  }
  values_.finish(i, 0, std::move(form));
}

// Parameters are read once a launch.
void Loads::loadParameters(const Instruction& i) {
  const auto& base = program_.values[i.sources[0]];
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const int64_t offset = program_.parameters[base.symbol].offset + base.offset + i.offsets[0];
  for (uint32_t n = 0; n < i.results.size(); ++n) {
    if (i.results[n] == kNone) continue;
    Value* const element = runner_.parameter(offset + n * (bits / 8), b_.integerType(bits));
    values_.finish(i, n, uniformForm(widenLoaded(element, i.ast->type(), program_.values[i.results[n]].type)));
  }
}

// One place for all lanes.
void Loads::loadUniform(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  const bool isVolatile = isVolatileAccess(*i.ast);
  const auto loadAs = [&](LType* as, uint32_t n) {
    const auto load = [&]() -> Value* {
      Value* const at = b_.pointer(b_.CreateAdd(a.scalar, b_.getInt64(uint64_t{n} * (bits / 8))));
      return b_.CreateAlignedLoad(as, at, llvm::Align(bits / 8), isVolatile);
    };
    return i.guard == kNone && !checks_.on() ? load() : b_.whenTrue(masks_.anyLane(mask), as, load);
  };
  LType* const whole = isVolatile && count > 1 ? wholeType(b_, bits / 8 * count) : nullptr;
  Value* const vector =
      whole ? b_.CreateBitCast(loadAs(whole, 0), llvm::FixedVectorType::get(b_.integerType(bits), count)) : nullptr;
  for (uint32_t n = 0; n < count; ++n) {
    if (i.results[n] == kNone) continue;
    Value* const element = vector ? b_.CreateExtractElement(vector, n) : loadAs(b_.integerType(bits), n);
    values_.finish(i, n, uniformForm(widenLoaded(element, type, program_.values[i.results[n]].type)));
  }
}

void Loads::loadVarying(const Instruction& i, const Address& a, const Mask& mask) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type), count = static_cast<uint32_t>(i.results.size());
  if (mask.full && a.shape.affine() && (a.space == Space::Global || a.space == Space::None))
    prefetchAhead(i, a, kWarpSize * count * bits / 8);
  const bool wide = bits == 128;
  const bool isVolatile = isVolatileAccess(*i.ast);
  const uint32_t elementBits = wide ? 64 : bits, elements = wide ? 2 : count;
  Components data = checks_.either(
      AccessChecks::Checked(i), mask, [&] { return loadLanes(a, elementBits, elements, mask, isVolatile); },
      [&](const Mask& allowed) {
        return checks_.zeroed(loadByTurns(addresses_.placesOfLanes(a), elementBits, elements, allowed, isVolatile),
                              allowed);
      });
  if (wide) data = {addresses_.joinHalves(data)};
  for (uint32_t n = 0; n < count; ++n) {
    if (i.results[n] == kNone) continue;
    Form form = varyingForm();
    for (uint32_t c = 0; c < k_; ++c)
      form.chunks.push_back(widenLoaded(data[n][c], type, program_.values[i.results[n]].type));
    values_.finish(i, n, std::move(form));
  }
}

void Loads::emitLoad(const Instruction& i) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  if (bits < 8 || (bits > 64 && (bits != 128 || i.results.size() > 1))) unsupported(i, "width of an element");
  const auto& base = program_.values[i.sources[0]];
  if (base.kind == vg::ptx::gen::Value::Symbol && base.symbolKind == SymbolKind::Parameter) return loadParameters(i);
  const Address a = addresses_.addressOf(i, 0, i.ast->space);
  const Mask mask = predicates_.guardedMask(i);
  tests_.checkAccess(i, mask);
  a.shape.uniform()     ? loadUniform(i, a, checks_.allowed(AccessChecks::Checked(i), mask))
  : a.shape.sameInRow() ? loadSameInRow(i, a, checks_.allowed(AccessChecks::Checked(i), mask))
                        : loadVarying(i, a, mask);
  if (i.ast->has(Mod::Acquire)) b_.CreateFence(llvm::AtomicOrdering::Acquire, orderScope(options_));
}

}  // namespace vg::ptx::gen
