// Values in LLVM form: constants, special registers, addresses of symbols, slots, changes of shape, masks, and small
// building blocks for the other parts of the emitter.
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using PtxValue = vg::ptx::gen::Value;

void Emitter::unsupported(const Instruction& i, const char* why) {
  std::string text = nameOf(i.ast->op);
  for (uint32_t n = 0; n < i.ast->typeCount; ++n) text += std::string(".") + nameOf(i.ast->types[n]);
  if (why) text += std::string(": ") + why;
  throw Unsupported{text, i.ast->line};
}

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

llvm::Value* Emitter::asInteger(Value* v, uint32_t bits) {
  LType* const element = v->getType()->getScalarType();
  if (element->isFloatingPointTy()) v = b_.CreateBitCast(v, like(v, integerType(element->getScalarSizeInBits())));
  return b_.CreateZExtOrTrunc(v, like(v, integerType(bits)));
}

llvm::Value* Emitter::asFloat(Value* v, LType* element) {
  if (v->getType()->getScalarType() == element) return v;
  return b_.CreateBitCast(asInteger(v, element->getScalarSizeInBits()), like(v, element));
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

llvm::Value* Emitter::iota(uint32_t chunk, LType* element, int64_t stride) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  const uint32_t bits = element->getScalarSizeInBits();
  for (uint32_t l = 0; l < w_; ++l) {
    const uint64_t value = static_cast<uint64_t>(stride) * (chunk * w_ + l);
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

llvm::Value* Emitter::slice(Value* v, uint32_t first, uint32_t count) {
  llvm::SmallVector<int, 64> order;
  for (uint32_t l = 0; l < count; ++l) order.push_back(static_cast<int>(first + l));
  return b_.CreateShuffleVector(v, order);
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

void Emitter::forEachLane(const Mask& mask, const std::function<void(Value*)>& body) {
  Value* const bits = maskBits(mask);
  BB* const before = b_.GetInsertBlock();
  BB* const loop = newBlock("lanes");
  BB* const after = newBlock("after");
  b_.CreateCondBr(b_.CreateICmpNE(bits, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(loop);
  auto* left = b_.CreatePHI(b_.getInt32Ty(), 2);
  left->addIncoming(bits, before);
  Value* const lane = callIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {left, b_.getTrue()});
  const bool caching = std::exchange(caching_, false);
  body(lane);
  caching_ = caching;
  Value* const rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(after);
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

// --- Constants of the launch, the block and the warp --------------------------------------------------------------

static llvm::LoadInst* invariantLoad(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* base, uint64_t offset) {
  auto* load = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset));
  load->setAlignment(llvm::Align(1));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

llvm::Value* Emitter::blockField(size_t offset, LType* type) {
  Value*& field = blockFields_[{offset, type}];
  if (!field) {
    llvm::IRBuilder<> at(launchPoint_);
    field = invariantLoad(at, type, blockArgument_, offset);
  }
  return field;
}

llvm::Value* Emitter::blockIndex(uint32_t axis) {
  if (axis == 0 && blockX_) return blockX_;
  return blockField(offsetof(BlockState, blockIndex) + 4 * axis, b_.getInt32Ty());
}

llvm::Value* Emitter::launchField(size_t offset, LType* type) {
  Value*& field = launchFields_[{offset, type}];
  if (!field) {
    llvm::IRBuilder<> at(launchPoint_);
    field = invariantLoad(at, type, launch_, offset);
  }
  return field;
}

llvm::Value* Emitter::parameter(int64_t offset, LType* type) {
  Value*& value = parameters_[{offset, type}];
  if (!value) {
    Value* const base = launchField(offsetof(KernelLaunch, parameters), b_.getPtrTy());
    llvm::IRBuilder<> at(launchPoint_);
    value = invariantLoad(at, type, base, static_cast<uint64_t>(offset));
  }
  return value;
}

llvm::Value* Emitter::sharedBase() { return blockField(offsetof(BlockState, shared), b_.getInt64Ty()); }

llvm::Value* Emitter::special(Special s) {
  const auto launchWord = [&](size_t offset, uint32_t n = 0) { return launchField(offset + 4 * n, b_.getInt32Ty()); };
  const auto word = [&](uint32_t n) { return b_.getInt32(n); };
  switch (s) {
    case Special::NtidX:
    case Special::NtidY:
    case Special::NtidZ:
      return launchWord(offsetof(KernelLaunch, blockSize),
                        static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::NtidX));
    case Special::NctaidX:
    case Special::NctaidY:
    case Special::NctaidZ:
      return launchWord(offsetof(KernelLaunch, gridSize),
                        static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::NctaidX));
    case Special::CtaidX:
    case Special::CtaidY:
    case Special::CtaidZ:
      return blockIndex(static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::CtaidX));
    case Special::WarpId:
      return warp_;
    case Special::NWarpId:
      return launchWord(offsetof(KernelLaunch, warpsPerBlock));
    case Special::SmId:
      return blockField(offsetof(BlockState, worker), b_.getInt32Ty());
    case Special::NSmId:
      return launchWord(offsetof(KernelLaunch, workers));
    case Special::GridId:
      return launchField(offsetof(KernelLaunch, gridId), b_.getInt64Ty());
    case Special::DynamicSmemSize:
      return launchWord(offsetof(KernelLaunch, dynamicShared));
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return b_.CreateAdd(launchWord(offsetof(KernelLaunch, dynamicShared)),
                          launchWord(offsetof(KernelLaunch, staticShared)));
    case Special::ReservedSmemOffsetBegin:
    case Special::ReservedSmemOffsetEnd:
    case Special::ReservedSmemOffsetCap:
      return word(0);
    case Special::Clock:
    case Special::ClockHi:
    case Special::Clock64: {
      Value* const now = runtimeCall(offsetof(RuntimeCalls, clock), b_.getInt64Ty(), {blockArgument_});
      if (s == Special::Clock64) return now;
      return b_.CreateTrunc(s == Special::Clock ? now : b_.CreateLShr(now, 32), b_.getInt32Ty());
    }
    case Special::GlobalTimer:
    case Special::GlobalTimerLo:
    case Special::GlobalTimerHi: {
      Value* const now = runtimeCall(offsetof(RuntimeCalls, globalTimer), b_.getInt64Ty(), {blockArgument_});
      if (s == Special::GlobalTimer) return now;
      return b_.CreateTrunc(s == Special::GlobalTimerLo ? now : b_.CreateLShr(now, 32), b_.getInt32Ty());
    }
    default:
      break;
  }
  if (s >= Special::Envreg0 && s <= Special::EnvregLast) {
    const uint32_t n = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::Envreg0);
    if (n != 1 && n != 2) return word(0);
    Value* const workspace = launchField(offsetof(KernelLaunch, cooperativeWorkspace), b_.getInt64Ty());
    return b_.CreateTrunc(n == 1 ? b_.CreateLShr(workspace, 32) : workspace, b_.getInt32Ty());
  }
  if (s >= Special::Pm0 && s <= Special::PmLast) return word(0);
  throw Unsupported{"special register " + std::to_string(static_cast<int>(s)), present_ ? present_->ast->line : 0};
}

// The thread's index along an axis for W lanes, from the linear index: for blocks whose rows are not whole warps.
llvm::Value* Emitter::threadIndex(uint32_t axis, uint32_t chunk) {
  Value*& cached = threadIndices_[axis * 8 + chunk];
  if (cached) return cached;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(warpPoint_);
  LType* const wordType = b_.getInt32Ty();
  Value* const linear = b_.CreateAdd(b_.CreateVectorSplat(w_, b_.CreateShl(warp_, 5)), iota(chunk, wordType, 1));
  // Exact for dividends below 2^16: the quotient is at least 1/(2n) away from the next integer.
  const auto divide = [&](Value* a, size_t dimension) {
    Value* const n = launchField(offsetof(KernelLaunch, blockSize) + 4 * dimension, wordType);
    Value* const reciprocal =
        b_.CreateFDiv(llvm::ConstantFP::get(b_.getFloatTy(), 1.0), b_.CreateUIToFP(n, b_.getFloatTy()));
    Value* const middle = b_.CreateFAdd(b_.CreateSIToFP(a, vectorOf(b_.getFloatTy())),
                                        llvm::ConstantFP::get(vectorOf(b_.getFloatTy()), 0.5));
    Value* const q = b_.CreateFPToSI(b_.CreateFMul(middle, b_.CreateVectorSplat(w_, reciprocal)), vectorOf(wordType));
    Value* const r = b_.CreateSub(a, b_.CreateMul(q, b_.CreateVectorSplat(w_, n)));
    return std::pair{q, r};
  };
  const auto [row, x] = divide(linear, 0);
  const auto [plane, y] = divide(row, 1);
  threadIndices_[0 * 8 + chunk] = x;
  threadIndices_[1 * 8 + chunk] = y;
  threadIndices_[2 * 8 + chunk] = plane;
  return threadIndices_[axis * 8 + chunk];
}

Form Emitter::specialForm(const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  const Special s = v.special;
  LType* const word = b_.getInt32Ty();
  if (s == Special::TidX || s == Special::TidY || s == Special::TidZ) {
    const uint32_t axis = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::TidX);
    if (options_.rowsOf32) {
      form.scalar = laneThread_[axis];
    } else {
      for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(threadIndex(axis, c));
    }
    return form;
  }
  switch (s) {
    case Special::LaneId:
      form.scalar = b_.getInt32(0);
      return form;
    case Special::LanemaskEq:
    case Special::LanemaskLt:
    case Special::LanemaskLe:
    case Special::LanemaskGt:
    case Special::LanemaskGe:
      for (uint32_t c = 0; c < k_; ++c) {
        llvm::SmallVector<llvm::Constant*, 16> lanes;
        for (uint32_t l = 0; l < w_; ++l) {
          const uint32_t bit = 1u << (c * w_ + l);
          const uint32_t value = s == Special::LanemaskEq   ? bit
                                 : s == Special::LanemaskLt ? bit - 1
                                 : s == Special::LanemaskLe ? bit | (bit - 1)
                                 : s == Special::LanemaskGt ? ~(bit | (bit - 1))
                                                            : ~(bit - 1);
          lanes.push_back(llvm::ConstantInt::get(word, value));
        }
        form.chunks.push_back(llvm::ConstantVector::get(lanes));
      }
      return form;
    default:
      break;
  }
  const bool moves = s == Special::Clock || s == Special::ClockHi || s == Special::Clock64 ||
                     s == Special::GlobalTimer || s == Special::GlobalTimerLo || s == Special::GlobalTimerHi;
  if (moves) {
    form.scalar = special(s);
    return form;
  }
  Value*& cached = specials_[s];
  if (!cached) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(s == Special::WarpId ? warpPoint_ : blockPoint_);  // LLVM moves further out what it can
    cached = special(s);
  }
  form.scalar = cached;
  return form;
}

llvm::Value* Emitter::globalAddress(uint32_t variable) {
  const auto& globals = program_.references.globals;
  const auto found = std::find(globals.begin(), globals.end(), variable);
  if (found == globals.end())
    throw Unsupported{"variable " + program_.module->variables[variable].name + " outside of the kernel's table", 0};
  Value*& address = globals_[variable];
  if (!address) {
    Value* const table = launchField(offsetof(KernelLaunch, globals), b_.getPtrTy());
    llvm::IRBuilder<> at(launchPoint_);
    address = invariantLoad(at, b_.getInt64Ty(), table, 8 * static_cast<uint64_t>(found - globals.begin()));
  }
  return address;
}

Form Emitter::symbolForm(const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  const auto plus = [&](Value* base) { return b_.CreateAdd(base, b_.getInt64(static_cast<uint64_t>(v.offset))); };
  const auto shared = [&](bool moduleScope, const Variable& variable) -> Value* {
    Value* at = b_.getInt64(program_.shared.offsetOf(moduleScope, v.function, v.symbol));
    if (variable.unsizedArray)
      at = b_.CreateZExt(launchField(offsetof(KernelLaunch, dynamicSharedOffset), b_.getInt32Ty()), b_.getInt64Ty());
    if (!program_.references.clusterAddresses) return at;
    Value* const own = blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty());
    return b_.CreateAdd(at, b_.CreateZExt(own, b_.getInt64Ty()));
  };
  switch (v.symbolKind) {
    case SymbolKind::ModuleVariable: {
      const Variable& variable = program_.module->variables[v.symbol];
      if (variable.space == Space::Shared) {
        form.scalar = plus(shared(true, variable));
        return form;
      }
      form.scalar = plus(globalAddress(v.symbol));
      return form;
    }
    case SymbolKind::FunctionVariable: {
      const Variable& variable = program_.module->functions[v.function].variables[v.symbol];
      if (variable.space == Space::Shared) {
        form.scalar = plus(shared(false, variable));
        return form;
      }
      const uint32_t offset = program_.locals.at({v.function, v.symbol});
      form.scalar = plus(b_.CreateAdd(b_.CreatePtrToInt(localArea_, b_.getInt64Ty()), b_.getInt64(offset)));
      return form;
    }
    case SymbolKind::Parameter:
      form.scalar = plus(b_.CreateAdd(launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty()),
                                      b_.getInt64(program_.parameters[v.symbol].offset)));
      return form;
    default:
      throw Unsupported{"address of this symbol", 0};
  }
}

llvm::Value* Emitter::constantValue(const PtxValue& v) {
  return llvm::ConstantInt::get(elementType(v.type == Class::Pred ? Class::Pred : Class::I64), v.bits);
}

// --- Forms ---------------------------------------------------------------------------------------------------------

void Emitter::markFragileSources() {
  for (size_t n = program_.instructions.size(); n-- > 0;) {
    const Instruction& i = program_.instructions[n];
    bool needed = false;
    for (ValueId r : i.results)
      if (r != kNone) needed |= program_.values[r].shape.fragile && program_.values[r].usedElsewhere;
    if (!needed) continue;
    for (ValueId s : i.sources)
      if (s != kNone) program_.values[s].usedElsewhere = true;
  }
}

Form Emitter::formOf(ValueId id) {
  const PtxValue& v = program_.values[id];
  Form form;
  form.shape = v.shape;
  switch (v.kind) {
    case PtxValue::Constant:
      form.scalar = constantValue(v);
      return form;
    case PtxValue::Undefined:
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = llvm::Constant::getNullValue(elementType(v.type));
      return form;
    case PtxValue::Special:
      return specialForm(v);
    case PtxValue::Symbol:
      return symbolForm(v);
    default:
      break;
  }
  if (auto found = local_.find(id); found != local_.end()) return found->second;
  if (direct_[id]) return *direct_[id];
  if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(loadPoint_);
  return local_[id] = loadSlot(slots_[id], v);
}

void Emitter::define(ValueId id, Form form) {
  const PtxValue& v = program_.values[id];
  if (!v.usedElsewhere) {
    local_[id] = std::move(form);
    return;
  }
  uint32_t copies = 0;
  bool masked = false;
  for (Version version : {Full, Part})
    for (bool m : {false, true})
      if (planned_.count({version, m, v.block})) {
        ++copies;
        masked |= m;
      }
  if (copies == 1 && !masked) {
    direct_[id] = form;
  } else {
    if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
    storeSlot(slots_[id], v, form);
  }
  local_[id] = std::move(form);
}

Emitter::Slot Emitter::makeSlot(const PtxValue& v, const char* name) {
  Slot slot;
  if (!v.shape.varying()) {
    slot.scalar = entryAlloca(elementType(v.type), name);
    if (v.shape.fragile) slot.holds = entryAlloca(b_.getInt1Ty(), name);
    return slot;
  }
  LType* const type = v.type == Class::Pred ? maskSlotType() : vectorOf(elementType(v.type));
  for (uint32_t c = 0; c < k_; ++c) slot.chunks.push_back(entryAlloca(type, name));
  return slot;
}

Form Emitter::loadSlot(const Slot& slot, const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  if (slot.scalar) {
    form.scalar = b_.CreateLoad(slot.scalar->getAllocatedType(), slot.scalar);
    if (slot.holds) form.holds = b_.CreateLoad(b_.getInt1Ty(), slot.holds);
    return form;
  }
  for (auto* a : slot.chunks) {
    Value* chunk = b_.CreateLoad(a->getAllocatedType(), a);
    if (v.type == Class::Pred && !options_.avx512)
      chunk = b_.CreateICmpSLT(chunk, llvm::Constant::getNullValue(chunk->getType()));
    form.chunks.push_back(chunk);
  }
  return form;
}

void Emitter::storeSlot(const Slot& slot, const PtxValue& v, const Form& form) {
  if (slot.scalar) {
    Value* scalar = form.scalar;
    LType* const type = slot.scalar->getAllocatedType();
    if (scalar->getType() != type)
      scalar = type->isFloatingPointTy() ? asFloat(scalar, type) : asInteger(scalar, type->getScalarSizeInBits());
    b_.CreateStore(scalar, slot.scalar);
    if (slot.holds) b_.CreateStore(form.holds ? form.holds : b_.getTrue(), slot.holds);
    return;
  }
  for (uint32_t c = 0; c < k_; ++c) {
    Value* chunk = form.chunks[c];
    LType* const element = slot.chunks[c]->getAllocatedType()->getScalarType();
    if (v.type == Class::Pred) {
      if (!options_.avx512) chunk = b_.CreateSExt(chunk, slot.chunks[c]->getAllocatedType());
    } else if (chunk->getType()->getScalarType() != element) {
      chunk = element->isFloatingPointTy() ? asFloat(chunk, element) : asInteger(chunk, element->getScalarSizeInBits());
    }
    b_.CreateStore(chunk, slot.chunks[c]);
  }
}

llvm::Value* Emitter::scalarOf(ValueId id) { return formOf(id).scalar; }
llvm::Value* Emitter::laneZero(ValueId id) { return formOf(id).scalar; }

llvm::Value* Emitter::chunkOfForm(const Form& form, uint32_t c) {
  if (!form.chunks.empty()) return form.chunks[c];
  Value* const splat = b_.CreateVectorSplat(w_, form.scalar);
  if (!form.shape.affine()) return splat;
  return b_.CreateAdd(splat, iota(c, form.scalar->getType(), form.shape.stride));
}

llvm::Value* Emitter::chunkOf(ValueId id, uint32_t c) {
  const Form form = formOf(id);
  if (!form.chunks.empty()) return form.chunks[c];
  if (auto found = vectors_.find({id, c}); found != vectors_.end()) return found->second;
  Value* vector = nullptr;
  if (form.shape.fragile) {
    // The affine form may be wrong in some lanes: compute what made it once more, lane by lane.
    const PtxValue& v = program_.values[id];
    const Instruction& i = program_.instructions[v.instruction];
    llvm::SmallVector<Value*, 4> sources;
    for (ValueId s : i.sources) sources.push_back(s == kNone ? nullptr : chunkOf(s, c));
    llvm::SmallVector<Value*, 2> results;
    compute(i, sources, results);
    vector = results[v.resultIndex];
  } else {
    vector = chunkOfForm(form, c);
  }
  if (caching_) vectors_[{id, c}] = vector;
  return vector;
}

Chunks Emitter::vectorsOf(ValueId id) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) chunks.push_back(chunkOf(id, c));
  return chunks;
}

// A value in the shape and type of another one, for stores to its slot.
Form Emitter::toShape(ValueId id, const PtxValue& v) {
  const auto cast = [&](Value* from) {
    LType* const element = elementType(v.type);
    if (from->getType()->getScalarType() == element) return from;
    return element->isFloatingPointTy() ? asFloat(from, element) : asInteger(from, element->getScalarSizeInBits());
  };
  Form out;
  out.shape = v.shape;
  if (!v.shape.varying()) {
    const Form form = formOf(id);
    out.scalar = cast(form.scalar);
    out.holds = form.holds;
    return out;
  }
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(cast(chunkOf(id, c)));
  return out;
}

// --- Masks ---------------------------------------------------------------------------------------------------------

Chunks Emitter::chunksOf(const Mask& mask) {
  if (!mask.full) return mask.chunks;
  return Chunks(k_, llvm::Constant::getAllOnesValue(vectorOf(b_.getInt1Ty())));
}

Mask Emitter::both(const Mask& a, const Mask& b) {
  if (a.full) return b;
  if (b.full) return a;
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Emitter::without(const Mask& a, const Mask& b) {
  Mask out;
  out.full = false;
  const Chunks left = chunksOf(a), right = chunksOf(b);
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(left[c], b_.CreateNot(right[c])));
  return out;
}

Mask Emitter::either(const Mask& a, const Mask& b) {
  if (a.full || b.full) return Mask{};
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateOr(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Emitter::maskOf(ValueId predicate, bool negated) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* bit = chunkOf(predicate, c);
    out.chunks.push_back(negated ? b_.CreateNot(bit) : bit);
  }
  return out;
}

Mask Emitter::uniformMask(Value* bit) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateVectorSplat(w_, bit));
  return out;
}

Mask Emitter::constantMask(uint32_t lanes) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    llvm::SmallVector<llvm::Constant*, 16> bits;
    for (uint32_t l = 0; l < w_; ++l) bits.push_back(b_.getInt1(lanes >> (c * w_ + l) & 1));
    out.chunks.push_back(llvm::ConstantVector::get(bits));
  }
  return out;
}

Mask Emitter::guardedMask(const Instruction& i) {
  if (i.guard == kNone) return mask_;
  return both(mask_, maskOf(i.guard, i.guardNegated));
}

llvm::Value* Emitter::anyLane(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (uint32_t c = 1; c < k_; ++c) all = b_.CreateOr(all, mask.chunks[c]);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, integerType(w_)));
  return b_.CreateICmpNE(bits, llvm::ConstantInt::get(integerType(w_), 0));
}

llvm::Value* Emitter::allLanes(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (uint32_t c = 1; c < k_; ++c) all = b_.CreateAnd(all, mask.chunks[c]);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, integerType(w_)));
  return b_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(integerType(w_)));
}

llvm::Value* Emitter::maskBits(const Mask& mask) {
  if (mask.full) return b_.getInt32(~0u);
  Value* bits = b_.getInt32(0);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateZExt(b_.CreateBitCast(mask.chunks[c], integerType(w_)), b_.getInt32Ty());
    bits = b_.CreateOr(bits, b_.CreateShl(part, c * w_));
  }
  return b_.CreateFreeze(bits);
}

Mask Emitter::maskFromBits(Value* bits) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateTrunc(b_.CreateLShr(bits, c * w_), integerType(w_));
    if (options_.avx512) {
      out.chunks.push_back(b_.CreateBitCast(part, vectorOf(b_.getInt1Ty())));
    } else {
      Value* const wide = b_.CreateVectorSplat(w_, b_.CreateZExt(part, b_.getInt32Ty()));
      llvm::SmallVector<llvm::Constant*, 16> select;
      for (uint32_t l = 0; l < w_; ++l) select.push_back(b_.getInt32(1u << l));
      out.chunks.push_back(b_.CreateICmpNE(b_.CreateAnd(wide, llvm::ConstantVector::get(select)),
                                           llvm::Constant::getNullValue(wide->getType())));
    }
  }
  return out;
}

llvm::Type* Emitter::maskSlotType() { return vectorOf(options_.avx512 ? b_.getInt1Ty() : b_.getInt32Ty()); }

llvm::SmallVector<llvm::AllocaInst*, 8> Emitter::makeMaskSlot(const char* name) {
  llvm::SmallVector<llvm::AllocaInst*, 8> slot;
  for (uint32_t c = 0; c < k_; ++c) slot.push_back(entryAlloca(maskSlotType(), name));
  return slot;
}

llvm::SmallVector<llvm::AllocaInst*, 8>& Emitter::maskSlot(Version v, BlockId b) {
  auto& slot = maskSlots_[{v, b}];
  if (slot.empty()) slot = makeMaskSlot("mask");
  return slot;
}

void Emitter::storeMask(ArrayRef<llvm::AllocaInst*> slot, const Mask& mask) {
  const Chunks chunks = chunksOf(mask);
  for (uint32_t c = 0; c < k_; ++c)
    b_.CreateStore(options_.avx512 ? chunks[c] : b_.CreateSExt(chunks[c], maskSlotType()), slot[c]);
}

Mask Emitter::loadMask(ArrayRef<llvm::AllocaInst*> slot) {
  Mask mask;
  mask.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* chunk = b_.CreateLoad(maskSlotType(), slot[c]);
    if (!options_.avx512) chunk = b_.CreateICmpSLT(chunk, llvm::Constant::getNullValue(chunk->getType()));
    mask.chunks.push_back(chunk);
  }
  return mask;
}

}  // namespace vg::ptx::gen
