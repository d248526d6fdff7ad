#include "ptx/llvm/emit/builder.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/passes/row_lanes.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

llvm::BasicBlock* Builder::newBlock(const char* name) { return BB::Create(getContext(), name, function); }

llvm::Type* Builder::elementType(Class c) {
  switch (c) {
    case Class::F32:
      return getFloatTy();
    case Class::F64:
      return getDoubleTy();
    default:
      return integerType(bitsOf(c));
  }
}

llvm::Type* Builder::likeType(LType* shape, LType* element) {
  if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape))
    return llvm::FixedVectorType::get(element, v->getNumElements());
  return element;
}
llvm::Type* Builder::like(Value* shape, LType* element) { return likeType(shape->getType(), element); }

llvm::Value* Builder::splatLike(Value* shape, Value* scalar) {
  if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType()))
    return CreateVectorSplat(v->getNumElements(), scalar);
  return scalar;
}

llvm::Value* Builder::number(Value* shape, LType* element, uint64_t bits) {
  return llvm::ConstantInt::get(like(shape, element), bits);
}
llvm::Value* Builder::real(Value* shape, LType* element, double value) {
  return llvm::ConstantFP::get(like(shape, element), value);
}

// The same bits; of one scalar in all lanes, that scalar's: LLVM finds it sooner.
llvm::Value* Builder::reinterpret(Value* v, LType* element) {
  if (Value* const scalar = llvm::getSplatValue(v)) return splatLike(v, CreateBitCast(scalar, element));
  return CreateBitCast(v, like(v, element));
}

llvm::Value* Builder::asInteger(Value* v, uint32_t bits) {
  LType* const element = v->getType()->getScalarType();
  if (element->isFloatingPointTy()) v = reinterpret(v, integerType(element->getScalarSizeInBits()));
  return CreateZExtOrTrunc(v, like(v, integerType(bits)));
}

llvm::Value* Builder::asFloat(Value* v, LType* element) {
  if (v->getType()->getScalarType() == element) return v;
  return reinterpret(asInteger(v, element->getScalarSizeInBits()), element);
}

llvm::Value* Builder::asClass(Value* v, Class type) {
  Value* const fitting = asInteger(v, bitsOf(type));
  return isFloat(type) ? asFloat(fitting, elementType(type)) : fitting;
}

llvm::Value* Builder::asType(Value* v, Type type) {
  switch (type) {
    case Type::F32:
    case Type::TF32:
      return asFloat(v, getFloatTy());
    case Type::F64:
      return asFloat(v, getDoubleTy());
    case Type::Pred:
      if (v->getType()->getScalarSizeInBits() == 1) return v;
      return CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    default:
      return asInteger(v, ptx::bitsOf(type));
  }
}

// Lane numbers, which begin anew every `again` lanes, times the stride.
llvm::Value* Builder::iota(uint32_t chunk, LType* element, int64_t stride, uint32_t again) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  const uint32_t bits = element->getScalarSizeInBits();
  for (uint32_t l = 0; l < w_; ++l) {
    const uint64_t value = static_cast<uint64_t>(stride) * ((chunk * w_ + l) % again);
    lanes.push_back(llvm::ConstantInt::get(getContext(), llvm::APInt(64, value).sextOrTrunc(bits)));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* Builder::extend(Value* v, uint32_t bits, bool isSigned) {
  LType* const to = like(v, integerType(bits));
  return isSigned ? CreateSExtOrTrunc(v, to) : CreateZExtOrTrunc(v, to);
}

llvm::Value* Builder::callIntrinsic(llvm::Intrinsic::ID id, ArrayRef<LType*> types, ArrayRef<Value*> args) {
  return CreateIntrinsic(id, types, args);
}
llvm::Value* Builder::intrinsic(llvm::Intrinsic::ID id, ArrayRef<Value*> args) {
  return CreateIntrinsic(id, {args[0]->getType()}, args);
}

llvm::Value* Builder::concat(Value* a, Value* b) {
  const uint32_t n = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  llvm::SmallVector<int, 64> order;
  for (uint32_t l = 0; l < 2 * n; ++l) order.push_back(static_cast<int>(l));
  return CreateShuffleVector(a, b, order);
}

llvm::Value* Builder::joined(ArrayRef<Value*> pieces) {
  if (pieces.size() == 1) return pieces[0];
  const size_t half = pieces.size() / 2;
  return concat(joined(pieces.take_front(half)), joined(pieces.drop_front(half)));
}

llvm::Value* Builder::slice(Value* v, uint32_t first, uint32_t count) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t l = 0; l < count; ++l) order.push_back(static_cast<int>(first + l));
  return CreateShuffleVector(v, order);
}

// Takes the chunks in pairs, never all of them joined: a vector wider than a register goes through memory.
llvm::Value* Builder::lanesFrom(const Chunks& chunks, llvm::ArrayRef<int> lanes) {
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
    Value* const two = CreateShuffleVector(chunks[a], chunks[b], order);
    picked = picked ? CreateShuffleVector(picked, two, merged) : two;
  }
  return picked;
}

// The elements of a vector of 32-bit words. Two leave together: single ones cost twice as much, and loads of parts of
// a vector just stored stall. The empty assembly keeps LLVM from taking the pairs apart.
llvm::SmallVector<llvm::Value*, 32> Builder::wordsOf(Value* vector) {
  LType *const word = getInt32Ty(), *const pair = getInt64Ty();
  const uint32_t count = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  auto* const opaque = llvm::InlineAsm::get(llvm::FunctionType::get(pair, {pair}, false), "", "=r,0", false);
  Value* const pairs = CreateBitCast(vector, llvm::FixedVectorType::get(pair, count / 2));
  llvm::SmallVector<Value*, 32> words;
  for (uint32_t n = 0; n < count / 2; ++n) {
    Value* const both = CreateCall(opaque, {CreateExtractElement(pairs, n)});
    words.push_back(CreateTrunc(both, word));
    words.push_back(CreateTrunc(CreateLShr(both, 32), word));
  }
  return words;
}

llvm::Value* Builder::whenTrue(Value* condition, LType* type, const std::function<Value*()>& body) {
  BB* const before = GetInsertBlock();
  BB* last = nullptr;
  Value* result = nullptr;
  ifTrue(condition, [&] {
    result = body();
    last = GetInsertBlock();
  });
  auto* phi = CreatePHI(type, 2);
  phi->addIncoming(llvm::Constant::getNullValue(type), before);
  phi->addIncoming(result, last);
  return phi;
}

void Builder::ifTrue(Value* condition, const std::function<void()>& body) {
  BB* const yes = newBlock("then");
  BB* const after = newBlock("after");
  CreateCondBr(condition, yes, after);
  SetInsertPoint(yes);
  const bool cached = std::exchange(caching, false);
  body();
  caching = cached;
  CreateBr(after);
  SetInsertPoint(after);
}

Components Builder::eitherOf(BB* first, const std::function<Components()>& inFirst, BB* second,
                             const std::function<Components()>& inSecond) {
  BB* const after = newBlock("after");
  const bool cached = std::exchange(caching, false);
  const auto emit = [&](BB* block, const std::function<Components()>& body) {
    SetInsertPoint(block);
    Components made = body();
    BB* const last = GetInsertBlock();
    CreateBr(after);
    return std::pair(std::move(made), last);
  };
  const auto [one, oneEnd] = emit(first, inFirst);
  const auto [other, otherEnd] = emit(second, inSecond);
  caching = cached;
  SetInsertPoint(after);
  Components out(one.size());
  for (size_t n = 0; n < one.size(); ++n)
    for (size_t c = 0; c < one[n].size(); ++c) {
      auto* const phi = CreatePHI(one[n][c]->getType(), 2);
      phi->addIncoming(one[n][c], oneEnd);
      phi->addIncoming(other[n][c], otherEnd);
      out[n].push_back(phi);
    }
  return out;
}

void Builder::branchToRow(Value* condition, BB* rows, BB* lanes) {
  markRow(*CreateCondBr(condition, rows, lanes, llvm::MDBuilder(getContext()).createBranchWeights(2000, 1)));
}

llvm::AllocaInst* Builder::entryAlloca(LType* type, const char* name, llvm::Align align) {
  llvm::IRBuilder<> at(entry, entry->begin());
  auto* slot = at.CreateAlloca(type, nullptr, name);
  if (!type->isVectorTy() && !type->isIntegerTy()) slot->setAlignment(align);
  return slot;
}

llvm::AllocaInst* Builder::scratch(uint32_t index) {
  while (scratch_.size() <= index)
    scratch_.push_back(entryAlloca(llvm::ArrayType::get(getInt64Ty(), 32), "lanes", llvm::Align(64)));
  return scratch_[index];
}

llvm::AllocaInst* Builder::spill(uint32_t index, ArrayRef<Value*> chunks) {
  auto* array = scratch(index);
  storeLanes(array, chunks);
  return array;
}

void Builder::storeLanes(llvm::AllocaInst* array, ArrayRef<Value*> chunks) {
  LType* const element = chunks[0]->getType()->getScalarType();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = CreateConstInBoundsGEP1_32(element, array, c * w_);
    CreateAlignedStore(chunks[c], at, llvm::Align(element->getScalarSizeInBits() / 8));
  }
}

llvm::Value* Builder::laneAddress(llvm::AllocaInst* array, Value* lane, LType* element) {
  return CreateInBoundsGEP(element, array, CreateZExt(lane, getInt64Ty()));
}

Chunks Builder::reload(llvm::AllocaInst* array, LType* element) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = CreateConstInBoundsGEP1_32(element, array, c * w_);
    chunks.push_back(CreateAlignedLoad(vectorOf(element), at, llvm::Align(element->getScalarSizeInBits() / 8)));
  }
  return chunks;
}

llvm::Value* Builder::extractLane(ArrayRef<Value*> chunks, Value* lane) {
  llvm::SmallVector<Value*, 8> parts(chunks.begin(), chunks.end());
  while (parts.size() > 1) {
    llvm::SmallVector<Value*, 8> joined;
    for (size_t n = 0; n < parts.size(); n += 2) joined.push_back(concat(parts[n], parts[n + 1]));
    parts = joined;
  }
  return CreateExtractElement(parts[0], lane);
}

void Builder::describeLines() {
  llvm::Module& module = *function->getParent();
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module);
  llvm::DIFile* const file = builder.createFile("kernel.ptx", ".");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C99, file, "verdigris", true, "", 0, "",
                            llvm::DICompileUnit::LineTablesOnly);
  debugScope_ = builder.createFunction(file, "vg_kernel", "vg_kernel", file, 1,
                                       builder.createSubroutineType(builder.getOrCreateTypeArray({})), 1,
                                       llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function->setSubprogram(debugScope_);
  builder.finalize();
}

llvm::DebugLoc Builder::lineAt(uint32_t line) {
  return llvm::DebugLoc(llvm::DILocation::get(getContext(), line, 0, debugScope_));
}

llvm::Value* Builder::repeatMask(Value* mask, uint32_t count) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t e = 0; e < w_ * count; ++e) order.push_back(static_cast<int>(e / count));
  return CreateShuffleVector(mask, order);
}

}  // namespace vg::ptx::gen
