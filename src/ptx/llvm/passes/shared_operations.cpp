#include "ptx/llvm/passes/shared_operations.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ptx/llvm/passes/vector_operations.h"

namespace vg::ptx::gen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Type;
using llvm::Value;

bool touchesVectors(const Instruction& i) {
  return isVector(i) || llvm::any_of(i.operands(), [](const Value* o) { return isVector(*o); });
}

bool isOwn(const Value* pointer) { return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)); }

// Between memory of the frame and a vector: these cannot fault.
bool isOwnLoad(const Instruction& i) {
  const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&i);
  return load && load->isSimple() && isVector(i) && isOwn(load->getPointerOperand());
}
bool isOwnStore(const Instruction& i) {
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&i);
  return store && store->isSimple() && isVector(*store->getValueOperand()) && isOwn(store->getPointerOperand());
}

bool addressable(const Type* vector) {
  const Type* const element = llvm::cast<llvm::FixedVectorType>(vector)->getElementType();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(vector)->getNumElements();
  return canPass(element) && llvm::isPowerOf2_32(lanes);
}

class Sharer {
 public:
  explicit Sharer(llvm::Function& f) : function_(f), operations_(f) {}

  void run(size_t most) {
    for (BasicBlock& block : function_)
      for (llvm::PHINode& phi : block.phis())
        if (isVector(phi)) phis_.push_back(&phi);
    for (llvm::PHINode* phi : phis_) demote(*phi);
    storeMasksAsBytes();
    for (BasicBlock& block : function_)
      for (Instruction& i : block)
        if (isVector(i) && usedElsewhere(i)) lasts_.insert(&i);
    findSlots();
    chooseInline(most);
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& block : function_) blocks.push_back(&block);
    for (BasicBlock* block : blocks) inline_.contains(block) ? keep(*block) : share(*block);
    removeDead();
    for (auto [first, last] : llvm::reverse(apart_)) standApart(*first, *last);
  }

 private:
  static constexpr uint64_t kAligned = 32;

  // --- Where vectors are

  llvm::AllocaInst* newPlace(Type* type) {
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the block owns it
    return new llvm::AllocaInst(stored(type), 0, nullptr, llvm::Align(kAligned), "vector", function_.front().begin());
  }

  void demote(llvm::PHINode& phi) {
    Value* const place = newPlace(phi.getType());
    for (unsigned n = 0; n < phi.getNumIncomingValues(); ++n) {
      if (llvm::isa<llvm::UndefValue>(phi.getIncomingValue(n))) continue;
      llvm::IRBuilder<> b(phi.getIncomingBlock(n)->getTerminator());
      storeTo(b, phi.getIncomingValue(n), place);
    }
    llvm::IRBuilder<> b(phi.getParent(), phi.getParent()->getFirstInsertionPt());
    phi.replaceAllUsesWith(loadFrom(b, phi.getType(), place));
    phi.eraseFromParent();
  }

  static bool usedElsewhere(const Instruction& i) {
    return llvm::any_of(
        i.users(), [&](const llvm::User* user) { return llvm::cast<Instruction>(user)->getParent() != i.getParent(); });
  }

  // Of a vector that other blocks use.
  Value* lasting(Instruction& i) {
    Value*& place = places_[&i];
    if (!place) place = newPlace(i.getType());
    return place;
  }

  // --- Blocks that stay as they are but for vectors that come from others or are for others

  void chooseInline(size_t most) {
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    struct Candidate {
      BasicBlock* block;
      unsigned depth;
      size_t size;
    };
    std::vector<Candidate> all;
    unsigned shallowest = ~0u;
    for (BasicBlock& block : function_) {
      const auto size = static_cast<size_t>(llvm::count_if(block, touchesVectors));
      if (!size) continue;
      all.push_back({&block, loops.getLoopDepth(&block), size});
      shallowest = std::min(shallowest, all.back().depth);
    }
    llvm::stable_sort(all, [](const Candidate& a, const Candidate& b) { return a.depth > b.depth; });
    for (const Candidate& one : all) {
      if (one.depth == shallowest || one.size > most) break;
      most -= one.size;
      inline_.insert(one.block);
    }
  }

  void keep(BasicBlock& block) {
    llvm::DenseMap<Value*, Value*> here;
    for (Instruction& i : llvm::make_early_inc_range(block)) {
      for (llvm::Use& use : i.operands()) {
        auto* const from = llvm::dyn_cast<Instruction>(use.get());
        if (!from || !isVector(*from) || from->getParent() == &block) continue;
        Value*& loaded = here[from];
        if (!loaded) {
          llvm::IRBuilder<> b(&i);
          loaded = loadFrom(b, from->getType(), lasting(*from));
        }
        use.set(loaded);
      }
      if (lasts_.contains(&i)) {
        llvm::IRBuilder<> b(i.getNextNode());
        storeTo(b, &i, lasting(i));
      }
    }
  }

  // --- Blocks of calls

  void share(BasicBlock& block) {
    at_.clear();
    last_.clear();
    aliases_.clear();
    std::vector<Instruction*> all;
    for (Instruction& i : block) all.push_back(&i);
    number(all);
    number_ = 0;
    for (Instruction* i : all) {
      ++number_;
      if (touchesVectors(*i)) shareOne(*i);
    }
    for (auto& [bytes, places] : taken_) free_[bytes].insert(free_[bytes].end(), places.begin(), places.end());
    taken_.clear();
    ends_.clear();
  }

  // Finds where each vector is used last, which ones can stay in the slot that they were loaded from, and which are
  // made in the slot that they are stored to.
  void number(const std::vector<Instruction*>& all) {
    llvm::MapVector<const llvm::AllocaInst*, std::vector<Access>> slots;  // in an order that no address decides
    llvm::DenseMap<const Value*, unsigned> madeAt;
    unsigned at = 0;
    for (Instruction* i : all) {
      madeAt[i] = ++at;
      for (Value* operand : i->operands())
        if (isVector(*operand)) last_[operand] = at;
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(i))
        if (const llvm::AllocaInst* const slot = slotOf(*i)) slots[slot].push_back({i, at, at});
    }
    for (Instruction* i : llvm::reverse(all))
      if (Value* const same = sameAs(*i)) last_[same] = std::max(last_.lookup(same), last_.lookup(i));
    for (auto& [slot, accesses] : slots) {
      noteNextWrites(accesses);
      unsigned needed = 0;  // where somebody may need last what was there before
      for (size_t n = 0; n < accesses.size(); ++n) {
        Access& access = accesses[n];
        access.until = std::max(access.at, last_.lookup(access.instruction));
        if (llvm::isa<llvm::StoreInst>(access.instruction)) makeInSlot(accesses, n, needed, madeAt);
        needed = std::max(needed, access.until);
      }
      for (size_t n = 0; n < accesses.size(); ++n) {
        Instruction& i = *accesses[n].instruction;
        if (llvm::isa<llvm::LoadInst>(i) && !lasts_.contains(&i) && last_.lookup(&i) <= nextWrite(accesses, n))
          aliases_.insert(&i);
      }
    }
  }

  struct Access {
    Instruction* instruction;
    unsigned at;           // of a store of what is made in the slot: where it is made
    unsigned until;        // where somebody may need last what was there
    size_t nextWrite = 0;  // the store behind it among those of the slot
  };

  static void noteNextWrites(std::vector<Access>& accesses) {
    size_t next = accesses.size();
    for (size_t n = accesses.size(); n-- > 0;) {
      accesses[n].nextWrite = next;
      if (llvm::isa<llvm::StoreInst>(accesses[n].instruction)) next = n;
    }
  }

  static unsigned nextWrite(const std::vector<Access>& accesses, size_t from) {
    const size_t next = accesses[from].nextWrite;
    return next < accesses.size() ? accesses[next].at : ~0u;
  }

  // What an operation makes can be made where it is stored if nobody needs what is there until then.
  void makeInSlot(std::vector<Access>& accesses, size_t n, unsigned needed,
                  const llvm::DenseMap<const Value*, unsigned>& madeAt) {
    auto* const store = llvm::cast<llvm::StoreInst>(accesses[n].instruction);
    Value* made = store->getValueOperand();
    while (auto* const i = llvm::dyn_cast<Instruction>(made)) {
      Value* const same = sameAs(*i);
      if (!same) break;
      made = same;
    }
    auto* const maker = llvm::dyn_cast<Instruction>(made);
    if (!maker || maker->getParent() != store->getParent() || lasts_.contains(maker) || at_.contains(maker)) return;
    if (!isOperation(*maker) || llvm::getSplatValue(maker)) return;
    const unsigned at = madeAt.lookup(maker);
    if (needed > at) return;
    if (last_.lookup(maker) > nextWrite(accesses, n)) return;
    at_[maker] = store->getPointerOperand();
    accesses[n].at = at;
    accesses[n].until = std::max(accesses[n].until, last_.lookup(maker));
  }

  // Of masks and their other forms, and of what is frozen: the vector that is the same in memory.
  Value* sameAs(const Instruction& i) const {
    if (!isVector(i) || lasts_.contains(&i)) return nullptr;
    Value* const from = i.getNumOperands() ? i.getOperand(0) : nullptr;
    if (!from || !llvm::isa<Instruction>(from)) return nullptr;
    if (llvm::isa<llvm::FreezeInst>(i)) return from;
    if (llvm::isa<llvm::SExtInst>(i) && stored(from->getType()) == i.getType() && from->getType() != i.getType())
      return from;
    const auto* const test = llvm::dyn_cast<llvm::ICmpInst>(&i);
    const bool sign = test && test->getPredicate() == llvm::ICmpInst::ICMP_SLT &&
                      llvm::isa<llvm::ConstantAggregateZero>(test->getOperand(1));
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(from);
    return sign && load && masks_.contains(load->getPointerOperand()) ? from : nullptr;
  }

  // The slot of a load or a store of the whole of it.
  const llvm::AllocaInst* slotOf(const Instruction& i) const {
    const auto* const slot = llvm::dyn_cast_or_null<llvm::AllocaInst>(llvm::getLoadStorePointerOperand(&i));
    return slot && slots_.contains(slot) ? slot : nullptr;
  }

  // What earlier passes keep in memory as bits.
  void storeMasksAsBytes() {
    for (Instruction& i : llvm::make_early_inc_range(function_.front())) {
      auto* const slot = llvm::dyn_cast<llvm::AllocaInst>(&i);
      if (!slot || !slot->getAllocatedType()->isVectorTy() || !llvm::isAllocaPromotable(slot)) continue;
      Type* const type = slot->getAllocatedType();
      if (stored(type) == type) continue;
      Value* const place = newPlace(type);
      for (llvm::User* user : llvm::make_early_inc_range(slot->users())) {
        auto* const access = llvm::cast<Instruction>(user);
        llvm::IRBuilder<> b(access);
        if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(access))
          storeTo(b, store->getValueOperand(), place);
        else if (isVector(*access))
          access->replaceAllUsesWith(loadFrom(b, type, place));
        access->eraseFromParent();
      }
      slot->eraseFromParent();
    }
  }

  // Slots that nothing else than loads and stores knows of, and those of them that hold nothing but masks.
  void findSlots() {
    for (Instruction& i : function_.front()) {
      auto* const slot = llvm::dyn_cast<llvm::AllocaInst>(&i);
      if (!slot || !slot->getAllocatedType()->isVectorTy() || !llvm::isAllocaPromotable(slot)) continue;
      slots_.insert(slot);
      const auto isMask = [](const llvm::User* user) {
        const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
        if (!store) return true;
        const Value* const value = store->getValueOperand();
        if (const auto* const wide = llvm::dyn_cast<llvm::SExtInst>(value))
          return wide->getSrcTy()->getScalarType()->isIntegerTy(1);
        const auto* const constant = llvm::dyn_cast<llvm::Constant>(value);
        return constant && (constant->isNullValue() || constant->isAllOnesValue());
      };
      const auto* const type = llvm::cast<llvm::VectorType>(slot->getAllocatedType());
      if (type->getElementType()->isIntegerTy(8) && llvm::all_of(slot->users(), isMask)) masks_.insert(slot);
    }
  }

  // Memory of a vector that no other block uses.
  Value* passing(Instruction& i) {
    giveBack();
    const uint64_t bytes = function_.getDataLayout().getTypeAllocSize(stored(i.getType()));
    std::vector<Value*>& spare = free_[bytes];
    Value* place;
    if (spare.empty()) {
      place = newPlace(i.getType());
    } else {
      place = spare.back();
      spare.pop_back();
    }
    taken_[bytes].push_back(place);
    ends_.push_back({last_.lookup(&i), bytes, place});
    return place;
  }

  void giveBack() {
    llvm::erase_if(ends_, [&](const End& end) {
      if (end.last >= number_) return false;
      llvm::erase(taken_[end.bytes], end.place);
      free_[end.bytes].push_back(end.place);
      return true;
    });
  }

  Value* placeFor(Instruction& i) {
    if (lasts_.contains(&i)) return lasting(i);
    if (const auto known = at_.find(&i); known != at_.end()) return known->second;
    Value* const place = passing(i);
    return at_[&i] = place;
  }

  Value* placeOf(Value& v, llvm::IRBuilder<>& b) {
    auto* const i = llvm::dyn_cast<Instruction>(&v);
    if (!i) return constantPlace(v, b);
    if (const auto found = at_.find(i); found != at_.end()) return found->second;
    return lasting(*i);
  }

  // Of what is no instruction, a constant.
  Value* constantPlace(Value& v, llvm::IRBuilder<>& b) {
    Value*& place = constants_[&v];
    if (!place) place = newPlace(v.getType());
    b.CreateCall(operations_.constant(llvm::cast<llvm::Constant>(v)), place);
    return place;
  }

  void shareOne(Instruction& i) {
    if (aliases_.contains(&i)) return standFor(i, *llvm::getLoadStorePointerOperand(&i));
    if (Value* const same = sameAs(i)) {
      llvm::IRBuilder<> b(&i);
      return standFor(i, *placeOf(*same, b));
    }
    if (isOwnStore(i)) return shareStore(llvm::cast<llvm::StoreInst>(i));
    if (isOwnLoad(i)) return shareLoad(llvm::cast<llvm::LoadInst>(i));
    if (auto* const element = llvm::dyn_cast<llvm::ExtractElementInst>(&i);
        element && addressable(element->getVectorOperandType()))
      return extract(*element);
    if (auto* const element = llvm::dyn_cast<llvm::InsertElementInst>(&i); element && addressable(i.getType()))
      return insert(*element);
    if (llvm::isa<llvm::FreezeInst>(i) && isVector(*i.getOperand(0)) && !llvm::isa<llvm::Constant>(i.getOperand(0)))
      return copyOf(i, *i.getOperand(0));
    isOperation(i) ? call(i) : inPlace(i);
  }

  void standFor(Instruction& i, Value& place) {
    at_[&i] = &place;
    done_.push_back(&i);
  }

  void copyTo(llvm::IRBuilder<>& b, Type* type, Value* to, Value* from) {
    b.CreateCall(operations_.copy(type), {to, from});
  }

  void copyOf(Instruction& i, Value& from) {
    llvm::IRBuilder<> b(&i);
    Value* const source = placeOf(from, b);
    copyTo(b, i.getType(), placeFor(i), source);
    done_.push_back(&i);
  }

  void shareLoad(llvm::LoadInst& load) {
    if (stored(load.getType()) != load.getType()) return inPlace(load);
    llvm::IRBuilder<> b(&load);
    copyTo(b, load.getType(), placeFor(load), load.getPointerOperand());
    done_.push_back(&load);
  }

  void shareStore(llvm::StoreInst& store) {
    Value& what = *store.getValueOperand();
    if (stored(what.getType()) != what.getType()) return inPlace(store);
    llvm::IRBuilder<> b(&store);
    if (!llvm::isa<llvm::Constant>(what) && placeOf(what, b) == store.getPointerOperand())
      return done_.push_back(&store);
    if (auto* const constant = llvm::dyn_cast<llvm::Constant>(&what))
      b.CreateCall(operations_.constant(*constant), store.getPointerOperand());
    else
      copyTo(b, what.getType(), store.getPointerOperand(), placeOf(what, b));
    done_.push_back(&store);
  }

  // The place of an element. Numbers that are no lane's give any.
  static Value* elementAt(llvm::IRBuilder<>& b, Type* vector, Value* place, Value* index) {
    const uint64_t lanes = llvm::cast<llvm::FixedVectorType>(vector)->getNumElements();
    Value* lane = b.CreateZExtOrTrunc(index, b.getInt64Ty());
    if (!llvm::isa<llvm::Constant>(index)) lane = b.CreateAnd(lane, b.getInt64(lanes - 1));
    return b.CreateInBoundsGEP(stored(vector)->getScalarType(), place, lane);
  }

  void extract(llvm::ExtractElementInst& i) {
    llvm::IRBuilder<> b(&i);
    Value* const splat = llvm::getSplatValue(i.getVectorOperand());
    Value* element = splat;
    if (!splat) {
      Type* const vector = i.getVectorOperandType();
      Value* const at = elementAt(b, vector, placeOf(*i.getVectorOperand(), b), i.getIndexOperand());
      Type* const kept = stored(vector)->getScalarType();
      element = b.CreateLoad(kept, at);
      if (kept != i.getType()) element = b.CreateICmpSLT(element, llvm::ConstantInt::get(kept, 0));
    }
    i.replaceAllUsesWith(element);
    done_.push_back(&i);
  }

  void insert(llvm::InsertElementInst& i) {
    if (!lasts_.contains(&i) && beginsSplats(i)) return done_.push_back(&i);
    llvm::IRBuilder<> b(&i);
    Value& before = *i.getOperand(0);
    Value* source = llvm::isa<llvm::UndefValue>(before) ? nullptr : placeOf(before, b);
    Value* const place = placeFor(i);
    if (source) copyTo(b, i.getType(), place, source);
    Type* const kept = stored(i.getType())->getScalarType();
    Value* element = i.getOperand(1);
    if (element->getType() != kept) element = b.CreateSExt(element, kept);
    b.CreateStore(element, elementAt(b, i.getType(), place, i.getOperand(2)));
    done_.push_back(&i);
  }

  void call(Instruction& i) {
    if (isVector(i) && i.use_empty() && !lasts_.contains(&i)) return done_.push_back(&i);
    llvm::IRBuilder<> b(&i);
    if (Value* const scalar = isVector(i) ? llvm::getSplatValue(&i) : nullptr; scalar && canPass(scalar->getType())) {
      if (lasts_.contains(&i) || !seenThrough(i))
        b.CreateCall(operations_.splat(i.getType()), {placeFor(i), asPassed(b, scalar)});
      return done_.push_back(&i);
    }
    llvm::Function* const operation = operations_.of(i);
    llvm::SmallVector<Value*, 6> arguments;
    for (unsigned n = 0; n < operandsOf(i); ++n) {
      Value* operand = i.getOperand(n);
      const Way way = wayOf(i, n);
      if (way == Way::Fixed) continue;
      if (way == Way::Memory) {
        arguments.push_back(placeOf(*operand, b));
        continue;
      }
      if (way == Way::Splat) operand = llvm::getSplatValue(operand);
      arguments.push_back(asPassed(b, operand));
    }
    if (isVector(i)) arguments.insert(arguments.begin(), placeFor(i));
    Value* result = b.CreateCall(operation, arguments);
    if (!isVector(i)) i.replaceAllUsesWith(b.CreateTrunc(result, i.getType()));
    done_.push_back(&i);
  }

  // The first half of what makes a splat.
  static bool beginsSplats(const Instruction& i) {
    return llvm::all_of(i.users(), [&](const llvm::User* user) {
      const Value* const scalar = llvm::getSplatValue(user);
      return llvm::cast<Instruction>(user)->getParent() == i.getParent() && scalar && canPass(scalar->getType());
    });
  }

  // A splat of which all users take the scalar.
  static bool seenThrough(const Instruction& i) {
    return llvm::all_of(i.uses(), [&](const llvm::Use& use) {
      const auto& user = *llvm::cast<Instruction>(use.getUser());
      return user.getParent() == i.getParent() && isOperation(user) && !llvm::isa<llvm::FreezeInst>(user) &&
             use.getOperandNo() < operandsOf(user) && wayOf(user, use.getOperandNo()) == Way::Splat;
    });
  }

  void inPlace(Instruction& i) {
    llvm::IRBuilder<> b(&i);
    Instruction* first = nullptr;
    for (llvm::Use& use : i.operands()) {
      auto* const from = llvm::dyn_cast<Instruction>(use.get());
      if (!from || !isVector(*from)) continue;
      Value* const place = placeOf(*from, b);
      Value* const loaded = loadFrom(b, from->getType(), place);
      if (!first) first = firstOf(loaded);
      use.set(loaded);
    }
    Instruction* last = &i;
    if (isVector(i)) {
      llvm::IRBuilder<> behind(i.getNextNode());
      storeTo(behind, &i, placeFor(i));
      last = i.getNextNode();
      if (!llvm::isa<llvm::StoreInst>(last)) last = last->getNextNode();
    }
    apart_.push_back({first ? first : &i, last});
  }

  static Instruction* firstOf(Value* loaded) {
    auto* const i = llvm::cast<Instruction>(loaded);
    return llvm::isa<llvm::LoadInst>(i) ? i : llvm::cast<Instruction>(i->getOperand(0));
  }

  void removeDead() {
    for (Instruction* i : llvm::reverse(done_)) {
      if (!i->use_empty()) i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));
      i->eraseFromParent();
    }
    done_.clear();
  }

  // Instructions on vectors in a block of their own: where LLVM's fast selection of instructions gives up, the other
  // one takes all of the block before.
  static void standApart(Instruction& first, Instruction& last) {
    BasicBlock& block = *first.getParent();
    if (!last.getNextNode()->isTerminator()) block.splitBasicBlock(last.getNextNode(), "onward");
    if (&block.front() != &first) block.splitBasicBlock(&first, "apart");
  }

  struct End {
    unsigned last;
    uint64_t bytes;
    Value* place;
  };

  llvm::Function& function_;
  VectorOperations operations_;
  std::vector<llvm::PHINode*> phis_;
  llvm::SmallPtrSet<BasicBlock*, 32> inline_;
  llvm::SmallPtrSet<const Instruction*, 32> lasts_;  // vectors that other blocks than their own use
  llvm::DenseMap<Value*, Value*> places_, at_, constants_;
  llvm::DenseMap<const Value*, unsigned> last_;        // number of the instruction of the block that uses a vector last
  llvm::SmallPtrSet<const Instruction*, 32> aliases_;  // loads of slots that are not written while they are used
  llvm::SmallPtrSet<const Value*, 32> slots_, masks_;
  std::map<uint64_t, std::vector<Value*>> free_, taken_;
  std::vector<End> ends_;
  std::vector<Instruction*> done_;
  std::vector<std::pair<Instruction*, Instruction*>> apart_;
  unsigned number_ = 0;
};

}  // namespace

void shareOperations(llvm::Function& function, size_t most) { Sharer(function).run(most); }

}  // namespace vg::ptx::gen
