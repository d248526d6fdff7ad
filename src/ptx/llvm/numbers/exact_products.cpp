#include "ptx/llvm/numbers/exact_products.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace vg::ptx::gen {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

constexpr int kLargestPower = 512;  // times anything of a float it neither overflows a double nor becomes too small
constexpr unsigned kBitsOfInteger = 32;

// Whether all values that it may have are exact in far fewer bits than a double's, and far from its limits.
bool isNarrow(const Value* value) {
  const auto* const cast = llvm::dyn_cast<llvm::CastInst>(value);
  if (!cast) return false;
  const llvm::Type* const from = cast->getSrcTy()->getScalarType();
  switch (cast->getOpcode()) {
    case llvm::Instruction::FPExt:
      return true;
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return from->getIntegerBitWidth() <= kBitsOfInteger;
    default:
      return false;
  }
}

struct Product {
  llvm::BinaryOperator* operation;
  Value* value;   // that is narrow
  double factor;  // a power of two
};

std::optional<Product> productOf(llvm::Instruction& i) {
  auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(&i);
  if (!operation || !i.getType()->getScalarType()->isDoubleTy()) return std::nullopt;
  Value* value = nullptr;
  const llvm::APFloat* factor = nullptr;
  if (match::match(operation, match::m_FAdd(match::m_Value(value), match::m_Deferred(value))) && isNarrow(value))
    return Product{operation, value, 2.0};
  if (!match::match(operation, match::m_FMul(match::m_Value(value), match::m_APFloat(factor))) || !isNarrow(value))
    return std::nullopt;
  int power = 0;
  const double number = factor->convertToDouble();
  if (std::fabs(std::frexp(number, &power)) != 0.5 || std::abs(power) > kLargestPower) return std::nullopt;
  return Product{operation, value, number};
}

// Whether an operation adds the product to another value, or subtracts one from the other.
bool isSum(const Product& product, const llvm::User* user) {
  const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(user);
  return sum && (sum->getOpcode() == llvm::Instruction::FAdd || sum->getOpcode() == llvm::Instruction::FSub) &&
         sum->getOperand(0) != sum->getOperand(1) && sum->getType() == product.operation->getType();
}

void fuse(const Product& product, llvm::BinaryOperator& sum) {
  llvm::IRBuilder<> b(&sum);
  const bool isFirst = sum.getOperand(0) == product.operation;
  Value* other = sum.getOperand(isFirst ? 1 : 0);
  double factor = product.factor;
  if (sum.getOpcode() == llvm::Instruction::FSub) {
    if (isFirst)
      other = b.CreateFNeg(other);
    else
      factor = -factor;
  }
  Value* const fused = b.CreateIntrinsic(llvm::Intrinsic::fma, {sum.getType()},
                                         {product.value, llvm::ConstantFP::get(sum.getType(), factor), other});
  sum.replaceAllUsesWith(fused);
  sum.eraseFromParent();
}

}  // namespace

void fuseExactProducts(llvm::Function& function) {
  std::vector<Product> products;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (const auto product = productOf(i)) products.push_back(*product);
  for (const Product& product : products) {
    const std::vector<llvm::User*> users(product.operation->user_begin(), product.operation->user_end());
    if (!std::ranges::all_of(users, [&](const llvm::User* user) { return isSum(product, user); })) continue;
    for (llvm::User* const user : users) fuse(product, *llvm::cast<llvm::BinaryOperator>(user));
    product.operation->eraseFromParent();
  }
}

}  // namespace vg::ptx::gen
