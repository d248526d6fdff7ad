#include "ptx/llvm/emit/specials.h"

#include "ptx/facts/reserved_shared.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

llvm::Value* Specials::special(Special s) {
  const auto launchWord = [&](size_t offset, uint32_t n = 0) {
    return runner_.launchField(offset + 4 * n, b_.getInt32Ty());
  };
  const auto word = [&](uint32_t n) { return b_.getInt32(n); };
  switch (s) {
    case Special::NtidX:
      if (options_.wholeRows) return word(rowLanes_);
      [[fallthrough]];
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
      return runner_.blockIndex(static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::CtaidX));
    case Special::WarpId:
      return runner_.warp;
    case Special::NWarpId:
      return launchWord(offsetof(KernelLaunch, warpsPerBlock));
    case Special::SmId:
      return runner_.blockField(offsetof(BlockState, worker), b_.getInt32Ty());
    case Special::NSmId:
      return launchWord(offsetof(KernelLaunch, workers));
    case Special::GridId:
      return runner_.launchField(offsetof(KernelLaunch, gridId), b_.getInt64Ty());
    case Special::CurrentGraphExec:
      return runner_.launchField(offsetof(KernelLaunch, graphExec), b_.getInt64Ty());
    case Special::DynamicSmemSize:
      return launchWord(offsetof(KernelLaunch, dynamicShared));
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return b_.CreateSub(b_.CreateAdd(launchWord(offsetof(KernelLaunch, dynamicShared)),
                                       launchWord(offsetof(KernelLaunch, staticShared))),
                          word(program_.shared.reserved));
    case Special::ReservedSmemOffsetCap:
      return word(kReservedShared);
    case Special::ReservedSmemOffsetBegin:
    case Special::ReservedSmemOffsetEnd:
    case Special::ReservedSmemOffset0:
    case Special::ReservedSmemOffset1:
      return b_.CreateAdd(word(*reservedShared(s)),
                          runner_.blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty()));
    case Special::Clock:
    case Special::ClockHi:
    case Special::Clock64: {
      Value* const now = runner_.runtimeCall(offsetof(RuntimeCalls, clock), b_.getInt64Ty(), {runner_.block});
      if (s == Special::Clock64) return now;
      return b_.CreateTrunc(s == Special::Clock ? now : b_.CreateLShr(now, 32), b_.getInt32Ty());
    }
    case Special::GlobalTimer:
    case Special::GlobalTimerLo:
    case Special::GlobalTimerHi: {
      Value* const now = runner_.runtimeCall(offsetof(RuntimeCalls, globalTimer), b_.getInt64Ty(), {runner_.block});
      if (s == Special::GlobalTimer) return now;
      return b_.CreateTrunc(s == Special::GlobalTimerLo ? now : b_.CreateLShr(now, 32), b_.getInt32Ty());
    }
    default:
      break;
  }
  if (s >= Special::Envreg0 && s <= Special::EnvregLast) {
    const uint32_t n = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::Envreg0);
    if (n != 1 && n != 2) return word(0);
    Value* const workspace = runner_.launchField(offsetof(KernelLaunch, cooperativeWorkspace), b_.getInt64Ty());
    return b_.CreateTrunc(n == 1 ? b_.CreateLShr(workspace, 32) : workspace, b_.getInt32Ty());
  }
  if (s >= Special::Pm0 && s <= Special::PmLast) return word(0);
  if (s >= Special::IsExplicitCluster && s <= Special::ClusterNctarank) return clusterSpecial(s);
  throw Unsupported{"special register " + std::to_string(static_cast<int>(s)),
                    emission_.present ? emission_.present->ast->line : 0};
}

// The thread's index along an axis for W lanes, from the linear index: for blocks whose rows are not whole warps.
llvm::Value* Specials::threadIndex(uint32_t axis, uint32_t chunk) {
  Value*& cached = threadIndices_[axis * 8 + chunk];
  if (cached) return cached;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(runner_.warpPoint);
  LType* const wordType = b_.getInt32Ty();
  Value* const linear =
      b_.CreateAdd(b_.CreateVectorSplat(w_, b_.CreateShl(runner_.warp, 5)), b_.iota(chunk, wordType, 1));
  // Exact for dividends below 2^16: the quotient is at least 1/(2n) away from the next integer.
  const auto divide = [&](Value* a, size_t dimension) {
    Value* const n = runner_.launchField(offsetof(KernelLaunch, blockSize) + 4 * dimension, wordType);
    Value* const reciprocal =
        b_.CreateFDiv(llvm::ConstantFP::get(b_.getFloatTy(), 1.0), b_.CreateUIToFP(n, b_.getFloatTy()));
    Value* const middle = b_.CreateFAdd(b_.CreateSIToFP(a, b_.vectorOf(b_.getFloatTy())),
                                        llvm::ConstantFP::get(b_.vectorOf(b_.getFloatTy()), 0.5));
    Value* const q =
        b_.CreateFPToSI(b_.CreateFMul(middle, b_.CreateVectorSplat(w_, reciprocal)), b_.vectorOf(wordType));
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

Form Specials::specialForm(const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  const Special s = v.special;
  LType* const word = b_.getInt32Ty();
  if (s == Special::TidX || s == Special::TidY || s == Special::TidZ) {
    const uint32_t axis = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::TidX);
    if (options_.rowsOf32) {
      form.scalar = laneThread[axis];
    } else if (rows_) {
      const auto firstOf = [&](uint32_t r) {
        if (!options_.wholeRows) return partThread[r][axis];
        return axis == 1 ? b_.CreateAdd(laneThread[1], b_.getInt32(r)) : laneThread[axis];
      };
      const bool repeats = options_.wholeRows && axis == 0;
      if (repeats) form.rows.push_back(b_.getInt32(0));
      for (uint32_t r = 0; !repeats && r < rows_; ++r) form.rows.push_back(firstOf(r));
    } else if (options_.line) {
      form.scalar = axis == 0 ? b_.CreateShl(runner_.warp, 5) : b_.getInt32(0);
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
    b_.SetInsertPoint(s == Special::WarpId ? runner_.warpPoint
                                           : runner_.blockPoint);  // LLVM moves further out what it can
    cached = special(s);
  }
  form.scalar = cached;
  return form;
}

Form Specials::symbolForm(const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  const auto plus = [&](Value* base) { return b_.CreateAdd(base, b_.getInt64(static_cast<uint64_t>(v.offset))); };
  const auto shared = [&](bool moduleScope, const Variable& variable) -> Value* {
    Value* at = b_.getInt64(program_.shared.offsetOf(moduleScope, v.function, v.symbol));
    if (variable.unsizedArray)
      at = b_.CreateZExt(runner_.launchField(offsetof(KernelLaunch, dynamicSharedOffset), b_.getInt32Ty()),
                         b_.getInt64Ty());
    if (!program_.references.clusterAddresses) return at;
    Value* const own = runner_.blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty());
    return b_.CreateAdd(at, b_.CreateZExt(own, b_.getInt64Ty()));
  };
  switch (v.symbolKind) {
    case SymbolKind::ModuleVariable: {
      const Variable& variable = program_.module->variables[v.symbol];
      if (variable.space == Space::Shared) {
        form.scalar = plus(shared(true, variable));
        return form;
      }
      form.scalar = plus(runner_.globalAddress(v.symbol));
      return form;
    }
    case SymbolKind::FunctionVariable: {
      const Variable& variable = program_.module->functions[v.function].variables[v.symbol];
      if (variable.space == Space::Shared) {
        form.scalar = plus(shared(false, variable));
        return form;
      }
      const uint32_t offset = program_.locals.at({v.function, v.symbol});
      form.scalar = plus(b_.CreateAdd(b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty()), b_.getInt64(offset)));
      return form;
    }
    case SymbolKind::Parameter:
      form.scalar = plus(b_.CreateAdd(runner_.launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty()),
                                      b_.getInt64(program_.parameters[v.symbol].offset)));
      return form;
    default:
      throw Unsupported{"address of this symbol", 0};
  }
}

llvm::Value* Specials::constantValue(const PtxValue& v) {
  return llvm::ConstantInt::get(b_.elementType(v.type == Class::Pred ? Class::Pred : Class::I64), v.bits);
}

llvm::Value* Specials::clusterSpecial(Special s) {
  const auto word = [&](size_t offset, Special first) {
    return runner_.launchField(offset + 4 * (static_cast<uint32_t>(s) - static_cast<uint32_t>(first)), b_.getInt32Ty());
  };
  const auto blockIndex = [&](Special first) {
    return runner_.blockIndex(static_cast<uint32_t>(s) - static_cast<uint32_t>(first));
  };
  constexpr size_t kSize = offsetof(KernelLaunch, clusterSize), kGrid = offsetof(KernelLaunch, gridSize);
  switch (s) {
    case Special::ClusterCtarank:
      return runner_.blockField(offsetof(BlockState, clusterRank), b_.getInt32Ty());
    case Special::ClusterNctarank:
      return runner_.clusterBlocks();
    case Special::IsExplicitCluster:
      return b_.CreateAnd(runner_.launchField(offsetof(KernelLaunch, flags), b_.getInt32Ty()), kExplicitCluster);
    case Special::ClusteridX:
    case Special::ClusteridY:
    case Special::ClusteridZ:
      return b_.CreateUDiv(blockIndex(Special::ClusteridX), word(kSize, Special::ClusteridX));
    case Special::NclusteridX:
    case Special::NclusteridY:
    case Special::NclusteridZ:
      return b_.CreateUDiv(word(kGrid, Special::NclusteridX), word(kSize, Special::NclusteridX));
    case Special::ClusterCtaidX:
    case Special::ClusterCtaidY:
    case Special::ClusterCtaidZ:
      return b_.CreateURem(blockIndex(Special::ClusterCtaidX), word(kSize, Special::ClusterCtaidX));
    default:
      return word(kSize, Special::ClusterNctaidX);
  }
}

}  // namespace vg::ptx::gen
