#include "ptx/llvm/passes/hoped_rows.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <optional>
#include <string>
#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::Constant;
using llvm::ConstantInt;
using llvm::Instruction;
using llvm::Value;
namespace match = llvm::PatternMatch;

constexpr const char *kTest = "vg_row_test", *kStart = "vg_row_start";
constexpr int kDeep = 12;  // operations from an address to what it is made of
constexpr size_t kMostConditions = 4;

// Of a vector: lane n holds start + n * stride wherever all conditions of lanes hold, if `always` hold too.
struct Hope {
  Value* start;
  int64_t stride;
  llvm::SmallVector<Value*, 4> lanes, always;
};

std::optional<Hope> merged(const Hope& left, const Hope& right, Value* start, int64_t stride) {
  Hope sum{start, stride, left.lanes, left.always};
  llvm::append_range(sum.lanes, right.lanes);
  llvm::append_range(sum.always, right.always);
  if (sum.lanes.size() + sum.always.size() > kMostConditions) return std::nullopt;
  return sum;
}

unsigned lanesOf(const Value* vector) { return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements(); }

std::optional<Hope> ofConstant(const Constant& vector) {
  std::vector<int64_t> numbers;
  for (unsigned n = 0; n < lanesOf(&vector); ++n) {
    const auto* const number = llvm::dyn_cast_or_null<ConstantInt>(vector.getAggregateElement(n));
    if (!number || number->getBitWidth() > 64) return std::nullopt;
    numbers.push_back(number->getSExtValue());
  }
  const auto step = [&](size_t n) { return static_cast<uint64_t>(numbers[n]) - static_cast<uint64_t>(numbers[n - 1]); };
  for (size_t n = 2; n < numbers.size(); ++n)
    if (step(n) != step(1)) return std::nullopt;
  return Hope{vector.getAggregateElement(0u), static_cast<int64_t>(step(1)), {}, {}};
}

std::optional<Hope> hopeOf(Value* vector, int depth);

// Of a choice between two of which one is in steps and the other, as a rule, is the same in all lanes.
std::optional<Hope> ofChoice(Instruction& i, Value* left, Value* right, Value* takesLeft, int depth) {
  const auto a = hopeOf(left, depth), b = hopeOf(right, depth);
  const bool isLeft = a && a->stride != 0, isRight = b && b->stride != 0;
  if (isLeft == isRight) return std::nullopt;
  Hope taken = isLeft ? *a : *b;
  llvm::IRBuilder<> at(&i);
  taken.lanes.push_back(isLeft ? takesLeft : at.CreateNot(takesLeft));
  if (taken.lanes.size() + taken.always.size() > kMostConditions) return std::nullopt;
  return taken;
}

std::optional<Hope> ofExtreme(llvm::MinMaxIntrinsic& i, int depth) {
  llvm::IRBuilder<> at(&i);
  const auto predicate = llvm::CmpInst::getNonStrictPredicate(i.getPredicate());
  return ofChoice(i, i.getLHS(), i.getRHS(), at.CreateICmp(predicate, i.getLHS(), i.getRHS()), depth);
}

// Of which products and distances between lanes fit 64 bits.
bool isSmall(int64_t number) { return number >= -INT32_MAX && number <= INT32_MAX; }

// Widened: right where no lane between the first and the last wraps around.
std::optional<Hope> ofWidened(llvm::CastInst& i, int depth) {
  auto hope = hopeOf(i.getOperand(0), depth);
  if (!hope) return std::nullopt;
  llvm::IRBuilder<> at(&i);
  const unsigned bits = i.getOperand(0)->getType()->getScalarSizeInBits();
  const bool isSigned = llvm::isa<llvm::SExtInst>(i);
  if (!isSmall(hope->stride)) return std::nullopt;
  const int64_t far = hope->stride * (lanesOf(&i) - 1);
  if (far < 0 || (bits < 64 && far >> (bits - 1))) return std::nullopt;
  if (far) {
    const llvm::APInt last = isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    Value* const limit = ConstantInt::get(hope->start->getType(), last - static_cast<uint64_t>(far));
    hope->always.push_back(isSigned ? at.CreateICmpSLE(hope->start, limit) : at.CreateICmpULE(hope->start, limit));
  }
  hope->start = at.CreateCast(i.getOpcode(), hope->start, i.getType()->getScalarType());
  return hope;
}

std::optional<Hope> ofProduct(Instruction& i, const Hope& left, const Hope& right) {
  const auto* const factor = llvm::dyn_cast<ConstantInt>(right.start);
  if (right.stride || (left.stride && !factor)) return std::nullopt;
  llvm::IRBuilder<> at(&i);
  const auto times = factor ? factor->getSExtValue() : 0;
  if (left.stride && (!isSmall(left.stride) || !isSmall(times))) return std::nullopt;
  return merged(left, right, at.CreateMul(left.start, right.start), left.stride * times);
}

std::optional<Hope> ofArithmetic(llvm::BinaryOperator& i, int depth) {
  const auto opcode = i.getOpcode();
  if (opcode != Instruction::Add && opcode != Instruction::Sub && opcode != Instruction::Mul &&
      opcode != Instruction::Shl)
    return std::nullopt;
  const auto left = hopeOf(i.getOperand(0), depth);
  const auto right = left ? hopeOf(i.getOperand(1), depth) : std::nullopt;
  if (!right) return std::nullopt;
  llvm::IRBuilder<> at(&i);
  const auto stride = [&](uint64_t a, uint64_t b) { return static_cast<int64_t>(a + b); };
  switch (opcode) {
    case Instruction::Add:
      return merged(*left, *right, at.CreateAdd(left->start, right->start), stride(left->stride, right->stride));
    case Instruction::Sub:
      return merged(*left, *right, at.CreateSub(left->start, right->start),
                    stride(left->stride, -static_cast<uint64_t>(right->stride)));
    case Instruction::Mul:
      return right->stride ? ofProduct(i, *right, *left) : ofProduct(i, *left, *right);
    default: {
      const auto* const by = llvm::dyn_cast<ConstantInt>(right->start);
      if (right->stride || !by || by->getValue().ugt(16) || !isSmall(left->stride)) return std::nullopt;
      return merged(*left, *right, at.CreateShl(left->start, right->start), left->stride << by->getZExtValue());
    }
  }
}

std::optional<Hope> hopeOf(Value* vector, int depth) {
  if (const auto* const constant = llvm::dyn_cast<Constant>(vector)) return ofConstant(*constant);
  auto* const i = llvm::dyn_cast<Instruction>(vector);
  if (!i || depth == kDeep) return std::nullopt;
  Value *same = nullptr, *left = nullptr, *right = nullptr, *condition = nullptr;
  if (match::match(i, match::m_Shuffle(match::m_InsertElt(match::m_Value(), match::m_Value(same), match::m_ZeroInt()),
                                       match::m_Value(), match::m_ZeroMask())))
    return Hope{same, 0, {}, {}};
  if (auto* const extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(i)) return ofExtreme(*extreme, depth + 1);
  if (match::match(i, match::m_Select(match::m_Value(condition), match::m_Value(left), match::m_Value(right))))
    return condition->getType()->isVectorTy() ? ofChoice(*i, left, right, condition, depth + 1) : std::nullopt;
  if (llvm::isa<llvm::SExtInst, llvm::ZExtInst>(i)) return ofWidened(llvm::cast<llvm::CastInst>(*i), depth + 1);
  auto* const arithmetic = llvm::dyn_cast<llvm::BinaryOperator>(i);
  return arithmetic ? ofArithmetic(*arithmetic, depth + 1) : std::nullopt;
}

llvm::CallInst* mark(llvm::IRBuilderBase& b, llvm::Module& module, const std::string& name,
                     llvm::ArrayRef<Value*> operands) {
  llvm::SmallVector<llvm::Type*, 16> types;
  for (const Value* operand : operands) types.push_back(operand->getType());
  auto callee =
      module.getOrInsertFunction(name, llvm::FunctionType::get(operands[0]->getType(), types, /*isVarArg=*/false));
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return b.CreateCall(callee, operands);
}

// A test and what belongs to it.
class Settled {
 public:
  Settled(llvm::CallInst& test, bool looks) : test_(test), otherwise_(test.getArgOperand(0)) {
    stride_ = llvm::cast<ConstantInt>(test.getArgOperand(1))->getSExtValue();
    rows_ = static_cast<size_t>(llvm::cast<ConstantInt>(test.getArgOperand(2))->getZExtValue());
    for (Value* operand : llvm::drop_begin(test.args(), 3))
      (operand->getType()->getScalarSizeInBits() == 1 ? masks_ : chunks_).push_back(operand);
    if (looks && chunks_.size() % rows_ == 0) result_ = look();
  }

  void settle() {
    for (llvm::User* const user : llvm::make_early_inc_range(test_.users())) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || !call->getCalledFunction() || !call->getCalledFunction()->getName().starts_with(kStart)) continue;
      const auto row = llvm::cast<ConstantInt>(call->getArgOperand(2))->getZExtValue();
      call->replaceAllUsesWith(result_ ? starts_[row] : call->getArgOperand(0));
      call->eraseFromParent();
    }
    test_.replaceAllUsesWith(result_ ? result_ : otherwise_);
    test_.eraseFromParent();
  }

 private:
  // Null where the operations do not say.
  Value* look() {
    llvm::IRBuilder<> b(&test_);
    const size_t together = chunks_.size() / rows_;
    Value *outside = nullptr, *all = b.getTrue();
    for (size_t c = 0; c < chunks_.size(); ++c) {
      const auto hope = hopeOf(chunks_[c], 0);
      if (!hope || hope->stride != stride_) return nullptr;
      if (c % together == 0)
        starts_.push_back(hope->start);
      else
        all = b.CreateAnd(all, b.CreateICmpEQ(hope->start, placeAfter(b, c % together)));
      for (Value* condition : hope->always) all = b.CreateAnd(all, condition);
      for (Value* condition : hope->lanes) {
        Value* const not_ = b.CreateNot(condition);
        Value* const there = masks_.empty() ? not_ : b.CreateAnd(masks_[c], not_);
        outside = outside ? b.CreateOr(outside, there) : there;
      }
    }
    if (!outside) return all;
    llvm::Type* const bits = b.getIntNTy(lanesOf(outside));
    Value* const some = b.CreateFreeze(b.CreateBitCast(outside, bits));
    return b.CreateAnd(all, b.CreateICmpEQ(some, Constant::getNullValue(bits)));
  }

  // Where the n-th vector of the last row begins.
  Value* placeAfter(llvm::IRBuilder<>& b, size_t n) {
    Value* const first = starts_.back();
    const uint64_t distance = static_cast<uint64_t>(stride_) * lanesOf(chunks_[0]) * n;
    return b.CreateAdd(first, ConstantInt::get(first->getType(), distance));
  }

  llvm::CallInst& test_;
  Value* const otherwise_;
  Value* result_ = nullptr;
  int64_t stride_;
  size_t rows_;
  llvm::SmallVector<Value*, 8> chunks_, masks_, starts_;
};

}  // namespace

llvm::Value* hopedTest(llvm::IRBuilderBase& b, llvm::Module& module, const HopedRow& row, Value* otherwise) {
  llvm::SmallVector<Value*, 16> operands{otherwise, b.getInt64(static_cast<uint64_t>(row.stride)),
                                         b.getInt32(row.rows)};
  llvm::append_range(operands, row.chunks);
  llvm::append_range(operands, row.masks);
  const std::string kind = std::to_string(row.chunks[0]->getType()->getScalarSizeInBits()) + "_" +
                           std::to_string(row.chunks.size()) + "_" + std::to_string(row.masks.size());
  return mark(b, module, kTest + kind, operands);
}

llvm::Value* hopedStart(llvm::IRBuilderBase& b, llvm::Module& module, Value* test, uint32_t row, Value* otherwise) {
  const std::string kind = std::to_string(otherwise->getType()->getIntegerBitWidth());
  return mark(b, module, kStart + kind, {otherwise, test, b.getInt32(row)});
}

void settleHopedRows(llvm::Function& function, bool looks) {
  std::vector<llvm::CallInst*> tests;
  for (Instruction& i : llvm::instructions(function))
    if (auto* const call = llvm::dyn_cast<llvm::CallInst>(&i))
      if (call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(kTest)) tests.push_back(call);
  for (llvm::CallInst* const test : tests) Settled(*test, looks).settle();
}

}  // namespace vg::ptx::gen
