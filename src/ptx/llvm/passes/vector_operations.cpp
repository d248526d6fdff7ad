#include "ptx/llvm/passes/vector_operations.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace vg::ptx::gen {

using llvm::Instruction;
using llvm::Type;
using llvm::Value;

namespace {

Type* passed(Type* type) { return type->isIntegerTy(1) ? Type::getInt8Ty(type->getContext()) : type; }

bool divides(const Instruction& i) {
  switch (i.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
      return true;
    default:
      return false;
  }
}

void add(std::string& name, const void* part) { name.append(reinterpret_cast<const char*>(&part), sizeof part); }
void add(std::string& name, unsigned part) { name.append(reinterpret_cast<const char*>(&part), sizeof part); }

// All that tells an operation from others.
std::string nameOf(const Instruction& i) {
  std::string name;
  add(name, i.getOpcode());
  add(name, unsigned{i.getRawSubclassOptionalData()});
  add(name, i.getType());
  if (const auto* const element = llvm::dyn_cast<llvm::GetElementPtrInst>(&i))
    add(name, element->getSourceElementType());
  if (const auto* const compare = llvm::dyn_cast<llvm::CmpInst>(&i)) add(name, unsigned{compare->getPredicate()});
  if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&i)) add(name, call->getCalledOperand());
  if (const auto* const shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i))
    for (int lane : shuffle->getShuffleMask()) add(name, static_cast<unsigned>(lane));
  for (unsigned n = 0; n < operandsOf(i); ++n) {
    const Way way = wayOf(i, n);
    name += static_cast<char>(way);
    add(name, way == Way::Fixed ? static_cast<const void*>(i.getOperand(n)) : i.getOperand(n)->getType());
  }
  return name;
}

// An operand in the function of an operation.
Value* received(llvm::IRBuilder<>& b, Value& argument, Way way, Type* type) {
  if (way == Way::Memory) return loadFrom(b, type, &argument);
  Value* const scalar = type->getScalarType()->isIntegerTy(1) ? b.CreateTrunc(&argument, b.getInt1Ty()) : &argument;
  if (way == Way::Scalar) return scalar;
  return b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(type)->getNumElements(), scalar);
}

}  // namespace

// --- What is passed how ----------------------------------------------------------------------------------------------

Type* stored(Type* type) {
  auto* const vector = llvm::cast<llvm::FixedVectorType>(type);
  if (!vector->getElementType()->isIntegerTy(1)) return vector;
  return llvm::FixedVectorType::get(Type::getInt8Ty(type->getContext()), vector->getNumElements());
}

Value* loadFrom(llvm::IRBuilder<>& b, Type* type, Value* place) {
  Type* const kept = stored(type);
  Value* const loaded = b.CreateAlignedLoad(kept, place, llvm::Align(1));
  return kept == type ? loaded : b.CreateICmpSLT(loaded, llvm::Constant::getNullValue(kept));
}

void storeTo(llvm::IRBuilder<>& b, Value* vector, Value* place) {
  Type* const kept = stored(vector->getType());
  b.CreateAlignedStore(kept == vector->getType() ? vector : b.CreateSExt(vector, kept), place, llvm::Align(1));
}

bool canPass(const Type* type) {
  return type->isFloatTy() || type->isDoubleTy() || type->isPointerTy() || type->isIntegerTy(1) ||
         type->isIntegerTy(8) || type->isIntegerTy(16) || type->isIntegerTy(32) || type->isIntegerTy(64);
}

Value* asPassed(llvm::IRBuilder<>& b, Value* scalar) {
  return scalar->getType()->isIntegerTy(1) ? b.CreateZExt(scalar, b.getInt8Ty()) : scalar;
}

unsigned operandsOf(const Instruction& i) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&i);
  return call ? call->arg_size() : i.getNumOperands();
}

Way wayOf(const Instruction& i, unsigned n) {
  const Value& operand = *i.getOperand(n);
  const bool constant = llvm::isa<llvm::Constant>(operand);
  if (!isVector(operand)) return constant && llvm::isa<llvm::CallBase>(i) ? Way::Fixed : Way::Scalar;
  const Value* const splat = llvm::getSplatValue(&operand);
  // Divisors that are known become products.
  const bool alike = splat && canPass(splat->getType()) && !splat->getType()->isIntegerTy(1) &&
                     !llvm::isa<llvm::UndefValue>(splat) && !(constant && divides(i));
  return alike ? Way::Splat : constant ? Way::Fixed : Way::Memory;
}

bool isOperation(const Instruction& i) {
  if (i.mayReadOrWriteMemory() || i.isTerminator()) return false;
  if (llvm::isa<llvm::CallBase>(i) && !llvm::isa<llvm::IntrinsicInst>(i)) return false;
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst, llvm::ExtractElementInst, llvm::InsertElementInst,
                llvm::ExtractValueInst>(i))
    return false;
  if (!isVector(i) && !(i.getType()->isIntegerTy() && canPass(i.getType()))) return false;
  for (unsigned n = 0; n < operandsOf(i); ++n)
    if (const Type* const type = i.getOperand(n)->getType(); !type->isVectorTy() && !canPass(type)) return false;
  return true;
}

// --- The functions ---------------------------------------------------------------------------------------------------

llvm::Function* VectorOperations::of(const Instruction& i) {
  llvm::Function*& known = functions_[nameOf(i)];
  if (!known) known = make(i);
  return known;
}

llvm::Function* VectorOperations::copy(Type* type) {
  llvm::Function*& known = copies_[stored(type)];
  if (!known)
    known = filler(pointer(), [&](llvm::IRBuilder<>& b, Value& from) { return loadFrom(b, stored(type), &from); });
  return known;
}

llvm::Function* VectorOperations::splat(Type* type) {
  llvm::Function*& known = splats_[type];
  if (!known)
    known = filler(passed(type->getScalarType()),
                   [&](llvm::IRBuilder<>& b, Value& scalar) { return received(b, scalar, Way::Splat, type); });
  return known;
}

llvm::Function* VectorOperations::constant(llvm::Constant& value) {
  llvm::Function*& known = constants_[&value];
  if (!known) known = filler(nullptr, [&](llvm::IRBuilder<>&, Value&) { return &value; });
  return known;
}

Type* VectorOperations::pointer() { return llvm::PointerType::getUnqual(module_.getContext()); }

llvm::Function* VectorOperations::begin(Type* result, llvm::ArrayRef<Type*> parameters) {
  auto* const f = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                         llvm::GlobalValue::InternalLinkage, "vg_operation", module_);
  f->copyAttributesFrom(&user_);
  f->setDSOLocal(true);  // as nothing outside calls it
  f->addFnAttr(llvm::Attribute::NoInline);
  llvm::BasicBlock::Create(module_.getContext(), "entry", f);
  return f;
}

llvm::Function* VectorOperations::filler(Type* source, llvm::function_ref<Value*(llvm::IRBuilder<>&, Value&)> what) {
  llvm::SmallVector<Type*, 2> parameters{pointer()};
  if (source) parameters.push_back(source);
  llvm::Function* const f = begin(Type::getVoidTy(module_.getContext()), parameters);
  llvm::IRBuilder<> b(&f->front());
  storeTo(b, what(b, *f->getArg(source ? 1 : 0)), f->getArg(0));
  b.CreateRetVoid();
  return f;
}

llvm::Function* VectorOperations::declare(const Instruction& i) {
  llvm::SmallVector<Type*, 6> parameters;
  if (isVector(i)) parameters.push_back(pointer());
  for (unsigned n = 0; n < operandsOf(i); ++n) {
    const Way way = wayOf(i, n);
    if (way == Way::Memory) parameters.push_back(pointer());
    if (way == Way::Splat || way == Way::Scalar)
      parameters.push_back(passed(i.getOperand(n)->getType()->getScalarType()));
  }
  return begin(isVector(i) ? Type::getVoidTy(module_.getContext()) : passed(i.getType()), parameters);
}

llvm::Function* VectorOperations::make(const Instruction& i) {
  llvm::Function* const f = declare(i);
  llvm::IRBuilder<> b(&f->front());
  Instruction* const made = i.clone();
  made->dropUnknownNonDebugMetadata();
  made->setDebugLoc(llvm::DebugLoc());
  unsigned at = isVector(i);
  for (unsigned n = 0; n < operandsOf(i); ++n)
    if (const Way way = wayOf(i, n); way != Way::Fixed)
      made->setOperand(n, received(b, *f->getArg(at++), way, i.getOperand(n)->getType()));
  b.Insert(made);
  if (isVector(i)) {
    storeTo(b, made, f->getArg(0));
    b.CreateRetVoid();
  } else {
    b.CreateRet(b.CreateZExt(made, f->getReturnType()));
  }
  return f;
}

}  // namespace vg::ptx::gen
