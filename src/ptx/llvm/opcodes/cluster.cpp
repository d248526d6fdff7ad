// Clusters: their special registers, and addresses of shared memory between their blocks.
#include "ptx/facts/cancelled_cluster.h"
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

llvm::Value* Emitter::ownShared() {
  if (!program_.references.clusterAddresses) return sharedBase();
  Value* const offset = blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty());
  return b_.CreateAdd(sharedBase(), b_.CreateZExt(offset, b_.getInt64Ty()));
}

llvm::Value* Emitter::clusterBlocks() {
  const auto size = [&](uint32_t axis) {
    return launchField(offsetof(KernelLaunch, clusterSize) + 4 * axis, b_.getInt32Ty());
  };
  return b_.CreateMul(size(0), b_.CreateMul(size(1), size(2)));
}

llvm::Value* Emitter::clusterSpecial(Special s) {
  const auto word = [&](size_t offset, Special first) {
    return launchField(offset + 4 * (static_cast<uint32_t>(s) - static_cast<uint32_t>(first)), b_.getInt32Ty());
  };
  const auto blockIndex = [&](Special first) {
    return this->blockIndex(static_cast<uint32_t>(s) - static_cast<uint32_t>(first));
  };
  constexpr size_t kSize = offsetof(KernelLaunch, clusterSize), kGrid = offsetof(KernelLaunch, gridSize);
  switch (s) {
    case Special::ClusterCtarank:
      return blockField(offsetof(BlockState, clusterRank), b_.getInt32Ty());
    case Special::ClusterNctarank:
      return clusterBlocks();
    case Special::IsExplicitCluster:
      return b_.CreateAnd(launchField(offsetof(KernelLaunch, flags), b_.getInt32Ty()), kExplicitCluster);
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

bool Emitter::asksForCluster() const {
  if (program_.references.clusterAddresses) return true;
  for (const auto& v : program_.values)
    if (v.kind == vg::ptx::gen::Value::Special && v.special >= Special::ClusteridX && v.special <= Special::ClusteridZ)
      return true;
  return false;
}

// clusterlaunchcontrol.query_cancel
void Emitter::queryCancelled(const Instruction& i, Value* answer, llvm::SmallVectorImpl<Value*>& r) {
  Value* const bits = asInteger(answer, 128);
  const auto word = [&](uint32_t first) {
    return asInteger(b_.CreateLShr(bits, llvm::ConstantInt::get(bits->getType(), first)), 32);
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

bool Emitter::computeCluster(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  if (ast.op == Op::Clusterlaunchcontrol) {
    queryCancelled(i, s[0], r);
    return true;
  }
  if (ast.op != Op::Mapa && ast.op != Op::Getctarank) return false;
  Value* const given = asInteger(s[0], 64);
  const auto n64 = [&](uint64_t bits) { return number(given, b_.getInt64Ty(), bits); };
  Value* const address = b_.CreateAdd(given, n64(static_cast<uint64_t>(i.offsets[0])));
  // Generic addresses are the host's, others count from the cluster's memory.
  Value* base = n64(0);
  if (ast.space == Space::None)
    base = splatLike(given, blockField(offsetof(BlockState, clusterShared), b_.getInt64Ty()));
  Value* const place = b_.CreateSub(address, base);
  if (ast.op == Op::Getctarank) {
    r.push_back(asInteger(b_.CreateLShr(place, n64(kSharedStrideBits)), 32));
    return true;
  }
  Value* const rank = b_.CreateShl(asInteger(asInteger(s[1], 32), 64), n64(kSharedStrideBits));
  Value* const within = b_.CreateAnd(place, n64(kSharedStride - 1));
  r.push_back(asInteger(b_.CreateAdd(base, b_.CreateAdd(rank, within)), ptx::bitsOf(ast.type())));
  return true;
}

}  // namespace vg::ptx::gen
