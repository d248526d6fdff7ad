// Building blocks of emission: types, constants, conversions between forms, branches, loops over lanes, scratch memory.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/passes/row_lanes.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using PtxValue = vg::ptx::gen::Value;

// --- Helpers -----------------------------------------------------------------------------------------------------

llvm::BasicBlock* Emitter::newBlock(const char* name) { return BB::Create(context_, name, function_); }

llvm::Type* Emitter::elementType(Class c) {
  switch (c) {
    case Class::F32:
      return b_.getFloatTy();
    case Class::F64:
      return b_.getDoubleTy();
    default:
      return integerType(bitsOf(c));
  }
}

llvm::Type* Emitter::likeType(LType* shape, LType* element) {
  if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape))
    return llvm::FixedVectorType::get(element, v->getNumElements());
  return element;
}
llvm::Type* Emitter::like(Value* shape, LType* element) { return likeType(shape->getType(), element); }

llvm::Value* Emitter::splatLike(Value* shape, Value* scalar) {
  if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType()))
    return b_.CreateVectorSplat(v->getNumElements(), scalar);
  return scalar;
}

llvm::Value* Emitter::number(Value* shape, LType* element, uint64_t bits) {
  return llvm::ConstantInt::get(like(shape, element), bits);
}
llvm::Value* Emitter::real(Value* shape, LType* element, double value) {
  return llvm::ConstantFP::get(like(shape, element), value);
}

// The same bits; of one scalar in all lanes, that scalar's: LLVM finds it sooner.
llvm::Value* Emitter::reinterpret(Value* v, LType* element) {
  if (Value* const scalar = llvm::getSplatValue(v)) return splatLike(v, b_.CreateBitCast(scalar, element));
  return b_.CreateBitCast(v, like(v, element));
}

llvm::Value* Emitter::asInteger(Value* v, uint32_t bits) {
  LType* const element = v->getType()->getScalarType();
  if (element->isFloatingPointTy()) v = reinterpret(v, integerType(element->getScalarSizeInBits()));
  return b_.CreateZExtOrTrunc(v, like(v, integerType(bits)));
}

llvm::Value* Emitter::asFloat(Value* v, LType* element) {
  if (v->getType()->getScalarType() == element) return v;
  return reinterpret(asInteger(v, element->getScalarSizeInBits()), element);
}

llvm::Value* Emitter::asClass(Value* v, Class type) {
  Value* const fitting = asInteger(v, bitsOf(type));
  return isFloat(type) ? asFloat(fitting, elementType(type)) : fitting;
}

llvm::Value* Emitter::asType(Value* v, Type type) {
  switch (type) {
    case Type::F32:
    case Type::TF32:
      return asFloat(v, b_.getFloatTy());
    case Type::F64:
      return asFloat(v, b_.getDoubleTy());
    case Type::Pred:
      if (v->getType()->getScalarSizeInBits() == 1) return v;
      return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    default:
      return asInteger(v, ptx::bitsOf(type));
  }
}

// Lane numbers, which begin anew every `again` lanes, times the stride.
llvm::Value* Emitter::iota(uint32_t chunk, LType* element, int64_t stride, uint32_t again) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  const uint32_t bits = element->getScalarSizeInBits();
  for (uint32_t l = 0; l < w_; ++l) {
    const uint64_t value = static_cast<uint64_t>(stride) * ((chunk * w_ + l) % again);
    lanes.push_back(llvm::ConstantInt::get(context_, llvm::APInt(64, value).sextOrTrunc(bits)));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* Emitter::extend(Value* v, uint32_t bits, bool isSigned) {
  LType* const to = like(v, integerType(bits));
  return isSigned ? b_.CreateSExtOrTrunc(v, to) : b_.CreateZExtOrTrunc(v, to);
}

llvm::Value* Emitter::callIntrinsic(llvm::Intrinsic::ID id, ArrayRef<LType*> types, ArrayRef<Value*> args) {
  return b_.CreateIntrinsic(id, types, args);
}
llvm::Value* Emitter::intrinsic(llvm::Intrinsic::ID id, ArrayRef<Value*> args) {
  return b_.CreateIntrinsic(id, {args[0]->getType()}, args);
}

llvm::Value* Emitter::concat(Value* a, Value* b) {
  const uint32_t n = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  llvm::SmallVector<int, 64> order;
  for (uint32_t l = 0; l < 2 * n; ++l) order.push_back(static_cast<int>(l));
  return b_.CreateShuffleVector(a, b, order);
}

llvm::Value* Emitter::joined(ArrayRef<Value*> pieces) {
  if (pieces.size() == 1) return pieces[0];
  const size_t half = pieces.size() / 2;
  return concat(joined(pieces.take_front(half)), joined(pieces.drop_front(half)));
}

llvm::Value* Emitter::slice(Value* v, uint32_t first, uint32_t count) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t l = 0; l < count; ++l) order.push_back(static_cast<int>(first + l));
  return b_.CreateShuffleVector(v, order);
}

// Takes the chunks in pairs, never all of them joined: a vector wider than a register goes through memory.
llvm::Value* Emitter::lanesFrom(const Chunks& chunks, llvm::ArrayRef<int> lanes) {
  const int width = static_cast<int>(w_);
  llvm::SmallVector<int, 4> used;
  for (int lane : lanes)
    if (!llvm::is_contained(used, lane / width)) used.push_back(lane / width);
  Value* picked = nullptr;
  for (size_t n = 0; n < used.size(); n += 2) {
    const int a = used[n], b = n + 1 < used.size() ? used[n + 1] : a;
    llvm::SmallVector<int, 16> order, merged;
    for (int l = 0; l < static_cast<int>(lanes.size()); ++l) {
      const int from = lanes[l] / width, at = lanes[l] % width;
      const bool here = from == a || from == b;
      order.push_back(!here ? llvm::PoisonMaskElem : from == a ? at : width + at);
      merged.push_back(here ? width + l : l);
    }
    Value* const two = b_.CreateShuffleVector(chunks[a], chunks[b], order);
    picked = picked ? b_.CreateShuffleVector(picked, two, merged) : two;
  }
  return picked;
}

// The elements of a vector of 32-bit words. Two leave together: single ones cost twice as much, and loads of parts of
// a vector just stored stall. The empty assembly keeps LLVM from taking the pairs apart.
llvm::SmallVector<llvm::Value*, 32> Emitter::wordsOf(Value* vector) {
  LType *const word = b_.getInt32Ty(), *const pair = b_.getInt64Ty();
  const uint32_t count = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  auto* const opaque = llvm::InlineAsm::get(llvm::FunctionType::get(pair, {pair}, false), "", "=r,0", false);
  Value* const pairs = b_.CreateBitCast(vector, llvm::FixedVectorType::get(pair, count / 2));
  llvm::SmallVector<Value*, 32> words;
  for (uint32_t n = 0; n < count / 2; ++n) {
    Value* const both = b_.CreateCall(opaque, {b_.CreateExtractElement(pairs, n)});
    words.push_back(b_.CreateTrunc(both, word));
    words.push_back(b_.CreateTrunc(b_.CreateLShr(both, 32), word));
  }
  return words;
}

llvm::Value* Emitter::whenTrue(Value* condition, LType* type, const std::function<Value*()>& body) {
  BB* const before = b_.GetInsertBlock();
  BB* const yes = newBlock("then");
  BB* const after = newBlock("after");
  b_.CreateCondBr(condition, yes, after);
  b_.SetInsertPoint(yes);
  const bool caching = std::exchange(caching_, false);
  Value* const result = body();
  caching_ = caching;
  BB* const last = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(type, 2);
  phi->addIncoming(llvm::Constant::getNullValue(type), before);
  phi->addIncoming(result, last);
  return phi;
}

void Emitter::ifTrue(Value* condition, const std::function<void()>& body, bool) {
  BB* const yes = newBlock("then");
  BB* const after = newBlock("after");
  b_.CreateCondBr(condition, yes, after);
  b_.SetInsertPoint(yes);
  const bool caching = std::exchange(caching_, false);
  body();
  caching_ = caching;
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// Descending within groups: as ascending, with the bits of each group the other way round.
void Emitter::forEachLane(const Mask& mask, const std::function<void(Value*)>& body, uint32_t descending) {
  Value* bits = maskBits(mask);
  LType* const word = b_.getInt32Ty();
  if (descending > 1) bits = callIntrinsic(llvm::Intrinsic::bitreverse, {word}, {bits});
  if (descending == 16) bits = callIntrinsic(llvm::Intrinsic::fshl, {word}, {bits, bits, b_.getInt32(16)});
  if (descending == 8) bits = callIntrinsic(llvm::Intrinsic::bswap, {word}, {bits});
  BB* const before = b_.GetInsertBlock();
  BB* const loop = newBlock("lanes");
  BB* const after = newBlock("after");
  if (mask.full || mask.occupied)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpNE(bits, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(loop);
  auto* left = b_.CreatePHI(b_.getInt32Ty(), 2);
  left->addIncoming(bits, before);
  Value* const at = callIntrinsic(llvm::Intrinsic::cttz, {word}, {left, b_.getTrue()});
  const bool caching = std::exchange(caching_, false);
  body(descending > 1 ? b_.CreateXor(at, descending - 1) : at);
  caching_ = caching;
  Value* const rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(after);
}

void Emitter::branchToRow(Value* condition, BB* rows, BB* lanes) {
  markRow(*b_.CreateCondBr(condition, rows, lanes, llvm::MDBuilder(context_).createBranchWeights(2000, 1)));
}

llvm::AllocaInst* Emitter::entryAlloca(LType* type, const char* name, llvm::Align align) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  auto* slot = at.CreateAlloca(type, nullptr, name);
  if (!type->isVectorTy() && !type->isIntegerTy()) slot->setAlignment(align);
  return slot;
}

llvm::AllocaInst* Emitter::scratch(uint32_t index) {
  while (scratch_.size() <= index)
    scratch_.push_back(entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), 32), "lanes", llvm::Align(64)));
  return scratch_[index];
}

llvm::AllocaInst* Emitter::spill(uint32_t index, ArrayRef<Value*> chunks) {
  auto* array = scratch(index);
  LType* const element = chunks[0]->getType()->getScalarType();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = b_.CreateConstInBoundsGEP1_32(element, array, c * w_);
    b_.CreateAlignedStore(chunks[c], at, llvm::Align(element->getScalarSizeInBits() / 8));
  }
  return array;
}

llvm::Value* Emitter::laneAddress(llvm::AllocaInst* array, Value* lane, LType* element) {
  return b_.CreateInBoundsGEP(element, array, b_.CreateZExt(lane, b_.getInt64Ty()));
}

Chunks Emitter::reload(llvm::AllocaInst* array, LType* element) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = b_.CreateConstInBoundsGEP1_32(element, array, c * w_);
    chunks.push_back(b_.CreateAlignedLoad(vectorOf(element), at, llvm::Align(element->getScalarSizeInBits() / 8)));
  }
  return chunks;
}

llvm::Value* Emitter::extractLane(ArrayRef<Value*> chunks, Value* lane) {
  llvm::SmallVector<Value*, 8> parts(chunks.begin(), chunks.end());
  while (parts.size() > 1) {
    llvm::SmallVector<Value*, 8> joined;
    for (size_t n = 0; n < parts.size(); n += 2) joined.push_back(concat(parts[n], parts[n + 1]));
    parts = joined;
  }
  return b_.CreateExtractElement(parts[0], lane);
}

llvm::Value* Emitter::runtimeCall(size_t offset, LType* result, ArrayRef<Value*> args) {
  Value* const calls = launchField(offsetof(KernelLaunch, calls), b_.getPtrTy());
  Value* const at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), calls, offset);
  auto* target = b_.CreateLoad(b_.getPtrTy(), at);
  target->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  llvm::SmallVector<LType*, 8> types;
  for (Value* a : args) types.push_back(a->getType());
  auto* call = b_.CreateCall(llvm::FunctionType::get(result, types, false), target, args);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

}  // namespace vg::ptx::gen
