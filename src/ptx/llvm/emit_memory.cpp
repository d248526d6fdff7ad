// Loads and stores. The shape of the address decides: one scalar access, whole vectors, or an access for each lane.
#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"
#include "ptx/llvm/single_loads.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

// The scratch arrays from here on hold the elements that lanes load or store.
static constexpr uint32_t kFirstElement = 8;

// The address in 64 bits. A register of 32 bits plus its displacement wraps around at 32: the register may hold a
// negative number.
llvm::Value* Emitter::displaced(Value* address, int64_t offset) {
  const bool narrow = address->getType()->getScalarSizeInBits() <= 32;
  Value* const base = asInteger(address, narrow ? 32 : 64);
  const auto amount = narrow ? static_cast<uint32_t>(offset) : static_cast<uint64_t>(offset);
  return asInteger(b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), amount)), 64);
}

// The same of the first lane of a row, to which the lanes' distances are added in 64 bits. That lane may be switched
// off and lie before the window: then its address is negative, and those of the others are still right.
llvm::Value* Emitter::rowStart(Value* first, int64_t offset) {
  if (first->getType()->getScalarSizeInBits() > 32) return displaced(first, offset);
  return b_.CreateAdd(b_.CreateSExt(asInteger(first, 32), b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(offset)));
}

Emitter::Address Emitter::addressOf(const Instruction& i, size_t source, Space space) {
  Address a;
  a.space = space == Space::SharedCluster ? Space::Shared : space;
  a.value = i.sources[source];
  a.offset = i.offsets[source];
  const Form form = formOf(a.value);
  a.shape = program_.values[a.value].shape;
  a.holds = form.holds;
  if (form.scalar) {
    a.scalar = a.shape.affine() ? rowStart(form.scalar, a.offset) : displaced(form.scalar, a.offset);
    if (a.space == Space::Shared) a.scalar = b_.CreateAdd(sharedBase(), a.scalar);
  }
  return a;
}

llvm::Value* Emitter::addressChunk(const Address& a, uint32_t c) {
  Value* const v = displaced(chunkOf(a.value, c), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(v, b_.CreateVectorSplat(w_, sharedBase())) : v;
}

llvm::Value* Emitter::addressLane(const Address& a, Value* lane) {
  Value* const v = displaced(laneOf(a.value, lane), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(sharedBase(), v) : v;
}

// Whether the lanes of a warp access consecutive elements; a.value varies.
llvm::Value* Emitter::consecutive(const Address& a, uint32_t stride, const Mask& mask) {
  const Chunks values = vectorsOf(a.value);
  LType* const element = values[0]->getType()->getScalarType();
  Value* const first = b_.CreateExtractElement(values[0], uint64_t{0});
  Mask equal;
  equal.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const expected = b_.CreateAdd(b_.CreateVectorSplat(w_, first), iota(c, element, stride));
    Value* same = b_.CreateICmpEQ(values[c], expected);
    if (!mask.full) same = b_.CreateOr(same, b_.CreateNot(mask.chunks[c]));
    equal.chunks.push_back(same);
  }
  return allLanes(equal);
}

// Addresses that come out of memory are scattered as a rule, and those in lanes' own stacks are always; others are
// often consecutive in a way that the analysis cannot see.
static bool isScattered(const Program& program, ValueId id, int depth) {
  if (id == kNone || depth > 8) return false;
  const auto& v = program.values[id];
  if (v.kind != Value::Result || !v.shape.varying()) return false;
  const Instruction& i = program.instructions[v.instruction];
  if (i.function == &program.made->function) return true;  // what calls keep
  switch (i.ast->op) {
    case Op::Alloca:
      return true;
    case Op::Ld:
    case Op::Ldu:
      return i.sources[0] != kNone;
    case Op::Atom:
    case Op::Shfl:
      return true;
    default:
      break;
  }
  for (ValueId s : i.sources)
    if (isScattered(program, s, depth + 1)) return true;
  return false;
}

// --- Loads -----------------------------------------------------------------------------------------------------------

// The addresses of the lanes of a mask, and for the others one where loads do no harm.
llvm::Value* Emitter::orNowhere(Value* addresses, Value* mask) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (!dummy_) dummy_ = entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), 8), "nowhere", llvm::Align(64));
  return b_.CreateSelect(mask, addresses, b_.CreateVectorSplat(lanes, b_.CreatePtrToInt(dummy_, b_.getInt64Ty())));
}

llvm::Value* Emitter::gather(Value* addresses, uint32_t bits, Value* mask, bool isVolatile) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (options_.avx512 && bits >= 32 && !isVolatile && lanes >= 8) {
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

llvm::Value* Emitter::repeatMask(Value* mask, uint32_t count, uint32_t) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t e = 0; e < w_ * count; ++e) order.push_back(static_cast<int>(e / count));
  return b_.CreateShuffleVector(mask, order);
}

Emitter::Components Emitter::loadRow(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                     bool isVolatile) {
  Components out(count);
  const uint32_t bytes = bits / 8;
  auto* type = llvm::FixedVectorType::get(integerType(bits), w_ * count);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = pointer(b_.CreateAdd(a.scalar, b_.getInt64(uint64_t{c} * w_ * count * bytes)));
    Value* loaded;
    if (mask.full) {
      loaded = b_.CreateAlignedLoad(type, at, llvm::Align(bytes), isVolatile);
    } else {
      Value* const lanes = count == 1 ? mask.chunks[c] : repeatMask(mask.chunks[c], count, 0);
      auto* const masked = b_.CreateMaskedLoad(type, at, llvm::Align(bytes), lanes, llvm::Constant::getNullValue(type));
      if (a.space == Space::Shared) markShared(*masked);
      loaded = masked;
    }
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

// What the processor reads or writes in one access for `bytes` bytes: programs rely on it that a vector of up to 16
// bytes, aligned to its size, is seen as a whole (the tile states of look-back scans). Null: it takes several.
static llvm::Type* wholeType(llvm::IRBuilderBase& b, uint32_t bytes) {
  if (bytes == 16) return llvm::FixedVectorType::get(b.getInt64Ty(), 2);
  return bytes < 16 && llvm::isPowerOf2_32(bytes) ? b.getIntNTy(bytes * 8) : nullptr;
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

Emitter::Components Emitter::loadEach(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                      bool isVolatile) {
  if (isVolatile && count > 1 && wholeType(b_, bits / 8 * count)) return loadWhole(a, bits, count, mask);
  Components out(count);
  const Chunks lanes = chunksOf(mask);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const addresses = addressChunk(a, c);
    for (uint32_t n = 0; n < count; ++n) {
      Value* const at =
          n == 0 ? addresses
                 : b_.CreateAdd(addresses, llvm::ConstantInt::get(addresses->getType(), uint64_t{n} * (bits / 8)));
      out[n].push_back(gather(at, bits, lanes[c], isVolatile));
    }
  }
  return out;
}

// Lane after lane, for rows that turn out not to be any: slow, and a tenth of the code of gathers.
Emitter::Components Emitter::loadByTurns(const Address& a, uint32_t bits, uint32_t count, const Mask& mask,
                                         bool isVolatile) {
  LType* const element = integerType(bits);
  const auto lanesOf = [&](uint32_t n) { return scratch(kFirstElement + n); };
  forEachLane(mask, [&](Value* lane) {
    Value* const address = addressLane(a, lane);
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
  const bool row = a.shape.affine() && a.shape.stride == static_cast<int64_t>(stride) && rowPossible;
  if (row && !a.holds) return loadRow(a, bits, count, mask, isVolatile);
  Value* test = nullptr;
  Address straight = a;
  if (row) {
    test = a.holds;
  } else if (a.shape.varying() && rowPossible && count == 1 && !isScattered(program_, a.value, 0)) {
    test = consecutive(a, stride, mask);
    straight.scalar = rowStart(b_.CreateExtractElement(chunkOf(a.value, 0), uint64_t{0}), a.offset);
    if (a.space == Space::Shared) straight.scalar = b_.CreateAdd(sharedBase(), straight.scalar);
  }
  if (!test) return loadEach(a, bits, count, mask, isVolatile);
  BB* const fast = newBlock("row");
  BB* const slow = newBlock("each");
  BB* const after = newBlock("after");
  row ? branchLikely(b_.CreateFreeze(test), fast, slow) : void(b_.CreateCondBr(b_.CreateFreeze(test), fast, slow));
  const bool caching = std::exchange(caching_, false);
  b_.SetInsertPoint(fast);
  const Components quick = loadRow(straight, bits, count, mask, isVolatile);
  BB* const fastEnd = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(slow);
  const bool whole = isVolatile && count > 1;
  const Components each =
      row && !whole ? loadByTurns(a, bits, count, mask, isVolatile) : loadEach(a, bits, count, mask, isVolatile);
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

static bool isVolatileAccess(const ptx::Instruction& i) {
  return i.has(Mod::Volatile) || i.has(Mod::Relaxed) || i.has(Mod::Acquire) || i.has(Mod::Release) ||
         i.has(Mod::Mmio) || i.has(Mod::Cv);
}

void Emitter::emitLoad(const Instruction& i) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  const uint32_t count = static_cast<uint32_t>(i.results.size());
  if (bits < 8 || (bits > 64 && (bits != 128 || count > 1))) unsupported(i, "width of an element");
  const bool isVolatile = isVolatileAccess(*i.ast);
  const auto result = [&](uint32_t n) -> const vg::ptx::gen::Value& { return program_.values[i.results[n]]; };
  // The kernel's own parameters never change: read before the loop over warps.
  const auto& base = program_.values[i.sources[0]];
  if (base.kind == vg::ptx::gen::Value::Symbol && base.symbolKind == SymbolKind::Parameter) {
    const int64_t offset = program_.parameters[base.symbol].offset + base.offset + i.offsets[0];
    for (uint32_t n = 0; n < count; ++n) {
      if (i.results[n] == kNone) continue;
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = widenLoaded(parameter(offset + n * (bits / 8), integerType(bits)), type, result(n).type);
      finish(i, n, std::move(form));
    }
    return;
  }
  const Address a = addressOf(i, 0, i.ast->space);
  const Mask mask = guardedMask(i);
  checkAlignment(i, 0, mask);
  if (a.shape.uniform()) {
    llvm::Type* const whole = isVolatile && count > 1 ? wholeType(b_, bits / 8 * count) : nullptr;
    Value* vector = nullptr;
    if (whole) {
      const auto load = [&] {
        return b_.CreateAlignedLoad(whole, pointer(a.scalar), llvm::Align(bits / 8), isVolatile);
      };
      vector = b_.CreateBitCast(i.guard == kNone ? load() : whenTrue(anyLane(mask), whole, load),
                                llvm::FixedVectorType::get(integerType(bits), count));
    }
    for (uint32_t n = 0; n < count; ++n) {
      if (i.results[n] == kNone) continue;
      const auto load = [&]() -> Value* {
        Value* const at = pointer(b_.CreateAdd(a.scalar, b_.getInt64(uint64_t{n} * (bits / 8))));
        return b_.CreateAlignedLoad(integerType(bits), at, llvm::Align(bits / 8), isVolatile);
      };
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      if (vector)
        form.scalar = b_.CreateExtractElement(vector, n);
      else
        form.scalar = i.guard == kNone ? load() : whenTrue(anyLane(mask), integerType(bits), load);
      form.scalar = widenLoaded(form.scalar, type, result(n).type);
      finish(i, n, std::move(form));
    }
  } else {
    if (mask.full && a.shape.affine() && (a.space == Space::Global || a.space == Space::None))
      prefetchAhead(i, a, kWarpSize * count * bits / 8);
    const bool wide = bits == 128;
    Components data = loadLanes(a, wide ? 64 : bits, wide ? 2 : count, mask, isVolatile);
    if (wide) data = {joinHalves(data)};
    for (uint32_t n = 0; n < count; ++n) {
      if (i.results[n] == kNone) continue;
      Form form;
      form.shape = {Shape::Varying, 0, false};
      for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(widenLoaded(data[n][c], type, result(n).type));
      finish(i, n, std::move(form));
    }
  }
  if (i.ast->has(Mod::Acquire)) b_.CreateFence(llvm::AtomicOrdering::Acquire, llvm::SyncScope::SingleThread);
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

Emitter::Components Emitter::splitHalves(ValueId wide) {
  LType* const half = vectorOf(b_.getInt64Ty());
  Components out(2);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const v = asInteger(chunkOf(wide, c), 128);
    out[0].push_back(b_.CreateTrunc(v, half));
    out[1].push_back(b_.CreateTrunc(b_.CreateLShr(v, llvm::ConstantInt::get(v->getType(), 64)), half));
  }
  return out;
}

// --- Stores ----------------------------------------------------------------------------------------------------------

void Emitter::scatter(Value* addresses, Value* data, uint32_t bits, Value* mask) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (lanes > 8) {
    scatter(slice(addresses, 0, 8), slice(data, 0, 8), bits, slice(mask, 0, 8));
    return scatter(slice(addresses, 8, 8), slice(data, 8, 8), bits, slice(mask, 8, 8));
  }
  callIntrinsic(
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scatter_qpi_512 : llvm::Intrinsic::x86_avx512_mask_scatter_qpq_512,
      {}, {llvm::ConstantPointerNull::get(b_.getPtrTy()), mask, addresses, data, b_.getInt32(1)});
}

// Lane-major: element e of a chunk belongs to lane e / count.
llvm::Value* Emitter::interleaved(const Components& data, uint32_t c) {
  const uint32_t count = static_cast<uint32_t>(data.size());
  if (count == 1) return data[0][c];
  llvm::SmallVector<Value*, 8> parts;
  for (uint32_t n = 0; n < count; ++n) parts.push_back(data[n][c]);
  while (parts.size() > 1) {
    llvm::SmallVector<Value*, 8> joined;
    for (size_t n = 0; n + 1 < parts.size(); n += 2) joined.push_back(concat(parts[n], parts[n + 1]));
    parts = joined;
  }
  llvm::SmallVector<int, 64> order;
  for (uint32_t e = 0; e < w_ * count; ++e) order.push_back(static_cast<int>((e % count) * w_ + e / count));
  return b_.CreateShuffleVector(parts[0], order);
}

void Emitter::storeRow(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  const uint32_t count = static_cast<uint32_t>(data.size());
  const uint32_t bytes = bits / 8;
  const auto place = [&](uint32_t c) {
    return pointer(b_.CreateAdd(a.scalar, b_.getInt64(uint64_t{c} * w_ * count * bytes)));
  };
  const auto storeWhole = [&](uint32_t c) {
    b_.CreateAlignedStore(interleaved(data, c), place(c), llvm::Align(bytes), isVolatile);
  };
  const auto storeMasked = [&](uint32_t c) {
    Value* const lanes = count == 1 ? mask.chunks[c] : repeatMask(mask.chunks[c], count, 0);
    b_.CreateMaskedStore(interleaved(data, c), place(c), llvm::Align(bytes), lanes);
  };
  for (uint32_t c = 0; c < k_; ++c) {
    if (mask.full) {
      storeWhole(c);
    } else if (options_.avx512) {
      storeMasked(c);
    } else {
      // Slow on some processors without AVX-512, and most chunks are all there or not at all.
      const Mask chunk{false, {mask.chunks[c]}};
      BB* const whole = newBlock("whole");
      BB* const rest = newBlock("rest");
      BB* const some = newBlock("some");
      BB* const after = newBlock("after");
      b_.CreateCondBr(allLanes(chunk), whole, rest);
      b_.SetInsertPoint(whole);
      storeWhole(c);
      b_.CreateBr(after);
      b_.SetInsertPoint(rest);
      b_.CreateCondBr(anyLane(chunk), some, after);
      b_.SetInsertPoint(some);
      storeMasked(c);
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    }
  }
}

// The elements of one lane, in one piece: no other thread sees a part of a vector.
void Emitter::storeVector(Value* address, const llvm::SmallVectorImpl<Value*>& elements, uint32_t bits,
                          bool isVolatile) {
  Value* data = elements[0];
  // Floats are stored as such: what leaves a vector for memory on its way through an integer takes two steps.
  if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(data); cast && !cast->getSrcTy()->isVectorTy())
    data = cast->getOperand(0);
  if (elements.size() > 1) {
    data =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(integerType(bits), static_cast<unsigned>(elements.size())));
    for (size_t n = 0; n < elements.size(); ++n) data = b_.CreateInsertElement(data, elements[n], n);
    if (llvm::Type* const whole = wholeType(b_, bits / 8 * static_cast<uint32_t>(elements.size())))
      data = b_.CreateBitCast(data, whole);
  }
  b_.CreateAlignedStore(data, pointer(address), llvm::Align(bits / 8), isVolatile);
}

void Emitter::storeEach(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  if (options_.avx512 && bits >= 32 && !isVolatile && w_ >= 8 && data.size() == 1) {
    const Chunks lanes = chunksOf(mask);
    for (uint32_t c = 0; c < k_; ++c) scatter(addressChunk(a, c), data[0][c], bits, lanes[c]);
    return;
  }
  Chunks addresses;
  for (uint32_t c = 0; c < k_; ++c) addresses.push_back(addressChunk(a, c));
  auto* const where = spill(0, addresses);
  llvm::SmallVector<llvm::AllocaInst*, 8> what;
  for (uint32_t n = 0; n < data.size(); ++n) what.push_back(spill(kFirstElement + n, data[n]));
  forEachLane(mask, [&](Value* lane) {
    Value* const at = b_.CreateLoad(b_.getInt64Ty(), laneAddress(where, lane, b_.getInt64Ty()));
    llvm::SmallVector<Value*, 8> elements;
    for (llvm::AllocaInst* element : what)
      elements.push_back(b_.CreateLoad(integerType(bits), laneAddress(element, lane, integerType(bits))));
    storeVector(at, elements, bits, isVolatile);
  });
}

void Emitter::storeByTurns(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  llvm::SmallVector<llvm::AllocaInst*, 8> what;
  for (uint32_t n = 0; n < data.size(); ++n) what.push_back(spill(kFirstElement + n, data[n]));
  forEachLane(mask, [&](Value* lane) {
    llvm::SmallVector<Value*, 8> elements;
    for (llvm::AllocaInst* element : what)
      elements.push_back(b_.CreateLoad(integerType(bits), laneAddress(element, lane, integerType(bits))));
    storeVector(addressLane(a, lane), elements, bits, isVolatile);
  });
}

void Emitter::storeLanes(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  const uint32_t stride = bits / 8 * static_cast<uint32_t>(data.size());
  const bool rowPossible = mask.full || (canMaskedAccess(bits) && !isVolatile);
  const bool row = a.shape.affine() && a.shape.stride == static_cast<int64_t>(stride) && rowPossible;
  if (row && !a.holds) return storeRow(a, bits, data, mask, isVolatile);
  Value* test = nullptr;
  Address straight = a;
  if (row) {
    test = a.holds;
  } else if (a.shape.varying() && rowPossible && data.size() == 1 && !isScattered(program_, a.value, 0)) {
    test = consecutive(a, stride, mask);
    straight.scalar = rowStart(b_.CreateExtractElement(chunkOf(a.value, 0), uint64_t{0}), a.offset);
    if (a.space == Space::Shared) straight.scalar = b_.CreateAdd(sharedBase(), straight.scalar);
  }
  if (!test) return storeEach(a, bits, data, mask, isVolatile);
  BB* const fast = newBlock("row");
  BB* const slow = newBlock("each");
  BB* const after = newBlock("after");
  row ? branchLikely(b_.CreateFreeze(test), fast, slow) : void(b_.CreateCondBr(b_.CreateFreeze(test), fast, slow));
  const bool caching = std::exchange(caching_, false);
  b_.SetInsertPoint(fast);
  storeRow(straight, bits, data, mask, isVolatile);
  b_.CreateBr(after);
  b_.SetInsertPoint(slow);
  row ? storeByTurns(a, bits, data, mask, isVolatile) : storeEach(a, bits, data, mask, isVolatile);
  b_.CreateBr(after);
  caching_ = caching;
  b_.SetInsertPoint(after);
}

void Emitter::emitStore(const Instruction& i) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  const uint32_t count = i.ast->vectorWidth;
  if (bits < 8 || (bits > 64 && (bits != 128 || count > 1))) unsupported(i, "width of an element");
  const bool isVolatile = isVolatileAccess(*i.ast);
  if (i.ast->has(Mod::Release)) b_.CreateFence(llvm::AtomicOrdering::Release, llvm::SyncScope::SingleThread);
  const Address a = addressOf(i, 0, i.ast->space);
  const Mask mask = guardedMask(i);
  checkAlignment(i, 0, mask);
  if (!a.shape.uniform()) {
    if (bits == 128) return storeLanes(a, 64, splitHalves(i.sources[1]), mask, isVolatile);
    Components data(count);
    for (uint32_t n = 0; n < count; ++n)
      for (uint32_t c = 0; c < k_; ++c) data[n].push_back(asInteger(chunkOf(i.sources[n + 1], c), bits));
    return storeLanes(a, bits, data, mask, isVolatile);
  }
  // All lanes store to one place: the highest one's value stays.
  const auto store = [&] {
    Value* last = nullptr;
    llvm::SmallVector<Value*, 8> elements;
    for (uint32_t n = 0; n < count; ++n) {
      const ValueId id = i.sources[n + 1];
      Value* v;
      if (program_.values[id].shape.uniform()) {
        v = asInteger(scalarOf(id), bits);
      } else if (mask.full) {
        v = asInteger(b_.CreateExtractElement(chunkOf(id, k_ - 1), w_ - 1), bits);
      } else {
        if (!last)
          last = b_.CreateSub(b_.getInt32(31),
                              callIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt32Ty()}, {maskBits(mask), b_.getFalse()}));
        v = asInteger(extractLane(vectorsOf(id), last), bits);
      }
      elements.push_back(v);
    }
    storeVector(a.scalar, elements, bits, isVolatile);
  };
  if (i.guard == kNone) return store();
  ifTrue(anyLane(mask), store);
}

// cp.async: the copy happens at once, so that waiting for groups has nothing to do.
void Emitter::copyAsync(const Instruction& i) {
  if (i.ast->has(Mod::CommitGroup) || i.ast->has(Mod::WaitGroup) || i.ast->has(Mod::WaitAll)) return;
  if (!i.ast->has(Mod::Async) || i.ast->has(Mod::Bulk) || i.ast->has(Mod::Mbarrier)) unsupported(i, "this kind of cp");
  if (i.sources.size() < 3) unsupported(i, "cp.async without a size");
  const auto& size = program_.values[i.sources[2]];
  if (size.kind != vg::ptx::gen::Value::Constant) unsupported(i, "cp.async of variable size");
  const uint32_t bytes = static_cast<uint32_t>(size.bits);
  if (bytes != 4 && bytes != 8 && bytes != 16) unsupported(i, "size of cp.async");
  const Address to = addressOf(i, 0, Space::Shared);
  const Address from = addressOf(i, 1, Space::Global);
  const Mask mask = guardedMask(i);
  checkAlignment(i, 0, mask);
  checkAlignment(i, 1, mask);
  const uint32_t bits = bytes == 4 ? 32 : 64;
  const uint32_t count = bytes == 16 ? 2 : 1;
  Address source = from;
  if (source.shape.uniform()) {
    // Every lane reads the same place: still one access a lane, which keeps this rare case short.
    source.shape = {Shape::Varying, 0, false};
  }
  Components data;
  const size_t operands = i.sources.size() - i.ast->has(Mod::L2CacheHint);
  if (operands == 3) {
    data = loadLanes(source, bits, count, mask, false);
  } else {
    // Bytes beyond the source size are zero; a true ignore-src predicate reads nothing.
    const ValueId limit = i.sources[3];
    const bool isPredicate = program_.values[limit].type == Class::Pred;
    data.resize(count);
    const Chunks lanes = chunksOf(mask);
    for (uint32_t c = 0; c < k_; ++c) {
      Value* bound = chunkOf(limit, c);
      if (isPredicate) {
        Value* const skip = i.negated[3] ? b_.CreateNot(bound) : bound;
        bound = b_.CreateSelect(skip, llvm::ConstantInt::get(vectorOf(b_.getInt32Ty()), 0),
                                llvm::ConstantInt::get(vectorOf(b_.getInt32Ty()), bytes));
      } else {
        bound = asInteger(bound, 32);
      }
      for (uint32_t n = 0; n < count; ++n) {
        Value* const at =
            b_.CreateAdd(addressChunk(source, c), llvm::ConstantInt::get(vectorOf(b_.getInt64Ty()), uint64_t{n} * 8));
        Value* out = llvm::ConstantInt::get(vectorOf(integerType(bits)), 0);
        for (uint32_t byte = 0; byte < bits / 8; ++byte) {
          Value* const inside =
              b_.CreateICmpUGT(bound, llvm::ConstantInt::get(vectorOf(b_.getInt32Ty()), uint64_t{n} * 8 + byte));
          Value* const one = gather(b_.CreateAdd(at, llvm::ConstantInt::get(at->getType(), byte)), 8,
                                    b_.CreateAnd(inside, lanes[c]), false);
          Value* const wide =
              b_.CreateZExt(b_.CreateSelect(inside, one, llvm::Constant::getNullValue(one->getType())), out->getType());
          out = b_.CreateOr(out, b_.CreateShl(wide, llvm::ConstantInt::get(out->getType(), byte * 8)));
        }
        data[n].push_back(out);
      }
    }
  }
  Address target = to;
  if (target.shape.uniform()) target.shape = {Shape::Varying, 0, false};
  storeLanes(target, bits, data, mask, false);
}

}  // namespace vg::ptx::gen
