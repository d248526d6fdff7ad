#include "ptx/llvm/emit/specials.h"

#include "ptx/facts/reserved_shared.h"
#include "ptx/text/special_registers.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

// A word of a field of the launch, of which there may be several.
llvm::Value* Specials::launchWord(size_t field, uint32_t n) {
  return runner_.launchField(field + 4 * n, b_.getInt32Ty());
}

llvm::Value* Specials::special(Special s) {
  if (isAmong(s, Special::NtidX, Special::NctaidZ)) return gridSpecial(s);
  if (isAmong(s, Special::WarpId, Special::GridId) || s == Special::CurrentGraphExec) return runSpecial(s);
  if (tellsTime(s)) return timeSpecial(s);
  if (isAmong(s, Special::DynamicSmemSize, Special::ReservedSmemOffset1)) return sharedSpecial(s);
  if (isAmong(s, Special::IsExplicitCluster, Special::ClusterNctarank)) return clusterSpecial(s);
  if (isAmong(s, Special::Envreg0, Special::EnvregLast)) return environmentSpecial(s);
  if (isAmong(s, Special::Pm0, Special::PmLast)) return b_.getInt32(0);
  throw Unsupported{"special register " + std::to_string(static_cast<int>(s)),
                    emission_.present ? emission_.present->ast->line : 0};
}

// Sizes of blocks and of the grid, and where in it the block is.
llvm::Value* Specials::gridSpecial(Special s) {
  if (s == Special::NtidX && options_.wholeRows) return b_.getInt32(rowLanes_);
  if (s <= Special::NtidZ) return launchWord(offsetof(KernelLaunch, blockSize), stepsFrom(Special::NtidX, s));
  if (s <= Special::CtaidZ) return runner_.blockIndex(stepsFrom(Special::CtaidX, s));
  return launchWord(offsetof(KernelLaunch, gridSize), stepsFrom(Special::NctaidX, s));
}

// Which warp, worker and launch runs.
llvm::Value* Specials::runSpecial(Special s) {
  switch (s) {
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
    default:
      return runner_.launchField(offsetof(KernelLaunch, graphExec), b_.getInt64Ty());
  }
}

llvm::Value* Specials::timeSpecial(Special s) {
  const size_t call = s <= Special::Clock64 ? offsetof(RuntimeCalls, clock) : offsetof(RuntimeCalls, globalTimer);
  Value* const now = runner_.runtimeCall(call, b_.getInt64Ty(), {runner_.block});
  if (s == Special::Clock64 || s == Special::GlobalTimer) return now;
  const bool upper = s == Special::ClockHi || s == Special::GlobalTimerHi;
  return b_.CreateTrunc(upper ? b_.CreateLShr(now, 32) : now, b_.getInt32Ty());
}

// Sizes of shared memory, and where the part that the system keeps lies in it.
llvm::Value* Specials::sharedSpecial(Special s) {
  switch (s) {
    case Special::DynamicSmemSize:
      return launchWord(offsetof(KernelLaunch, dynamicShared));
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return b_.CreateSub(b_.CreateAdd(launchWord(offsetof(KernelLaunch, dynamicShared)),
                                       launchWord(offsetof(KernelLaunch, staticShared))),
                          b_.getInt32(program_.shared.reserved));
    case Special::ReservedSmemOffsetCap:
      return b_.getInt32(kReservedShared);
    default:
      return b_.CreateAdd(b_.getInt32(*reservedShared(s)),
                          runner_.blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty()));
  }
}

// Two of these registers tell where the workspace of cooperative launches is.
llvm::Value* Specials::environmentSpecial(Special s) {
  const uint32_t n = stepsFrom(Special::Envreg0, s);
  if (n != 1 && n != 2) return b_.getInt32(0);
  Value* const workspace = runner_.launchField(offsetof(KernelLaunch, cooperativeWorkspace), b_.getInt64Ty());
  return b_.CreateTrunc(n == 1 ? b_.CreateLShr(workspace, 32) : workspace, b_.getInt32Ty());
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
  if (isAmong(s, Special::TidX, Special::TidZ)) {
    formThreadIndex(form, stepsFrom(Special::TidX, s));
  } else if (s == Special::LaneId) {
    form.scalar = b_.getInt32(0);
  } else if (isAmong(s, Special::LanemaskEq, Special::LanemaskGe)) {
    for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(laneMasks(s, c));
  } else {
    form.scalar = tellsTime(s) ? special(s) : specialOnce(s);
  }
  return form;
}

// %tid along an axis, as blocks of this shape have it.
void Specials::formThreadIndex(Form& form, uint32_t axis) {
  if (options_.rowsOf32) {
    form.scalar = laneThread[axis];
  } else if (rows_) {
    formRowIndices(form, axis);
  } else if (options_.line) {
    form.scalar = axis == 0 ? b_.CreateShl(runner_.warp, 5) : b_.getInt32(0);
  } else {
    for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(threadIndex(axis, c));
  }
}

void Specials::formRowIndices(Form& form, uint32_t axis) {
  if (options_.wholeRows && axis == 0) {  // the same in every row
    form.rows.push_back(b_.getInt32(0));
    return;
  }
  const auto firstOf = [&](uint32_t r) {
    if (!options_.wholeRows) return partThread[r][axis];
    return axis == 1 ? b_.CreateAdd(laneThread[1], b_.getInt32(r)) : laneThread[axis];
  };
  for (uint32_t r = 0; r < rows_; ++r) form.rows.push_back(firstOf(r));
}

llvm::Value* Specials::laneMasks(Special s, uint32_t chunk) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  for (uint32_t l = 0; l < w_; ++l)
    lanes.push_back(llvm::ConstantInt::get(b_.getInt32Ty(), laneMask(s, chunk * w_ + l)));
  return llvm::ConstantVector::get(lanes);
}

// Made before the blocks or the warps begin. LLVM moves further out what it can.
llvm::Value* Specials::specialOnce(Special s) {
  Value*& cached = specials_[s];
  if (!cached) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(s == Special::WarpId ? runner_.warpPoint : runner_.blockPoint);
    cached = special(s);
  }
  return cached;
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
  const auto word = [&](size_t offset, Special first) { return launchWord(offset, stepsFrom(first, s)); };
  const auto blockIndex = [&](Special first) { return runner_.blockIndex(stepsFrom(first, s)); };
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
