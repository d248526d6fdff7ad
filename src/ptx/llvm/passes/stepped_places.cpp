#include "ptx/llvm/passes/stepped_places.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace vg::ptx::gen {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

constexpr unsigned kLanes = 16;
constexpr int kDeep = 6;        // operations that an index is made by
constexpr size_t kMost = 64;    // of a function, in its innermost loops first: each is some fifty instructions
constexpr unsigned kOften = 8;  // times that all lanes take part, for one in which some do

// How far each lane is from lane 0, in 32 bits that wrap.
using Distances = llvm::SmallVector<uint32_t, kLanes>;

std::optional<Distances> ofConstant(const llvm::Constant& constant) {
  Distances out;
  for (unsigned l = 0; l < kLanes; ++l) {
    const auto* const element = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant.getAggregateElement(l));
    if (!element) return std::nullopt;
    out.push_back(static_cast<uint32_t>(element->getZExtValue()));
  }
  for (unsigned l = kLanes; l-- > 0;) out[l] -= out[0];
  return out;
}

std::optional<Distances> distancesOf(const Value* index, int depth);

std::optional<Distances> ofShuffle(const llvm::ShuffleVectorInst& shuffle, int depth) {
  if (match::match(shuffle.getShuffleMask(), match::m_ZeroMask())) return Distances(kLanes, 0);
  if (!shuffle.isSingleSource() || shuffle.changesLength()) return std::nullopt;
  const auto from = distancesOf(shuffle.getOperand(0), depth);
  if (!from) return std::nullopt;
  Distances out;
  for (const int lane : shuffle.getShuffleMask()) {
    if (lane < 0 || lane >= static_cast<int>(kLanes)) return std::nullopt;
    out.push_back((*from)[lane]);
  }
  for (unsigned l = kLanes; l-- > 0;) out[l] -= out[0];
  return out;
}

std::optional<Distances> distancesOf(const Value* index, int depth) {
  if (const auto* const constant = llvm::dyn_cast<llvm::Constant>(index)) return ofConstant(*constant);
  if (depth == 0) return std::nullopt;
  if (const auto* const shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(index)) return ofShuffle(*shuffle, depth - 1);
  const auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(index);
  if (!operation) return std::nullopt;
  const auto left = distancesOf(operation->getOperand(0), depth - 1);
  if (!left) return std::nullopt;
  const auto right = distancesOf(operation->getOperand(1), depth - 1);
  if (!right) return std::nullopt;
  const auto same = [](const Distances& all) { return std::ranges::all_of(all, [](uint32_t d) { return d == 0; }); };
  Distances out = *left;
  switch (operation->getOpcode()) {
    case llvm::Instruction::Or:
      if (!llvm::cast<llvm::PossiblyDisjointInst>(operation)->isDisjoint()) break;
      [[fallthrough]];
    case llvm::Instruction::Add:
      for (unsigned l = 0; l < kLanes; ++l) out[l] += (*right)[l];
      return out;
    case llvm::Instruction::Sub:
      for (unsigned l = 0; l < kLanes; ++l) out[l] -= (*right)[l];
      return out;
    case llvm::Instruction::Shl: {
      const llvm::APInt* amount = nullptr;
      if (!match::match(operation->getOperand(1), match::m_APInt(amount)) || amount->uge(32)) break;
      for (uint32_t& distance : out) distance <<= amount->getZExtValue();
      return out;
    }
    default:
      break;
  }
  // Of lanes that are all alike anything is.
  if (same(*left) && same(*right)) return Distances(kLanes, 0);
  return std::nullopt;
}

// What it is given is asked of the call: what another one gave may have been replaced since.
struct Access {
  llvm::IntrinsicInst* call;
  bool gathers;
  Distances distances;
  unsigned depth = 0;  // of loops around it

  Value* base() const { return call->getArgOperand(gathers ? 1 : 0); }
  Value* index() const { return call->getArgOperand(2); }
  Value* mask() const { return call->getArgOperand(gathers ? 3 : 1); }
  Value* data() const { return call->getArgOperand(3); }  // of scatters
};

std::optional<Access> accessOf(llvm::Instruction& i) {
  auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (!call) return std::nullopt;
  const bool gathers = call->getIntrinsicID() == llvm::Intrinsic::x86_avx512_mask_gather_dpi_512;
  if (!gathers && call->getIntrinsicID() != llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512) return std::nullopt;
  if (!match::match(call->getArgOperand(4), match::m_One())) return std::nullopt;
  Access access{call, gathers, {}};
  // Lanes that are known by now are known_places.h's.
  if (const auto* const known = llvm::dyn_cast<llvm::Constant>(access.mask()); known && !known->isAllOnesValue())
    return std::nullopt;
  const auto distances = distancesOf(access.index(), kDeep);
  if (!distances) return std::nullopt;
  access.distances = *distances;
  return access;
}

// Whether all lanes take part, and no index wraps on the way from lane 0 to the others: each is widened on its own.
Value* isWhole(llvm::IRBuilder<>& b, const Access& access, Value* first) {
  int64_t least = 0, most = 0;
  for (const uint32_t distance : access.distances) {
    least = std::min<int64_t>(least, static_cast<int32_t>(distance));
    most = std::max<int64_t>(most, static_cast<int32_t>(distance));
  }
  const int64_t lowest = int64_t{INT32_MIN} - least, highest = int64_t{INT32_MAX} - most;
  if (lowest > highest) return nullptr;
  Value* const above = b.CreateSub(first, b.getInt32(static_cast<uint32_t>(lowest)));
  Value* const inRange = b.CreateICmpULE(above, b.getInt32(static_cast<uint32_t>(highest - lowest)));
  Value* const bits = b.CreateBitCast(access.mask(), b.getIntNTy(kLanes));
  // The index of lane 0 says nothing where that lane takes no part.
  return b.CreateLogicalAnd(b.CreateICmpEQ(bits, b.getInt16(0xffff)), inRange);
}

Value* placeOf(llvm::IRBuilder<>& b, Value* start, uint32_t distance) {
  return b.CreateConstGEP1_64(b.getInt8Ty(), start, static_cast<uint64_t>(int64_t{static_cast<int32_t>(distance)}));
}

// One access after another in front of `end`; what a gather gives.
Value* singly(llvm::Instruction* end, const Access& access, Value* first) {
  llvm::IRBuilder<> b(end);
  b.SetCurrentDebugLocation(access.call->getDebugLoc());
  Value* const start = b.CreatePtrAdd(access.base(), b.CreateSExt(first, b.getInt64Ty()));
  if (!access.gathers) {  // in the order of lanes: of those with one place the last one's value stays
    for (unsigned l = 0; l < kLanes; ++l)
      b.CreateAlignedStore(b.CreateExtractElement(access.data(), l), placeOf(b, start, access.distances[l]),
                           llvm::Align(4));
    return nullptr;
  }
  Value* out = llvm::PoisonValue::get(access.call->getType());
  for (unsigned l = 0; l < kLanes; ++l) {
    Value* const at = placeOf(b, start, access.distances[l]);
    // Volatile, or LLVM makes a gather of them again.
    out = b.CreateInsertElement(out, b.CreateAlignedLoad(b.getInt32Ty(), at, llvm::Align(4), true), l);
  }
  return out;
}

void split(const Access& access) {
  llvm::IRBuilder<> b(access.call);
  Value* const first = b.CreateExtractElement(access.index(), uint64_t{0});
  Value* const whole = isWhole(b, access, first);
  if (!whole || match::match(whole, match::m_Zero())) return;
  if (match::match(whole, match::m_One())) {
    if (Value* const alone = singly(access.call, access, first)) access.call->replaceAllUsesWith(alone);
    access.call->eraseFromParent();
    return;
  }
  llvm::Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(b.CreateFreeze(whole), access.call, &then, &otherwise,
                                      llvm::MDBuilder(b.getContext()).createBranchWeights(kOften, 1));
  Value* const alone = singly(then, access, first);
  llvm::BasicBlock* const after = access.call->getParent();
  access.call->moveBefore(otherwise);
  if (!alone) return;
  auto* const either = llvm::PHINode::Create(access.call->getType(), 2, "", after->begin());
  access.call->replaceAllUsesWith(either);
  either->addIncoming(alone, then->getParent());
  either->addIncoming(access.call, otherwise->getParent());
}

}  // namespace

void accessStepsSingly(llvm::Function& function) {
  std::vector<Access> accesses;
  {
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    for (llvm::Instruction& i : llvm::instructions(function))
      if (auto access = accessOf(i)) {
        access->depth = loops.getLoopDepth(i.getParent());
        accesses.push_back(std::move(*access));
      }
  }
  std::ranges::stable_sort(accesses, std::greater<>(), &Access::depth);
  if (accesses.size() > kMost) accesses.erase(accesses.begin() + kMost, accesses.end());
  for (const Access& access : accesses) split(access);
}

}  // namespace vg::ptx::gen
