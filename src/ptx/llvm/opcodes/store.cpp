// Stores, by the shape of the address as loads are.
#include "ptx/llvm/opcodes/store.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/emit/memory.h"
#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/operations/store_order.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kLine = 64;  // bytes of a cache line

}  // namespace

// Lane-major: element e of a chunk belongs to lane e / count.
llvm::Value* Stores::interleaved(const Components& data, uint32_t c) {
  const uint32_t count = static_cast<uint32_t>(data.size());
  if (count == 1) return data[0][c];
  llvm::SmallVector<Value*, 8> parts;
  for (uint32_t n = 0; n < count; ++n) parts.push_back(data[n][c]);
  llvm::SmallVector<int, 64> order;
  for (uint32_t e = 0; e < w_ * count; ++e) order.push_back(static_cast<int>((e % count) * w_ + e / count));
  return b_.CreateShuffleVector(b_.joined(parts), order);
}

// The elements of a chunk and where they go: at once, or in as many pieces as rows of the block have a part in it.
// Volatile ones side by side from the first to the last (operations/store_order.h).
llvm::SmallVector<Piece, 4> Stores::piecesOf(const Address& a, uint32_t c, uint32_t bytes, const Components& data,
                                             Value* mask, bool isVolatile) {
  const uint32_t count = static_cast<uint32_t>(data.size());
  const uint32_t lanes = addresses_.lanesInPiece(a, isVolatile ? count * bytes : 0);
  Value* const elements = interleaved(data, c);
  if (mask && count > 1) mask = b_.repeatMask(mask, count);
  llvm::SmallVector<Piece, 4> pieces;
  const auto add = [&](uint32_t lane) {
    if (lane / w_ != c) return;
    const uint32_t first = lane % w_;
    const auto part = [&](Value* v) { return lanes < w_ && v ? b_.slice(v, first * count, lanes * count) : v; };
    pieces.push_back({part(elements), addresses_.placeInRow(a, lane, count * bytes), part(mask)});
  };
  if (isVolatile && a.rows.empty())
    for (uint32_t lane = c * w_; lane < (c + 1) * w_; lane += lanes) add(lane);
  else
    inStoreOrder(bytes * count, lanes, add);
  return pieces;
}

llvm::SmallVector<uint32_t, 8> Stores::chunksInStoreOrder(uint32_t bytes) const {
  llvm::SmallVector<uint32_t, 8> order;
  inStoreOrder(bytes, w_, [&](uint32_t lane) { order.push_back(lane / w_); });
  return order;
}

// All lanes' elements, side by side. Large results go past the caches where they make whole lines.
void Stores::storeWholeRow(const Address& a, uint32_t bits, const Components& data, bool isVolatile) {
  const uint32_t bytes = bits / 8, laneBytes = bytes * static_cast<uint32_t>(data.size());
  llvm::SmallVector<uint32_t, 8> chunks = chunksInStoreOrder(laneBytes);
  if (isVolatile && a.rows.empty()) llvm::sort(chunks);
  const auto throughCaches = [&] {
    for (uint32_t c : chunks)
      for (const Piece& piece : piecesOf(a, c, bytes, data, nullptr, isVolatile)) {
        keepOrder(b_, options_, isVolatile, llvm::AtomicOrdering::Release);
        b_.CreateAlignedStore(piece.elements, piece.place, llvm::Align(bytes), isVolatile);
      }
  };
  const bool wholeLines = a.rows.empty() || rowLanes_ * laneBytes % kLine == 0;
  if (!streamed_.stores.count(emission_.present) || !wholeLines) return throughCaches();
  Value* const streams = runner_.atLaunch([&] {
    Value* const flags = b_.CreateAnd(runner_.launchField(offsetof(KernelLaunch, flags), b_.getInt32Ty()), kStreams);
    return b_.CreateICmpNE(flags, b_.getInt32(0));
  });
  Value* starts = a.scalar;
  for (Value* row : a.rows) starts = starts ? b_.CreateOr(starts, row) : row;
  Value* const whole = b_.CreateICmpEQ(b_.CreateAnd(starts, kLine - 1), b_.getInt64(0));
  BB* const past = b_.newBlock("past");
  BB* const through = b_.newBlock("through");
  BB* const after = b_.newBlock("after");
  b_.CreateCondBr(b_.CreateFreeze(b_.CreateAnd(streams, whole)), past, through);
  b_.SetInsertPoint(past);
  const llvm::Align aligned(std::min(addresses_.lanesInPiece(a) * laneBytes, kLine));
  for (uint32_t c : chunks)
    for (const Piece& piece : piecesOf(a, c, bytes, data, nullptr, false)) {
      auto* const store = b_.CreateAlignedStore(piece.elements, piece.place, aligned);
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
  b_.CreateBr(after);
  b_.SetInsertPoint(through);
  throughCaches();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void Stores::storeRow(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  if (mask.full) return storeWholeRow(a, bits, data, isVolatile);
  const llvm::Align aligned(bits / 8);
  const auto storeMasked = [&](uint32_t c) {
    for (const Piece& piece : piecesOf(a, c, bits / 8, data, mask.chunks[c], false))
      b_.CreateMaskedStore(piece.elements, piece.place, aligned, piece.lanes);
  };
  for (uint32_t c : chunksInStoreOrder(bits / 8 * static_cast<uint32_t>(data.size()))) {
    if (options_.avx512) {
      storeMasked(c);
      continue;
    }
    // Slow on some processors without AVX-512, and most chunks are all there or not at all.
    const Mask chunk{false, {mask.chunks[c]}};
    BB* const whole = b_.newBlock("whole");
    BB* const rest = b_.newBlock("rest");
    BB* const some = b_.newBlock("some");
    BB* const after = b_.newBlock("after");
    b_.CreateCondBr(masks_.allLanes(chunk), whole, rest);
    b_.SetInsertPoint(whole);
    for (const Piece& piece : piecesOf(a, c, bits / 8, data, nullptr, false)) {
      keepOrder(b_, options_, isVolatile, llvm::AtomicOrdering::Release);
      b_.CreateAlignedStore(piece.elements, piece.place, aligned, isVolatile);
    }
    b_.CreateBr(after);
    b_.SetInsertPoint(rest);
    b_.CreateCondBr(masks_.anyLane(chunk), some, after);
    b_.SetInsertPoint(some);
    storeMasked(c);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
}

// The elements of one lane, in one piece: no other thread sees a part of a vector.
void Stores::storeVector(Value* address, const llvm::SmallVectorImpl<Value*>& elements, uint32_t bits,
                         bool isVolatile) {
  Value* data = elements[0];
  // Floats are stored as such: what leaves a vector for memory on its way through an integer takes two steps.
  if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(data); cast && !cast->getSrcTy()->isVectorTy())
    data = cast->getOperand(0);
  if (elements.size() > 1) {
    data = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(b_.integerType(bits), static_cast<unsigned>(elements.size())));
    for (size_t n = 0; n < elements.size(); ++n) data = b_.CreateInsertElement(data, elements[n], n);
    if (llvm::Type* const whole = wholeType(b_, bits / 8 * static_cast<uint32_t>(elements.size())))
      data = b_.CreateBitCast(data, whole);
  }
  keepOrder(b_, options_, isVolatile, llvm::AtomicOrdering::Release);
  b_.CreateAlignedStore(data, b_.pointer(address), llvm::Align(bits / 8), isVolatile);
}

void Stores::storeEach(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  if (options_.avx512 && bits >= 32 && !isVolatile && w_ >= 8 && data.size() == 1) {
    const Chunks lanes = masks_.chunksOf(mask);
    const bool indices = gathers_.hasIndices(a, isVolatile);
    for (uint32_t c : chunksInStoreOrder(bits / 8))
      indices ? gathers_.scatterIndexed(gathers_.indicesOf(a, c, 0, bits), data[0][c], bits, lanes[c])
              : gathers_.scatter(addresses_.addressChunk(a, c), data[0][c], bits, lanes[c]);
    return;
  }
  if (isVolatile && data.size() > 1) return storeVolatile(a, bits, data, mask);
  storeByTurns(addresses_.placesOfLanes(a), bits, data, mask, isVolatile);
}

void Stores::storeByTurns(const LanePlaces& places, uint32_t bits, const Components& data, const Mask& mask,
                          bool isVolatile, uint32_t descending) {
  llvm::SmallVector<llvm::AllocaInst*, 8> what;
  for (uint32_t n = 0; n < data.size(); ++n) what.push_back(b_.spill(kFirstElement + n, data[n]));
  masks_.forEachLane(
      mask,
      [&](Value* lane) {
        llvm::SmallVector<Value*, 8> elements;
        for (llvm::AllocaInst* element : what)
          elements.push_back(b_.CreateLoad(b_.integerType(bits), b_.laneAddress(element, lane, b_.integerType(bits))));
        storeVector(places(lane), elements, bits, isVolatile);
      },
      descending);
}

void Stores::storeByTurns(const LanePlaces& places, uint32_t bits, const Components& data, const Mask& mask,
                          bool isVolatile) {
  storeByTurns(places, bits, data, mask, isVolatile,
               lanesStoredTogether(bits / 8 * static_cast<uint32_t>(data.size())));
}

// Vectors of lanes, upwards where they are side by side, however they come to be.
void Stores::storeVolatile(const Address& a, uint32_t bits, const Components& data, const Mask& mask) {
  const LanePlaces places = addresses_.placesOfLanes(a);
  BB *const row = b_.newBlock("row"), *const each = b_.newBlock("each");
  b_.CreateCondBr(addresses_.goUpwards(a, bits / 8 * static_cast<uint32_t>(data.size()), mask), row, each);
  const auto upwards = [&] {
    storeByTurns(places, bits, data, mask, true, 1);
    return Components();
  };
  const auto asTheyCome = [&] {
    storeByTurns(places, bits, data, mask, true);
    return Components();
  };
  b_.eitherOf(row, upwards, each, asTheyCome);
}

void Stores::storeLanes(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile) {
  const uint32_t count = static_cast<uint32_t>(data.size());
  if (!mask.full && (isVolatile || !gathers_.canMaskedAccess(bits))) return storeEach(a, bits, data, mask, isVolatile);
  const Addresses::SideBySide found = addresses_.sideBySide(a, bits / 8 * count, count, mask);
  if (found.always) return storeRow(a, bits, data, mask, isVolatile);
  if (!found.test) return storeEach(a, bits, data, mask, isVolatile);
  BB *const fast = b_.newBlock("row"), *const slow = b_.newBlock("each");
  addresses_.branch(found, fast, slow);
  const LanePlaces places = [&](Value* lane) { return addresses_.addressLane(a, lane); };
  const auto inRow = [&] {
    storeRow(found.address, bits, data, mask, isVolatile);
    return Components();
  };
  const auto byLanes = [&] {
    found.likely ? storeByTurns(places, bits, data, mask, isVolatile) : storeEach(a, bits, data, mask, isVolatile);
    return Components();
  };
  b_.eitherOf(fast, inRow, slow, byLanes);
}

// All lanes store to one place, and one's value stays: the lowest of the last that go together.
void Stores::storeUniform(const Instruction& i, const Address& a, const Mask& mask) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const uint32_t together = lanesStoredTogether(bits / 8 * i.ast->vectorWidth);
  Value* lane = nullptr;
  const auto valueThatStays = [&](ValueId id) -> Value* {
    if (program_.values[id].shape.uniform()) return values_.scalarOf(id);
    const uint32_t lowest = kWarpSize - together;
    if (mask.full) return b_.CreateExtractElement(values_.chunkOf(id, lowest / w_), lowest % w_);
    if (!lane) lane = laneWhoseStoreStays(masks_.maskBits(mask), together);
    return b_.extractLane(values_.vectorsOf(id), lane);
  };
  llvm::SmallVector<Value*, 8> elements;
  for (uint32_t n = 0; n < i.ast->vectorWidth; ++n)
    elements.push_back(b_.asInteger(valueThatStays(i.sources[n + 1]), bits));
  storeVector(a.scalar, elements, bits, isVolatileAccess(*i.ast));
}

llvm::Value* Stores::laneWhoseStoreStays(Value* lanes, uint32_t together) {
  const auto find = [&](llvm::Intrinsic::ID id, Value* in) {
    return b_.callIntrinsic(id, {b_.getInt32Ty()}, {in, b_.getFalse()});
  };
  if (together == kWarpSize) return b_.CreateAnd(find(llvm::Intrinsic::cttz, lanes), kWarpSize - 1);
  Value* const highest = b_.CreateXor(find(llvm::Intrinsic::ctlz, lanes), kWarpSize - 1);
  Value* const first = b_.CreateAnd(highest, kWarpSize - together);
  return b_.CreateAnd(b_.CreateAdd(first, find(llvm::Intrinsic::cttz, b_.CreateLShr(lanes, first))), kWarpSize - 1);
}

// What is stored, of elements of 64 bits or fewer.
Components Stores::elementsOf(const Instruction& i) {
  Components data;
  for (uint32_t n = 0; n < i.ast->vectorWidth; ++n)
    data.push_back(values_.integersOf(i.sources[n + 1], ptx::bitsOf(i.ast->type())));
  return data;
}

// One place for all lanes of a row: one value of each row stays. Rows without lanes store where it does no harm.
void Stores::storeSameInRow(const Instruction& i, const Address& a, const Mask& mask) {
  const uint32_t bits = ptx::bitsOf(i.ast->type()), bytes = bits / 8 * i.ast->vectorWidth;
  inStoreOrder(bytes, rowLanes_, [&](uint32_t first) {
    const uint32_t row = first / rowLanes_;
    Value* lane = b_.getInt32(first);
    Value* at = a.rows[row];
    if (!mask.full) {
      const uint32_t ofRow = static_cast<uint32_t>(((uint64_t{1} << rowLanes_) - 1) << first);
      Value* const lanes = b_.CreateAnd(masks_.maskBits(mask), ofRow);
      lane = masks_.firstLane(lanes);
      at = b_.CreateSelect(b_.CreateICmpNE(lanes, b_.getInt32(0)), at, gathers_.nowhere());
    }
    llvm::SmallVector<Value*, 8> elements;
    for (uint32_t n = 0; n < i.ast->vectorWidth; ++n) {
      const ValueId id = i.sources[n + 1];
      const Shape& shape = program_.values[id].shape;
      Value* const stays = shape.uniform() || shape.sameInRow() ? values_.rowOf(id, row)
                           : mask.full ? b_.CreateExtractElement(values_.chunkOf(id, first / w_), first % w_)
                                       : b_.extractLane(values_.vectorsOf(id), lane);
      elements.push_back(b_.asInteger(stays, bits));
    }
    storeVector(at, elements, bits, isVolatileAccess(*i.ast));
  });
}

// Whether of the lanes of a row the lowest one's value stays.
bool Stores::storesByRows(const Instruction& i, const Address& a) const {
  const uint32_t bytes = ptx::bitsOf(i.ast->type()) / 8 * i.ast->vectorWidth;
  return a.shape.sameInRow() && a.rows.size() == rows_ && bytes <= 8 && lanesStoredTogether(bytes) >= rowLanes_;
}

void Stores::storeVarying(const Instruction& i, const Address& a, const Mask& mask) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const bool isVolatile = isVolatileAccess(*i.ast);
  const bool wide = bits == 128;
  const Components data = wide ? addresses_.splitHalves(i.sources[1]) : elementsOf(i);
  const uint32_t elementBits = wide ? 64 : bits;
  checks_.either(
      AccessChecks::Checked(i, &data, elementBits), mask,
      [&] {
        storesByRows(i, a) ? storeSameInRow(i, a, mask) : storeLanes(a, elementBits, data, mask, isVolatile);
        return Components();
      },
      [&](const Mask& allowed) {
        storeByTurns(addresses_.placesOfLanes(a), elementBits, data, allowed, isVolatile);
        return Components();
      });
}

void Stores::emitStore(const Instruction& i) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  if (bits < 8 || (bits > 64 && (bits != 128 || i.ast->vectorWidth > 1))) unsupported(i, "width of an element");
  if (i.ast->has(Mod::Release)) b_.CreateFence(llvm::AtomicOrdering::Release, orderScope(options_));
  const Address a = addresses_.addressOf(i, 0, i.ast->space);
  const Mask mask = predicates_.guardedMask(i);
  tests_.checkAccess(i, mask);
  if (!a.shape.uniform()) return storeVarying(i, a, mask);
  if (i.guard == kNone && !checks_.on()) return storeUniform(i, a, mask);
  const Components data = checks_.on() && bits < 128 ? elementsOf(i) : Components();
  const Mask allowed = checks_.allowed(AccessChecks::Checked(i, data.empty() ? nullptr : &data, bits), mask);
  b_.ifTrue(masks_.anyLane(allowed), [&] { storeUniform(i, a, allowed); });
}

}  // namespace vg::ptx::gen
