#include "ptx/llvm/opcodes/reduction.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

uint64_t neutralOf(const ptx::Instruction& ast) {
  const uint32_t bits = ptx::bitsOf(ast.type());
  const bool s = isSigned(ast.type());
  if (ast.has(Mod::And)) return ~uint64_t{0} >> (64 - bits);
  if (ast.has(Mod::Min)) return ~uint64_t{0} >> (s ? 65 - bits : 64 - bits);
  if (ast.has(Mod::Max)) return s ? uint64_t{1} << (bits - 1) : 0;
  return 0;
}

llvm::Value* reduced(Builder& b, const ptx::Instruction& ast, llvm::Value* x, llvm::Value* y) {
  const bool s = isSigned(ast.type());
  if (ast.has(Mod::Add)) return b.CreateAdd(x, y);
  if (ast.has(Mod::And)) return b.CreateAnd(x, y);
  if (ast.has(Mod::Or)) return b.CreateOr(x, y);
  if (ast.has(Mod::Xor)) return b.CreateXor(x, y);
  if (ast.has(Mod::Min)) return b.intrinsic(s ? Intrinsic::smin : Intrinsic::umin, {x, y});
  return b.intrinsic(s ? Intrinsic::smax : Intrinsic::umax, {x, y});
}

llvm::Value* reduced(Builder& b, const ptx::Instruction& ast, llvm::Value* vector) {
  const bool s = isSigned(ast.type());
  const Intrinsic::ID id = ast.has(Mod::Add)   ? Intrinsic::vector_reduce_add
                           : ast.has(Mod::And) ? Intrinsic::vector_reduce_and
                           : ast.has(Mod::Or)  ? Intrinsic::vector_reduce_or
                           : ast.has(Mod::Xor) ? Intrinsic::vector_reduce_xor
                           : ast.has(Mod::Min) ? (s ? Intrinsic::vector_reduce_smin : Intrinsic::vector_reduce_umin)
                                               : (s ? Intrinsic::vector_reduce_smax : Intrinsic::vector_reduce_umax);
  return b.intrinsic(id, {vector});
}

llvm::Value* reducedAlike(Builder& b, const ptx::Instruction& ast, llvm::Value* value, llvm::Value* lanes) {
  llvm::Type* const type = value->getType();
  if (!ast.has(Mod::Add) && !ast.has(Mod::Xor))
    return b.CreateSelect(b.CreateIsNotNull(lanes), value, llvm::ConstantInt::get(type, neutralOf(ast)));
  llvm::Value* const count = b.CreateUnaryIntrinsic(Intrinsic::ctpop, lanes);
  if (ast.has(Mod::Add)) return b.CreateMul(value, b.CreateZExtOrTrunc(count, type));
  return b.CreateSelect(b.CreateTrunc(count, b.getInt1Ty()), value, llvm::ConstantInt::get(type, 0));
}

}  // namespace vg::ptx::gen
