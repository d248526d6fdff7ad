#include "ptx/llvm/passes/known_places.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <map>
#include <optional>
#include <vector>

#include "ptx/llvm/warps/told_warps.h"

namespace vg::ptx::gen {
namespace {

using llvm::Intrinsic::ID;

// More sources than these are not put together lane by lane.
constexpr size_t kMostSources = 4;
// So many lanes are loaded or stored one by one rather than by an instruction for all.
constexpr size_t kFewLanes = 8;
// So many accesses of more lanes also are, where that is as quick: code gets longer by it.
constexpr unsigned kMostOfMany = 64;

bool isGather(ID id) {
  return id == llvm::Intrinsic::x86_avx512_mask_gather_dpi_512 ||
         id == llvm::Intrinsic::x86_avx512_mask_gather_dpq_512 ||
         id == llvm::Intrinsic::x86_avx512_mask_gather_qpi_512 || id == llvm::Intrinsic::x86_avx512_mask_gather_qpq_512;
}

bool isScatter(ID id) {
  return id == llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512 ||
         id == llvm::Intrinsic::x86_avx512_mask_scatter_dpq_512 ||
         id == llvm::Intrinsic::x86_avx512_mask_scatter_qpi_512 ||
         id == llvm::Intrinsic::x86_avx512_mask_scatter_qpq_512;
}

bool isEmpty(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant && constant->isNullValue();
}

// A base that is not looked into, and a distance from it.
struct Place {
  llvm::Value* root;
  int64_t offset;
};

Place placeOf(llvm::Value* address) {
  int64_t offset = 0;
  for (;;) {
    auto* const op = llvm::dyn_cast<llvm::Operator>(address);
    if (!op) return {address, offset};
    switch (op->getOpcode()) {
      case llvm::Instruction::IntToPtr:
      case llvm::Instruction::PtrToInt:
        if (op->getOperand(0)->getType()->getScalarSizeInBits() == 32) return {address, offset};
        break;
      case llvm::Instruction::Or:
        if (!llvm::cast<llvm::PossiblyDisjointInst>(op)->isDisjoint()) return {address, offset};
        [[fallthrough]];
      case llvm::Instruction::Add: {
        const auto* const amount = llvm::dyn_cast<llvm::ConstantInt>(op->getOperand(1));
        if (!amount || op->getType() != llvm::Type::getInt64Ty(op->getContext())) return {address, offset};
        offset += amount->getSExtValue();
        break;
      }
      case llvm::Instruction::GetElementPtr: {
        const auto* const made = llvm::dyn_cast<llvm::Instruction>(op);  // or a constant, a place of its own
        llvm::APInt distance(64, 0);
        if (!made ||
            !llvm::cast<llvm::GEPOperator>(op)->accumulateConstantOffset(made->getModule()->getDataLayout(), distance))
          return {address, offset};
        offset += distance.getSExtValue();
        break;
      }
      default:
        return {address, offset};
    }
    address = op->getOperand(0);
  }
}

// A lane of a vector, or a scalar.
struct Element {
  llvm::Value* value;
  unsigned lane;
};

// An access to words at known distances from one base.
struct Access {
  Place place;
  std::vector<int64_t> distances;  // of each lane
  std::vector<bool> lanes;         // that access
  llvm::Value* data = nullptr;     // of stores
};

bool isWord(llvm::Type* type) { return type->getScalarSizeInBits() == 32 && !type->isPtrOrPtrVectorTy(); }

std::optional<std::vector<bool>> knownLanes(llvm::Value* mask) {
  auto* const constant = llvm::dyn_cast<llvm::Constant>(mask);
  if (!constant) return std::nullopt;
  std::vector<bool> lanes;
  for (unsigned l = 0; l < llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements(); ++l) {
    const auto* const bit = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(l));
    if (!bit) return std::nullopt;
    lanes.push_back(bit->isOne());
  }
  return lanes;
}

std::optional<Access> indexed(llvm::Value* base, llvm::Value* index, llvm::Value* mask, llvm::Value* scale) {
  const auto lanes = knownLanes(mask);
  auto* const constant = llvm::dyn_cast<llvm::Constant>(index);
  if (!lanes || !constant) return std::nullopt;
  Access access{placeOf(base), {}, *lanes, nullptr};
  const int64_t step = llvm::cast<llvm::ConstantInt>(scale)->getSExtValue();
  for (unsigned l = 0; l < lanes->size(); ++l) {
    const auto* const at = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(l));
    if (!at) return std::nullopt;
    access.distances.push_back(at->getSExtValue() * step);
  }
  return access;
}

std::optional<Access> sideBySide(llvm::Value* address, llvm::Type* type, std::optional<std::vector<bool>> lanes) {
  if (!lanes || !isWord(type)) return std::nullopt;
  Access access{placeOf(address), {}, std::move(*lanes), nullptr};
  for (size_t l = 0; l < access.lanes.size(); ++l) access.distances.push_back(4 * static_cast<int64_t>(l));
  return access;
}

std::vector<bool> allLanes(llvm::Type* type) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return std::vector<bool>(vector ? vector->getNumElements() : 1, true);
}

std::optional<Access> gatherOf(const llvm::IntrinsicInst& i) {
  if (i.getIntrinsicID() != llvm::Intrinsic::x86_avx512_mask_gather_dpi_512 || !isEmpty(i.getArgOperand(0)))
    return std::nullopt;
  return indexed(i.getArgOperand(1), i.getArgOperand(2), i.getArgOperand(3), i.getArgOperand(4));
}

std::optional<Access> storeOf(llvm::Instruction& i) {
  std::optional<Access> access;
  if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
    llvm::Type* const type = store->getValueOperand()->getType();
    access = sideBySide(store->getPointerOperand(), type, allLanes(type));
    if (access) access->data = store->getValueOperand();
  } else if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
    if (call->getIntrinsicID() == llvm::Intrinsic::masked_store) {
      access =
          sideBySide(call->getArgOperand(1), call->getArgOperand(0)->getType(), knownLanes(call->getArgOperand(3)));
      if (access) access->data = call->getArgOperand(0);
    } else if (call->getIntrinsicID() == llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512) {
      access = indexed(call->getArgOperand(0), call->getArgOperand(2), call->getArgOperand(1), call->getArgOperand(4));
      if (access) access->data = call->getArgOperand(3);
    }
  }
  return access;
}

// What words near one base hold, as the code of a block has stored and loaded them so far.
class Known {
 public:
  void forget() { elements_.clear(); }

  // Stores near another base may meet any of these.
  void store(const Access& access) {
    if (access.place.root != root_) forget();
    root_ = access.place.root;
    for (unsigned l = 0; l < access.lanes.size(); ++l) {
      if (!access.lanes[l]) continue;
      const int64_t at = access.place.offset + access.distances[l];
      elements_.erase(elements_.lower_bound(at - 3), elements_.upper_bound(at + 3));
      elements_[at] = {access.data, l};
    }
  }

  void load(const Access& access, llvm::Value* loaded) {
    if (access.place.root != root_) {
      if (!elements_.empty()) return;
      root_ = access.place.root;
    }
    for (unsigned l = 0; l < access.lanes.size(); ++l)
      if (access.lanes[l]) elements_.try_emplace(access.place.offset + access.distances[l], Element{loaded, l});
  }

  const Element* find(const Access& access, unsigned lane) const {
    if (access.place.root != root_) return nullptr;
    const auto found = elements_.find(access.place.offset + access.distances[lane]);
    return found == elements_.end() ? nullptr : &found->second;
  }

 private:
  llvm::Value* root_ = nullptr;
  std::map<int64_t, Element> elements_;  // by their distance from the base
};

class Forwarder {
 public:
  explicit Forwarder(bool gathersSlowly) : left_(gathersSlowly ? kMostOfMany : 0) {}

  void run(llvm::BasicBlock& block) {
    known_.forget();
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) visit(i);
  }

 private:
  void visit(llvm::Instruction& i) {
    if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      if (const auto access = gatherOf(*call)) return gather(*call, *access);
    if (llvm::isa<llvm::LoadInst>(i) && !i.isAtomic()) return;
    if (!i.mayWriteToMemory() || isTold(i)) return;
    const auto access = storeOf(i);
    if (!access) return known_.forget();
    known_.store(*access);
    auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (call && isScatter(call->getIntrinsicID())) storeSingly(*call, *access);
  }

  void gather(llvm::IntrinsicInst& i, const Access& access) {
    llvm::Value* const made = put(i, access);
    known_.load(access, made ? made : &i);
    if (!made) return;
    i.replaceAllUsesWith(made);
    i.eraseFromParent();
  }

  // The elements from where they are known, and the others by loads of their own; null: it stays a gather.
  llvm::Value* put(llvm::IntrinsicInst& i, const Access& access) {
    std::map<llvm::Value*, std::vector<std::pair<unsigned, unsigned>>> sources;  // lanes to and from
    std::vector<llvm::Value*> order;
    std::vector<unsigned> unknown;
    size_t wanted = 0;
    for (unsigned l = 0; l < access.lanes.size(); ++l) {
      if (!access.lanes[l]) continue;
      ++wanted;
      const Element* const element = known_.find(access, l);
      if (!element) {
        unknown.push_back(l);
        continue;
      }
      auto& lanes = sources[element->value];
      if (lanes.empty()) order.push_back(element->value);
      lanes.emplace_back(l, element->lane);
    }
    const bool mostlyKnown = unknown.size() <= 2;
    if (order.size() > kMostSources || (!mostlyKnown && !isSingly(wanted))) return nullptr;
    llvm::IRBuilder<> b(&i);
    auto* const type = llvm::cast<llvm::FixedVectorType>(i.getType());
    llvm::Value* out = llvm::Constant::getNullValue(type);
    for (llvm::Value* const source : order) out = blend(b, out, source, sources[source]);
    for (unsigned l : unknown) {
      llvm::Value* const at = b.CreateConstGEP1_64(b.getInt8Ty(), i.getArgOperand(1), access.distances[l]);
      // Volatile, or LLVM puts the words together again.
      out = b.CreateInsertElement(out, b.CreateAlignedLoad(b.getInt32Ty(), at, llvm::Align(4), true), l);
    }
    return out;
  }

  static llvm::Value* blend(llvm::IRBuilder<>& b, llvm::Value* into, llvm::Value* source,
                            const std::vector<std::pair<unsigned, unsigned>>& lanes) {
    auto* const type = llvm::cast<llvm::FixedVectorType>(into->getType());
    if (!source->getType()->isVectorTy()) {
      for (const auto& [to, from] : lanes)
        into = b.CreateInsertElement(into, b.CreateBitCast(source, type->getElementType()), to);
      return into;
    }
    llvm::SmallVector<int, 16> order;
    for (unsigned l = 0; l < type->getNumElements(); ++l) order.push_back(static_cast<int>(l));
    const unsigned count = llvm::cast<llvm::FixedVectorType>(source->getType())->getNumElements();
    llvm::Value* const words = b.CreateBitCast(source, llvm::FixedVectorType::get(type->getElementType(), count));
    if (count != type->getNumElements()) {
      for (const auto& [to, from] : lanes) into = b.CreateInsertElement(into, b.CreateExtractElement(words, from), to);
      return into;
    }
    for (const auto& [to, from] : lanes) order[to] = static_cast<int>(count + from);
    return b.CreateShuffleVector(into, words, order);
  }

  // Whether so many lanes access one after the other.
  bool isSingly(size_t lanes) {
    if (lanes <= kFewLanes) return true;
    if (left_ == 0) return false;
    --left_;
    return true;
  }

  // Lanes one after the other; of those with one place the last one's value stays.
  void storeSingly(llvm::IntrinsicInst& i, const Access& access) {
    if (!isSingly(static_cast<size_t>(std::count(access.lanes.begin(), access.lanes.end(), true)))) return;
    llvm::IRBuilder<> b(&i);
    for (unsigned l = 0; l < access.lanes.size(); ++l) {
      if (!access.lanes[l]) continue;
      llvm::Value* const at = b.CreateConstGEP1_64(b.getInt8Ty(), i.getArgOperand(0), access.distances[l]);
      b.CreateAlignedStore(b.CreateExtractElement(access.data, l), at, llvm::Align(4));
    }
    i.eraseFromParent();
  }

  Known known_;
  unsigned left_;  // accesses of many lanes that may become single ones
};

// What no lane has goes away. Whether any places are known.
bool dropEmpty(llvm::Function& function) {
  bool known = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      if (llvm::isa<llvm::ShuffleVectorInst>(i))  // the order of lanes of a mask that is known by now
        if (llvm::Constant* const folded = llvm::ConstantFoldInstruction(&i, function.getParent()->getDataLayout())) {
          i.replaceAllUsesWith(folded);
          i.eraseFromParent();
          continue;
        }
      auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      if (!call) continue;
      const bool gathers = isGather(call->getIntrinsicID());
      if (!gathers && !isScatter(call->getIntrinsicID())) continue;
      if (!isEmpty(call->getArgOperand(gathers ? 3 : 1))) {
        known |= gathers ? gatherOf(*call).has_value() : storeOf(*call).has_value();
        continue;
      }
      if (gathers) call->replaceAllUsesWith(call->getArgOperand(0));
      call->eraseFromParent();
    }
  return known;
}

}  // namespace

llvm::PreservedAnalyses KnownPlacesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (!dropEmpty(function)) {
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
  llvm::SimplifyCFGPass().run(function, analyses);
  Forwarder forwarder(gathersSlowly_);
  for (llvm::BasicBlock& block : function) forwarder.run(block);
  return llvm::PreservedAnalyses::none();
}

}  // namespace vg::ptx::gen
