// Atomics and fences. Shared memory belongs to one worker at a time, so its atomics are plain read-modify-writes;
// global ones are the processor's, lane after lane.
#include "ptx/llvm/opcodes/atomic.h"

#include <llvm/IR/InlineAsm.h>

#include "ptx/llvm/compute/half_types.h"
#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/opcodes/reduction.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
namespace Intrinsic = llvm::Intrinsic;

static bool isHalfKind(Type t) { return isHalf(t) || isHalfPair(t); }

// The new value for an old one; everything is scalar and of the instruction's type.
llvm::Value* Atomics::applyAtomic(const Instruction& i, Value* old, ArrayRef<Value*> operands) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const bool s = isSigned(type);
  Value* const a = operands[0];
  if (ast.has(Mod::Exch)) return a;
  if (ast.has(Mod::Cas)) return b_.CreateSelect(b_.CreateICmpEQ(old, a), operands[1], old);
  if (ast.has(Mod::And)) return b_.CreateAnd(old, a);
  if (ast.has(Mod::Or)) return b_.CreateOr(old, a);
  if (ast.has(Mod::Xor)) return b_.CreateXor(old, a);
  if (ast.has(Mod::Inc))
    return b_.CreateSelect(b_.CreateICmpUGE(old, a), b_.getIntN(bits, 0), b_.CreateAdd(old, b_.getIntN(bits, 1)));
  if (ast.has(Mod::Dec)) {
    Value* const wraps = b_.CreateOr(b_.CreateICmpEQ(old, b_.getIntN(bits, 0)), b_.CreateICmpUGT(old, a));
    return b_.CreateSelect(wraps, a, b_.CreateSub(old, b_.getIntN(bits, 1)));
  }
  const bool isMin = ast.has(Mod::Min);
  if (isHalfKind(type)) {
    const bool pair = bits == 32;
    const Type half = halfIn(type);
    Value* out = nullptr;
    for (uint32_t n = 0; n < (pair ? 2u : 1u); ++n) {
      const auto part = [&](Value* v) { return b_.asInteger(n ? b_.CreateLShr(v, 16) : v, 16); };
      if (!ast.has(Mod::Add) && !isMin && !ast.has(Mod::Max)) unsupported(i, "operation");
      Value* const sum = ast.has(Mod::Add)
                             ? conversions_.floatToHalf(b_.CreateFAdd(conversions_.halfToFloat(part(old), half),
                                                                      conversions_.halfToFloat(part(a), half)),
                                                        half, 0)
                             : floats_.halfExtreme(part(old), part(a), isMin, false, half == Type::F16);
      Value* const placed = pair ? b_.asInteger(sum, 32) : sum;
      out = out ? b_.CreateOr(out, b_.CreateShl(placed, 16)) : placed;
    }
    return out;
  }
  if (ptx::isFloat(type)) {
    LType* const element = bits == 32 ? b_.getFloatTy() : b_.getDoubleTy();
    Value *x = b_.asFloat(old, element), *y = b_.asFloat(a, element);
    if (ast.has(Mod::Add)) {
      // Adding f32 in global memory flushes denormals; in shared memory it does not.
      const bool flushes =
          bits == 32 && ast.space != Space::Shared && ast.space != Space::SharedCluster && !ast.has(Mod::Noftz);
      Value* const sum =
          flushes ? pieces_.flush(b_.CreateFAdd(pieces_.flush(x), pieces_.flush(y))) : b_.CreateFAdd(x, y);
      if (bits == 64) return b_.asInteger(sum, bits);
      return b_.CreateSelect(b_.CreateFCmpUNO(sum, sum), b_.getInt32(0x7fffffff), b_.asInteger(sum, bits));
    }
    if (isMin || ast.has(Mod::Max)) return b_.asInteger(floats_.minMax(i, x, y, isMin), bits);
    unsupported(i, "operation");
  }
  if (ast.has(Mod::Add)) return b_.CreateAdd(old, a);
  if (isMin) return b_.intrinsic(s ? Intrinsic::smin : Intrinsic::umin, {old, a});
  if (ast.has(Mod::Max)) return b_.intrinsic(s ? Intrinsic::smax : Intrinsic::umax, {old, a});
  unsupported(i, "operation");
}

// One lane's atomic; returns what memory held before.
llvm::Value* Atomics::atomicLane(const Instruction& i, Value* address, ArrayRef<Value*> operands, bool shared) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  Value* const at = b_.pointer(address);
  const llvm::Align align(bits / 8);
  if (shared) {
    Value* const old = b_.CreateAlignedLoad(b_.integerType(bits), at, align);
    b_.CreateAlignedStore(applyAtomic(i, old, operands), at, align);
    return old;
  }
  using RMW = llvm::AtomicRMWInst;
  const auto order = llvm::AtomicOrdering::SequentiallyConsistent;
  std::optional<RMW::BinOp> op;
  if (!ptx::isFloat(type) && !isHalfKind(type)) {
    if (ast.has(Mod::Add)) op = RMW::Add;
    if (ast.has(Mod::And)) op = RMW::And;
    if (ast.has(Mod::Or)) op = RMW::Or;
    if (ast.has(Mod::Xor)) op = RMW::Xor;
    if (ast.has(Mod::Min)) op = isSigned(type) ? RMW::Min : RMW::UMin;
    if (ast.has(Mod::Max)) op = isSigned(type) ? RMW::Max : RMW::UMax;
  }
  if (ast.has(Mod::Exch)) op = RMW::Xchg;
  if (op) return b_.CreateAtomicRMW(*op, at, operands[0], align, order);
  if (ast.has(Mod::Cas)) {
    auto* pair = b_.CreateAtomicCmpXchg(at, operands[0], operands[1], align, order, order);
    return b_.CreateExtractValue(pair, 0);
  }
  // Everything else repeats until nobody came between.
  auto* first = b_.CreateAlignedLoad(b_.integerType(bits), at, align, true);
  BB* const before = b_.GetInsertBlock();
  BB* const loop = b_.newBlock("retry");
  BB* const after = b_.newBlock("after");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto* expected = b_.CreatePHI(b_.integerType(bits), 2);
  expected->addIncoming(first, before);
  Value* const desired = applyAtomic(i, expected, operands);
  auto* pair = b_.CreateAtomicCmpXchg(at, expected, desired, align, order, order);
  expected->addIncoming(b_.CreateExtractValue(pair, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), after, loop);
  b_.SetInsertPoint(after);
  return expected;
}

// A vector that LLVM takes for one of unknown origin. Quick code's hold all lanes of a warp, which no register does.
llvm::Value* Atomics::inRegister(Value* v) {
  if (emission_.lean) return v;
  LType* const type = v->getType();
  const char* const same = options_.avx512 ? "=v,0" : isArm(options_) ? "=w,0" : "=x,0";
  return b_.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", same, false), {v});
}

// The 32-bit value of each lane, plus a constant, as a scalar.
llvm::SmallVector<llvm::Value*, 32> Atomics::laneWords(ValueId id, int64_t plus) {
  LType* const word = b_.getInt32Ty();
  const auto sum = [&](Value* v) {
    return plus ? b_.CreateAdd(v, b_.number(v, word, static_cast<uint32_t>(plus))) : v;
  };
  if (program_.values[id].shape.uniform())
    return llvm::SmallVector<Value*, 32>(kWarpSize, sum(b_.asInteger(values_.scalarOf(id), 32)));
  llvm::SmallVector<Value*, 32> words;
  for (uint32_t c = 0; c < k_; ++c) words.append(b_.wordsOf(sum(b_.asInteger(values_.chunkOf(id, c), 32))));
  return words;
}

// A result that nobody reads still has a value to be kept in slots.
void Atomics::defineDead(const Instruction& i, uint32_t part) {
  if (part >= i.results.size() || i.results[part] == kNone) return;
  LType* const element = b_.integerType(bitsOf(program_.values[i.results[part]].type));
  values_.define(i.results[part], varyingForm(Chunks(k_, llvm::Constant::getNullValue(b_.vectorOf(element)))));
}

// An element of a vector is an atomic of its own.
void Atomics::emitAtomic(const Instruction& i) {
  const uint32_t width = i.ast->vectorWidth;
  if (ptx::bitsOf(i.ast->type()) == 128) return emitWideAtomic(i);
  if (width > 1 && (i.sources.size() < 1 + width || i.ast->has(Mod::Cas))) unsupported(i, "vector atomics");
  for (uint32_t n = 0; n < width; ++n) emitAtomicElement(i, n);
}

// The lanes that do it. What is found of the first element's address counts for all of a vector.
Mask Atomics::lanesOf(const Instruction& i, uint32_t part) {
  const Mask guarded = predicates_.guardedMask(i);
  if (!part) {
    tests_.checkAccess(i, guarded);
    if (checks_.on()) allowed_ = checks_.allowed(AccessChecks::Checked(i), guarded);
  }
  return checks_.on() ? allowed_ : guarded;
}

void Atomics::emitAtomicElement(const Instruction& i, uint32_t part) {
  Element e = elementOf(i, part);
  if (isReducible(e)) {
    defineDead(i, part);
    if (i.guard == kNone && !checks_.on()) return emitReduced(e);
    return b_.ifTrue(masks_.anyLane(e.mask), [&] { emitReduced(e); });
  }
  // Shared addresses are offsets of 32 bits: half as much to pass on to the lanes.
  if (i.ast->space == Space::Shared && bitsOf(program_.values[e.a.value].type) == 32) e.base = runner_.sharedBase();
  if (isBrief(e) && emitWrittenOut(e)) return;
  emitLaneByLane(e);
}

Atomics::Element Atomics::elementOf(const Instruction& i, uint32_t part) {
  const ptx::Instruction& ast = *i.ast;
  Element e{i, part, ptx::bitsOf(ast.type())};
  if (e.bits != 16 && e.bits != 32 && e.bits != 64) unsupported(i, "width");
  e.isInteger = !ptx::isFloat(ast.type()) && !isHalfKind(ast.type());
  e.shared = ast.space == Space::Shared || ast.space == Space::SharedCluster;
  e.used = part < i.results.size() && i.results[part] != kNone && values_.isRead(i.results[part]);
  e.operandCount = ast.has(Mod::Cas) ? 2 : 1;
  if (i.sources.size() < 1 + e.operandCount) unsupported(i, "operands");
  e.a = addresses_.addressOf(i, 0, ast.space);
  if (part) {
    e.a.offset += part * (e.bits / 8);
    if (e.a.scalar) e.a.scalar = b_.CreateAdd(e.a.scalar, b_.getInt64(part * (e.bits / 8)));
  }
  e.mask = lanesOf(i, part);
  return e;
}

// Sums and bit operations of all lanes on one word that nobody reads back become one operation.
bool Atomics::isReducible(const Element& e) {
  if (e.used || !e.a.shape.uniform() || !e.isInteger || e.bits < 32) return false;
  const ptx::Instruction& ast = *e.i.ast;
  return ast.has(Mod::Add) || ast.has(Mod::And) || ast.has(Mod::Or) || ast.has(Mod::Xor) || ast.has(Mod::Min) ||
         ast.has(Mod::Max);
}

void Atomics::emitReduced(const Element& e) {
  const ptx::Instruction& ast = *e.i.ast;
  const ValueId source = e.i.sources[1 + e.part];
  if (program_.values[source].shape.uniform()) {
    Value* const value = b_.asInteger(values_.scalarOf(source), e.bits);
    return static_cast<void>(
        atomicLane(e.i, e.a.scalar, {reducedAlike(b_, ast, value, masks_.maskBits(e.mask))}, e.shared));
  }
  const Chunks lanes = masks_.chunksOf(e.mask);
  const uint64_t neutral = neutralOf(ast);
  Value* all = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* v = b_.asInteger(values_.chunkOf(source, c), e.bits);
    if (!e.mask.full) v = b_.CreateSelect(lanes[c], v, b_.number(v, b_.integerType(e.bits), neutral));
    all = all ? reduced(b_, ast, all, v) : v;
  }
  Value* const one = reduced(b_, ast, all);
  atomicLane(e.i, e.a.scalar, {one}, e.shared);
}

// A loop over lanes would cost more than these do.
bool Atomics::isBrief(const Element& e) {
  return e.mask.full && !e.used && e.bits == 32 && e.isInteger && e.i.ast->has(Mod::Add);
}

// All lanes, one behind the other; where their addresses are offsets or indices of 32 bits.
bool Atomics::emitWrittenOut(const Element& e) {
  const std::optional<Elements> elements = e.base ? std::nullopt : gathers_.elementsOf(e.a);
  if (!e.base && !elements) return false;
  llvm::SmallVector<Value*, 32> places;
  if (e.base) places = laneWords(e.a.value, e.a.offset);
  // Loads wait for the atomics before them, so indices come from registers: LLVM would load parts of their vectors.
  for (uint32_t c = 0; elements && c < k_; ++c)
    places.append(b_.wordsOf(inRegister(b_.asInteger(values_.chunkOf(elements->index, c), 32))));
  const auto addends = laneWords(e.i.sources[1 + e.part], 0);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    Value* const at = e.base ? b_.CreateAdd(e.base, b_.CreateZExt(places[lane], b_.getInt64Ty()))
                             : gathers_.placeOf(*elements, places[lane]);
    atomicLane(e.i, at, {addends[lane]}, e.shared);
  }
  defineDead(e.i, e.part);
  return true;
}

void Atomics::emitLaneByLane(const Element& e) {
  LType* const element = b_.integerType(e.bits);
  LType* const addressType = b_.integerType(e.base ? 32 : 64);
  auto* const where = b_.spill(0, laneAddresses(e));
  const SpilledOperands operands = spillOperands(e);
  auto* const results = e.used ? b_.scratch(3) : nullptr;
  masks_.forEachLane(e.mask, [&](Value* lane) {
    Value* at = b_.CreateLoad(addressType, b_.laneAddress(where, lane, addressType));
    if (e.base) at = b_.CreateAdd(e.base, b_.CreateZExt(at, b_.getInt64Ty()));
    llvm::SmallVector<Value*, 2> own;
    for (const auto& [uniform, spilled] : operands)
      own.push_back(uniform ? uniform : b_.CreateLoad(element, b_.laneAddress(spilled, lane, element)));
    Value* const old = atomicLane(e.i, at, own, e.shared);
    if (results) b_.CreateStore(old, b_.laneAddress(results, lane, element));
  });
  if (!e.used) return defineDead(e.i, e.part);
  Form form = varyingForm(b_.reload(results, element));
  if (checks_.on()) form.chunks = checks_.zeroed({form.chunks}, e.mask)[0];
  values_.finish(e.i, e.part, std::move(form));
}

// Where all lanes access memory: offsets of 32 bits where there is a base, else whole addresses.
Chunks Atomics::laneAddresses(const Element& e) {
  Chunks addresses;
  for (uint32_t c = 0; c < k_; ++c) {
    if (e.base) {
      addresses.push_back(b_.CreateTrunc(addresses_.displaced(values_.chunkOf(e.a.value, c), e.a.offset),
                                         b_.vectorOf(b_.getInt32Ty())));
    } else if (e.a.shape.uniform()) {
      addresses.push_back(b_.CreateVectorSplat(w_, e.a.scalar));
    } else {
      addresses.push_back(addresses_.addressChunk(e.a, c));
    }
  }
  return addresses;
}

Atomics::SpilledOperands Atomics::spillOperands(const Element& e) {
  SpilledOperands operands;
  for (size_t n = 0; n < e.operandCount; ++n) {
    const ValueId id = e.i.sources[n + 1 + e.part];
    if (program_.values[id].shape.uniform()) {
      operands.push_back({b_.asInteger(values_.scalarOf(id), e.bits), nullptr});
      continue;
    }
    operands.push_back({nullptr, b_.spill(static_cast<uint32_t>(1 + n), values_.integersOf(id, e.bits))});
  }
  return operands;
}

// atom.exch and atom.cas of 128 bits, a lane after the other; what goes in and out is spilled in halves.
void Atomics::emitWideAtomic(const Instruction& i) {
  const bool compares = i.ast->has(Mod::Cas);
  const size_t operands = compares ? 2 : 1;
  if (i.ast->vectorWidth > 1 || i.sources.size() < 1 + operands || (!compares && !i.ast->has(Mod::Exch)))
    unsupported(i, "operation on 128 bits");
  LType *const half = b_.getInt64Ty(), *const wide = b_.getInt128Ty();
  const bool shared = i.ast->space == Space::Shared || i.ast->space == Space::SharedCluster;
  Address a = addresses_.addressOf(i, 0, i.ast->space);
  const Mask guarded = predicates_.guardedMask(i);
  tests_.checkAccess(i, guarded);
  const Mask mask = checks_.allowed(AccessChecks::Checked(i), guarded);
  auto* const where = b_.spill(0, addresses_.addressChunks(a));
  llvm::SmallVector<llvm::AllocaInst*, 4> halves;
  for (size_t n = 0; n < operands; ++n)
    for (const Chunks& one : addresses_.splitHalves(i.sources[1 + n]))
      halves.push_back(b_.spill(static_cast<uint32_t>(1 + halves.size()), one));
  llvm::AllocaInst *const low = b_.scratch(5), *const high = b_.scratch(6);
  masks_.forEachLane(mask, [&](Value* lane) {
    const auto operand = [&](size_t n) {
      Value* const top = b_.CreateZExt(b_.CreateLoad(half, b_.laneAddress(halves[2 * n + 1], lane, half)), wide);
      Value* const bottom = b_.CreateZExt(b_.CreateLoad(half, b_.laneAddress(halves[2 * n], lane, half)), wide);
      return b_.CreateOr(b_.CreateShl(top, 64), bottom);
    };
    llvm::SmallVector<Value*, 2> values;
    for (size_t n = 0; n < operands; ++n) values.push_back(operand(n));
    Value* const old = atomicLane(i, b_.CreateLoad(half, b_.laneAddress(where, lane, half)), values, shared);
    b_.CreateStore(b_.CreateTrunc(old, half), b_.laneAddress(low, lane, half));
    b_.CreateStore(b_.CreateTrunc(b_.CreateLShr(old, 64), half), b_.laneAddress(high, lane, half));
  });
  if (i.results.empty() || i.results[0] == kNone) return;
  const Components loaded = checks_.zeroed({b_.reload(low, half), b_.reload(high, half)}, mask);
  values_.finish(i, 0, varyingForm(addresses_.joinHalves(loaded)));
}

void Atomics::emitFence(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  const bool wide = ast.has(Mod::Gl) || ast.has(Mod::Sys) || ast.has(Mod::Gpu) || ast.has(Mod::Cluster);
  // x86-64 keeps the order of stores and that of loads by itself: only a store and a load after it need more.
  const bool full = wide && (isArm(options_) || (!ast.has(Mod::Acquire) && !ast.has(Mod::Release)));
  b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                 full ? llvm::SyncScope::System : llvm::SyncScope::SingleThread);
}

}  // namespace vg::ptx::gen
