#include "ptx/llvm/compute/move.h"

#include "ptx/abi/cancelled_cluster.h"
#include "ptx/llvm/analysis/short_addresses.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;

// clusterlaunchcontrol.query_cancel
void Moves::queryCancelled(const Instruction& i, Value* answer, llvm::SmallVectorImpl<Value*>& r) {
  Value* const bits = b_.asInteger(answer, 128);
  const auto word = [&](uint32_t first) {
    return b_.asInteger(b_.CreateLShr(bits, llvm::ConstantInt::get(bits->getType(), first)), 32);
  };
  if (i.ast->has(Mod::IsCanceled)) {
    Value* const set = word(kWasCancelled);
    r.push_back(b_.CreateICmpNE(set, llvm::Constant::getNullValue(set->getType())));
  } else if (i.ast->has(Mod::GetFirstCtaidY)) {
    r.push_back(word(kFirstBlockY));
  } else if (i.ast->has(Mod::GetFirstCtaidZ)) {
    r.push_back(word(kFirstBlockZ));
  } else {
    for (uint32_t n = 0; n < i.results.size(); ++n) r.push_back(word(kFirstBlockX + 32 * n));
  }
}

bool Moves::computeCluster(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  if (ast.op == Op::Clusterlaunchcontrol) {
    queryCancelled(i, s[0], r);
    return true;
  }
  if (ast.op != Op::Mapa && ast.op != Op::Getctarank) return false;
  Value* const given = b_.asInteger(s[0], 64);
  const auto n64 = [&](uint64_t bits) { return b_.number(given, b_.getInt64Ty(), bits); };
  Value* const address = b_.CreateAdd(given, n64(static_cast<uint64_t>(i.offsets[0])));
  // Generic addresses are the host's, others count from the cluster's memory.
  Value* base = n64(0);
  if (ast.space == Space::None)
    base = b_.splatLike(given, runner_.blockField(offsetof(BlockState, clusterShared), b_.getInt64Ty()));
  Value* const place = b_.CreateSub(address, base);
  if (ast.op == Op::Getctarank) {
    r.push_back(b_.asInteger(b_.CreateLShr(place, n64(kSharedStrideBits)), 32));
    return true;
  }
  Value* const rank = b_.CreateShl(b_.asInteger(b_.asInteger(s[1], 32), 64), n64(kSharedStrideBits));
  Value* const within = b_.CreateAnd(place, n64(kSharedStride - 1));
  r.push_back(b_.asInteger(b_.CreateAdd(base, b_.CreateAdd(rank, within)), ptx::bitsOf(ast.type())));
  return true;
}

// A whole, its parts taken apart, or parts put together.
void Moves::move(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  if (i.results.size() > 1 && s.size() == 1) {
    const uint32_t part = bits / static_cast<uint32_t>(i.results.size());
    for (size_t n = 0; n < i.results.size(); ++n) {
      Value* const v = b_.asInteger(s[0], bits);
      r.push_back(b_.asInteger(b_.CreateLShr(v, b_.number(v, b_.integerType(bits), n * part)), part));
    }
  } else if (i.results.size() == 1 && s.size() > 1) {
    const uint32_t part = bits / static_cast<uint32_t>(s.size());
    Value* out = nullptr;
    for (size_t n = 0; n < s.size(); ++n) {
      Value* const v = b_.asInteger(b_.asInteger(s[n], part), bits);
      Value* const placed = n == 0 ? v : b_.CreateShl(v, b_.number(v, b_.integerType(bits), n * part));
      out = out ? b_.CreateOr(out, placed) : placed;
    }
    r.push_back(out);
  } else {
    for (size_t n = 0; n < s.size(); ++n) r.push_back(bits == 128 ? s[n] : b_.asType(s[n], type));
  }
}

// An address in the memory of a space, all of which is near it; null where the kernel has none.
llvm::Value* Moves::somewhereIn(Space space) {
  if (space == Space::Param) return runner_.launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty());
  if (space == Space::Local) {
    if (runner_.localArea) return b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty());
    return emission_.traits.allocates ? runner_.laneStacks() : nullptr;
  }
  for (const uint32_t n : program_.references.globals)
    if (space == Space::Const && program_.module->variables[n].space == space) return runner_.globalAddress(n);
  return nullptr;
}

// cvta
llvm::Value* Moves::convertAddress(const Instruction& i, Value* address) {
  const ptx::Instruction& ast = *i.ast;
  Value* v = b_.asInteger(address, 64);
  if (ast.space == Space::Shared || ast.space == Space::SharedCluster) {
    Value* const base = b_.splatLike(v, runner_.sharedBase());
    v = ast.has(Mod::To) ? b_.CreateSub(v, base) : b_.CreateAdd(v, base);
  } else if (!ast.has(Mod::To) && isShortAddress(program_, i.sources[0])) {
    if (Value* const base = somewhereIn(ast.space)) v = addressBeside(b_, b_.splatLike(v, base), v);
  }
  return b_.asInteger(v, ptx::bitsOf(ast.type()));
}

llvm::Value* Moves::isInside(Value* address, Value* base, Value* size) {
  return b_.CreateICmpULT(b_.CreateSub(address, b_.splatLike(address, base)), b_.splatLike(address, size));
}

llvm::Value* Moves::isShared(Value* address) {
  Value* const limit =
      b_.CreateZExt(runner_.blockField(offsetof(BlockState, sharedLimit), b_.getInt32Ty()), b_.getInt64Ty());
  return isInside(address, runner_.ownShared(), limit);
}

llvm::Value* Moves::isLocal(Value* address) {
  Value* local = llvm::ConstantInt::getFalse(b_.like(address, b_.getInt1Ty()));
  if (runner_.localArea)
    local = isInside(address, b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty()),
                     b_.getInt64(uint64_t{program_.localStride()} * kWarpSize));
  if (emission_.traits.allocates)
    local = b_.CreateOr(local, isInside(address, runner_.laneStacks(),
                                        b_.CreateMul(runner_.laneStackStride(), b_.getInt64(kWarpSize))));
  return local;
}

llvm::Value* Moves::isParameter(Value* address) {
  const auto& parameters = program_.parameters;
  const uint64_t end = parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  return isInside(address, runner_.launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty()), b_.getInt64(end));
}

llvm::Value* Moves::isConstant(Value* address) {
  Value* any = llvm::ConstantInt::getFalse(b_.like(address, b_.getInt1Ty()));
  for (const uint32_t n : program_.references.globals) {
    const Variable& variable = program_.module->variables[n];
    if (variable.space == Space::Const)
      any = b_.CreateOr(any, isInside(address, runner_.globalAddress(n), b_.getInt64(variable.size)));
  }
  return any;
}

// isspacep
llvm::Value* Moves::isIn(const Instruction& i, Value* generic) {
  Value* const address = b_.asInteger(generic, 64);
  Value* const shared = isShared(address);
  Value* const local = isLocal(address);  // LLVM drops what nobody asks about
  switch (i.ast->space) {
    case Space::Shared:
      return shared;
    case Space::Const:
      return isConstant(address);
    case Space::SharedCluster:
      return isInside(address, runner_.blockField(offsetof(BlockState, clusterShared), b_.getInt64Ty()),
                      b_.CreateShl(b_.CreateZExt(runner_.clusterBlocks(), b_.getInt64Ty()), kSharedStrideBits));
    case Space::Local:
      return local;
    case Space::Global: {
      Value *const constant = isConstant(address), *const parameter = isParameter(address);
      Value* const ofLaunch = b_.CreateOr(parameter, constant);
      return b_.CreateNot(b_.CreateOr(b_.CreateOr(shared, local), ofLaunch));
    }
    case Space::Param:
      return isParameter(address);
    default:
      unsupported(i, "state space");
  }
}

// The sign that slct asks about: that of an integer or a float.
llvm::Value* Moves::isPositive(const ptx::Instruction& ast, Value* v) {
  if (ast.typeCount < 2 || ast.types[1] != Type::F32) {
    Value* const x = b_.asInteger(v, 32);
    return b_.CreateICmpSGE(x, llvm::Constant::getNullValue(x->getType()));
  }
  Value* x = b_.asType(v, Type::F32);
  if (ast.has(Mod::Ftz)) x = pieces_.flush(x);
  return b_.CreateFCmpOGE(x, b_.real(x, b_.getFloatTy(), 0));
}

bool Moves::computeMove(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const Type type = i.ast->type();
  switch (i.ast->op) {
    case Op::Mov:
      move(i, s, r);
      return true;
    case Op::Cvta:
      r.push_back(convertAddress(i, s[0]));
      return true;
    case Op::Isspacep:
      r.push_back(isIn(i, s[0]));
      return true;
    case Op::Selp: {
      Value* const p = b_.asType(s[2], Type::Pred);
      r.push_back(b_.CreateSelect(p, b_.asType(s[0], type), b_.asType(s[1], type)));
      return true;
    }
    case Op::Slct: {
      Value* const positive = isPositive(*i.ast, s[2]);
      r.push_back(b_.CreateSelect(positive, b_.asType(s[0], type), b_.asType(s[1], type)));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen
