// Clusters: their special registers, and addresses of shared memory between their blocks.
#include "ptx/llvm/compute/move.h"

#include "ptx/facts/cancelled_cluster.h"
#include "ptx/llvm/analysis/short_addresses.h"
#include "ptx/llvm/ir/ptx_facts.h"

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

bool Moves::computeMove(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const auto in = [&](size_t n) { return b_.asInteger(s[n], bits); };
  const auto in32 = [&](size_t n) { return b_.asInteger(s[n], 32); };
  const auto zero = [&](Value* shape) { return llvm::Constant::getNullValue(shape->getType()); };
  switch (ast.op) {
    case Op::Mov: {
      if (i.results.size() > 1 && s.size() == 1) {  // unpack
        const uint32_t part = bits / static_cast<uint32_t>(i.results.size());
        for (size_t n = 0; n < i.results.size(); ++n) {
          Value* const v = in(0);
          r.push_back(b_.asInteger(b_.CreateLShr(v, b_.number(v, b_.integerType(bits), n * part)), part));
        }
        return true;
      }
      if (i.results.size() == 1 && s.size() > 1) {  // pack
        const uint32_t part = bits / static_cast<uint32_t>(s.size());
        Value* out = nullptr;
        for (size_t n = 0; n < s.size(); ++n) {
          Value* const v = b_.asInteger(b_.asInteger(s[n], part), bits);
          Value* const placed = n == 0 ? v : b_.CreateShl(v, b_.number(v, b_.integerType(bits), n * part));
          out = out ? b_.CreateOr(out, placed) : placed;
        }
        r.push_back(out);
        return true;
      }
      for (size_t n = 0; n < s.size(); ++n) r.push_back(bits == 128 ? s[n] : b_.asType(s[n], type));
      return true;
    }
    case Op::Cvta: {
      // An address in the memory of a space, all of which is near it; null where the kernel has none.
      const auto somewhereIn = [&](Space space) -> Value* {
        if (space == Space::Param) return runner_.launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty());
        if (space == Space::Local) {
          if (runner_.localArea) return b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty());
          return emission_.traits.allocates ? runner_.laneStacks() : nullptr;
        }
        for (const uint32_t n : program_.references.globals)
          if (space == Space::Const && program_.module->variables[n].space == space) return runner_.globalAddress(n);
        return nullptr;
      };
      Value* v = b_.asInteger(s[0], 64);
      if (ast.space == Space::Shared || ast.space == Space::SharedCluster) {
        Value* const base = b_.splatLike(v, runner_.sharedBase());
        v = ast.has(Mod::To) ? b_.CreateSub(v, base) : b_.CreateAdd(v, base);
      } else if (!ast.has(Mod::To) && isShortAddress(program_, i.sources[0])) {
        if (Value* const base = somewhereIn(ast.space)) v = addressBeside(b_, b_.splatLike(v, base), v);
      }
      r.push_back(b_.asInteger(v, bits));
      return true;
    }
    case Op::Isspacep: {
      Value* const v = b_.asInteger(s[0], 64);
      const auto inside = [&](Value* base, Value* size) {
        return b_.CreateICmpULT(b_.CreateSub(v, b_.splatLike(v, base)), b_.splatLike(v, size));
      };
      Value* const shared = inside(
          runner_.ownShared(),
          b_.CreateZExt(runner_.blockField(offsetof(BlockState, sharedLimit), b_.getInt32Ty()), b_.getInt64Ty()));
      Value* local = llvm::ConstantInt::getFalse(shared->getType());
      if (runner_.localArea)
        local = inside(b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty()),
                       b_.getInt64(uint64_t{localLaneStride(program_.localSize)} * kWarpSize));
      if (emission_.traits.allocates)
        local = b_.CreateOr(
            local, inside(runner_.laneStacks(), b_.CreateMul(runner_.laneStackStride(), b_.getInt64(kWarpSize))));
      const auto parameter = [&] {
        const uint64_t end =
            program_.parameters.empty() ? 0 : program_.parameters.back().offset + program_.parameters.back().size;
        return inside(runner_.launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty()), b_.getInt64(end));
      };
      const auto constant = [&] {
        Value* any = llvm::ConstantInt::getFalse(shared->getType());
        for (const uint32_t n : program_.references.globals) {
          const Variable& variable = program_.module->variables[n];
          if (variable.space == Space::Const)
            any = b_.CreateOr(any, inside(runner_.globalAddress(n), b_.getInt64(variable.size)));
        }
        return any;
      };
      switch (ast.space) {
        case Space::Shared:
          r.push_back(shared);
          break;
        case Space::Const:
          r.push_back(constant());
          break;
        case Space::SharedCluster:
          r.push_back(inside(runner_.blockField(offsetof(BlockState, clusterShared), b_.getInt64Ty()),
                             b_.CreateShl(b_.CreateZExt(runner_.clusterBlocks(), b_.getInt64Ty()), kSharedStrideBits)));
          break;
        case Space::Local:
          r.push_back(local);
          break;
        case Space::Global:
          r.push_back(b_.CreateNot(b_.CreateOr(b_.CreateOr(shared, local), b_.CreateOr(parameter(), constant()))));
          break;
        case Space::Param:
          r.push_back(parameter());
          break;
        default:
          unsupported(i, "state space");
      }
      return true;
    }
    case Op::Selp: {
      Value* const p = b_.asType(s[2], Type::Pred);
      r.push_back(b_.CreateSelect(p, b_.asType(s[0], type), b_.asType(s[1], type)));
      return true;
    }
    case Op::Slct: {
      Value* c;
      if (ast.typeCount > 1 && ast.types[1] == Type::F32) {
        Value* x = b_.asType(s[2], Type::F32);
        if (ast.has(Mod::Ftz)) x = pieces_.flush(x);
        c = b_.CreateFCmpOGE(x, b_.real(x, b_.getFloatTy(), 0));
      } else {
        Value* const x = in32(2);
        c = b_.CreateICmpSGE(x, zero(x));
      }
      r.push_back(b_.CreateSelect(c, b_.asType(s[0], type), b_.asType(s[1], type)));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen
