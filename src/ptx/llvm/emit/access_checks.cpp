#include "ptx/llvm/emit/access_checks.h"

#include <llvm/IR/MDBuilder.h>

#include <bit>

#include "ptx/abi/check_abi.h"
#include "ptx/abi/reach_abi.h"
#include "ptx/llvm/analysis/reach.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kAsked = 7;        // the scratch array of the addresses
constexpr uint32_t kMostStored = 64;  // bytes of a lane
constexpr uint32_t kRare = 1, kUsual = 1 << 20;
constexpr int64_t kFarthestStep = int64_t{1} << 20;

bool isShared(Space space) { return space == Space::Shared || space == Space::SharedCluster; }

// Of a variable that has a size of its own and lives as long as the kernel.
uint64_t sizeOf(const Program& program, const Value& symbol) {
  if (symbol.kind != Value::Symbol) return 0;
  if (symbol.symbolKind == SymbolKind::FunctionVariable) {
    const Variable& variable = program.module->functions[symbol.function].variables[symbol.symbol];
    return variable.space == Space::Local ? program.localSize : 0;
  }
  if (symbol.symbolKind == SymbolKind::Parameter || symbol.symbol >= program.module->variables.size()) return 0;
  const Variable& variable = program.module->variables[symbol.symbol];
  return variable.space == Space::Global || variable.space == Space::Const ? variable.size : 0;
}

// The slot of the shared variable, with a size of its own, that an address is computed from; null: there is none.
const SharedLayout::Slot* sharedSlot(const Program& program, const Value& symbol) {
  if (symbol.kind != Value::Symbol) return nullptr;
  const bool ofFunction = symbol.symbolKind == SymbolKind::FunctionVariable;
  if (!ofFunction && symbol.symbolKind != SymbolKind::ModuleVariable) return nullptr;
  const std::vector<SharedLayout::Slot>& slots = program.shared.slots;
  const auto slot = llvm::find_if(slots, [&](const SharedLayout::Slot& s) {
    return s.moduleScope != ofFunction && s.variable == symbol.symbol && (!ofFunction || s.function == symbol.function);
  });
  return slot == slots.end() || slot - slots.begin() >= kOfVariable || variableOf(*program.module, *slot).unsizedArray
             ? nullptr
             : &*slot;
}

// Whether other blocks may touch it, too.
bool isGlobalVariable(const Program& program, const Value& symbol) {
  if (symbol.kind != Value::Symbol || symbol.symbolKind != SymbolKind::ModuleVariable) return false;
  return symbol.symbol < program.module->variables.size() &&
         program.module->variables[symbol.symbol].space == Space::Global;
}

}  // namespace

// Constant places in a variable.
bool AccessChecks::needsNone(const Checked& access) {
  const AccessOrigin origin = accessOrigin(program_, access.i, access.source, access.bytes);
  const auto& v = program_.values[origin.value];
  // Accesses that order others count wherever they go, and all that may meet those of other blocks.
  if (tells(access) && (isStrongAccess(*access.i.ast) || isGlobalVariable(program_, v))) return false;
  return origin.reach && *origin.reach <= sizeOf(program_, v);
}

uint32_t AccessChecks::numberOf(ValueId origin) {
  return numbers_.emplace(origin, static_cast<uint32_t>(numbers_.size()) % kCheckedRanges).first->second;
}

const SharedLayout::Slot* AccessChecks::slotOf(const Checked& access) {
  if (!isShared(access.space)) return nullptr;
  const ValueId symbol = symbolOf(program_, access.i.sources[access.source]);
  return symbol == kNone ? nullptr : sharedSlot(program_, program_.values[symbol]);
}

AccessChecks::Range AccessChecks::rangeOf(const Checked& access) {
  if (const SharedLayout::Slot* const slot = slotOf(access))
    return {b_.CreateAdd(runner_.ownShared(), b_.getInt64(slot->offset)),
            b_.getInt64(variableOf(*program_.module, *slot).size + 1)};
  if (isShared(access.space)) {
    Value* const limit =
        b_.CreateZExt(runner_.blockField(offsetof(BlockState, sharedLimit), b_.getInt32Ty()), b_.getInt64Ty());
    return {runner_.ownShared(), b_.CreateAdd(limit, b_.getInt64(1))};
  }
  const AccessOrigin origin = accessOrigin(program_, access.i, access.source, access.bytes);
  Value* const ranges = runner_.blockField(offsetof(BlockState, checked), b_.getPtrTy());
  const uint64_t at = offsetof(CheckedRanges, ranges) + numberOf(origin.value) * sizeof(CheckedRange);
  const auto field = [&](uint64_t offset) {
    return b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ranges, at + offset),
                                llvm::Align(8));
  };
  return {field(offsetof(CheckedRange, base)), field(offsetof(CheckedRange, room))};
}

// Whether lanes that are `step` bytes apart are inside.
llvm::Value* AccessChecks::startFits(Value* first, int64_t step, uint32_t lanes, uint32_t bytes, const Range& range) {
  const int64_t last = step * (lanes - 1);
  Value* const lowest = last < 0 ? b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(last))) : first;
  const uint64_t extent = static_cast<uint64_t>(std::abs(last)) + bytes;
  Value* const rest = b_.intrinsic(llvm::Intrinsic::usub_sat, {range.room, b_.getInt64(extent)});
  return b_.CreateICmpULT(b_.CreateSub(lowest, range.base), rest);
}

// Whether `holds`, a vector of i1, is true in all lanes of the mask.
llvm::Value* AccessChecks::allOf(const Mask& mask, const std::function<Value*(uint32_t)>& holds) {
  Mask lanes;
  lanes.full = false;
  for (uint32_t c = 0; c < k_; ++c)
    lanes.chunks.push_back(mask.full ? holds(c) : b_.CreateOr(holds(c), b_.CreateNot(mask.chunks[c])));
  return masks_.allLanes(lanes);
}

llvm::Value* AccessChecks::fits(const Checked& access, const Address& a, const Range& range, const Mask& mask) {
  if (a.shape.uniform()) return startFits(a.scalar, 0, 1, access.bytes, range);
  const bool isNear = a.shape.straight() && std::abs(a.shape.stride) <= kFarthestStep;
  if (isNear && (a.scalar || !a.rows.empty())) {
    Value* inside = a.scalar ? startFits(a.scalar, a.shape.stride, kWarpSize, access.bytes, range) : nullptr;
    for (Value* const first : a.rows) {
      Value* const row = startFits(first, a.shape.stride, rowLanes_, access.bytes, range);
      inside = inside ? b_.CreateAnd(inside, row) : row;
    }
    return a.holds ? b_.CreateAnd(inside, a.holds) : inside;
  }
  Value* const rest = b_.intrinsic(llvm::Intrinsic::usub_sat, {range.room, b_.getInt64(access.bytes)});
  return allOf(mask, [&](uint32_t c) {
    Value* const address = addresses_.addressChunk(a, c);
    return b_.CreateICmpULT(b_.CreateSub(address, b_.CreateVectorSplat(w_, range.base)),
                            b_.CreateVectorSplat(w_, rest));
  });
}

llvm::Value* AccessChecks::localArea() {
  return runner_.localArea ? b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty()) : b_.getInt64(0);
}

// Each lane has a part of the local memory to itself.
llvm::Value* AccessChecks::fitsLocal(const Checked& access, const Address& a, const Mask& mask) {
  if (!runner_.localArea || program_.localSize < access.bytes) return b_.getFalse();
  const int64_t stride = program_.localStride();
  Value* const rest = b_.getInt64(program_.localSize - access.bytes);
  if (a.scalar && a.shape.affine() && a.shape.stride == stride && !a.holds)
    return b_.CreateICmpULE(b_.CreateSub(a.scalar, localArea()), rest);
  return allOf(mask, [&](uint32_t c) {
    Value* const own = b_.CreateAdd(b_.CreateVectorSplat(w_, localArea()), b_.iota(c, b_.getInt64Ty(), stride));
    return b_.CreateICmpULE(b_.CreateSub(addresses_.addressChunk(a, c), own), b_.CreateVectorSplat(w_, rest));
  });
}

llvm::Value* AccessChecks::isAligned(const Checked& access, const Address& a, const Mask& mask) {
  if (access.alignment == 1) return b_.getTrue();
  const auto aligned = [&](Value* address) {
    Value* const low = b_.CreateAnd(address, b_.number(address, b_.getInt64Ty(), access.alignment - 1));
    return b_.CreateICmpEQ(low, llvm::Constant::getNullValue(low->getType()));
  };
  const bool alike = a.shape.uniform() || (a.shape.straight() && a.shape.stride % access.alignment == 0);
  if (!alike || (!a.scalar && a.rows.empty()))
    return allOf(mask, [&](uint32_t c) { return aligned(addresses_.addressChunk(a, c)); });
  Value* starts = a.scalar;
  for (Value* const row : a.rows) starts = starts ? b_.CreateOr(starts, row) : row;
  return aligned(starts);
}

llvm::Value* AccessChecks::isFine(const Checked& access, const Address& a, const Mask& mask) {
  Value* const inside =
      access.space == Space::Local ? fitsLocal(access, a, mask) : fits(access, a, rangeOf(access), mask);
  return b_.CreateAnd(inside, isAligned(access, a, mask));
}

// What is stored, in memory.
llvm::Value* AccessChecks::kept(const Checked& access) {
  if (!access.data || !tells(access)) return llvm::ConstantPointerNull::get(b_.getPtrTy());
  LType* const byte = b_.getInt8Ty();
  if (!stored_)
    stored_ = b_.entryAlloca(llvm::ArrayType::get(byte, kWarpSize * kMostStored), "stored", llvm::Align(64));
  const uint32_t bytes = access.dataBits / 8;
  uint64_t at = 0;
  for (const Chunks& element : *access.data)
    for (Value* const chunk : element) {
      b_.CreateAlignedStore(b_.asInteger(chunk, access.dataBits), b_.CreateConstInBoundsGEP1_64(byte, stored_, at),
                            llvm::Align(bytes));
      at += uint64_t{w_} * bytes;
    }
  return stored_;
}

static llvm::Value* lanesWord(Builder& b, uint8_t lanes) {
  AccessForm form;
  form.lanes = lanes;
  return b.getInt64(wordOf(form));
}

AccessChecks::Told AccessChecks::toldByRows(const Address& a, uint8_t lanes) {
  LType* const word = b_.getInt64Ty();
  if (!starts_) starts_ = b_.entryAlloca(llvm::ArrayType::get(word, kWarpSize), "starts", llvm::Align(64));
  const bool inRows = !a.rows.empty();
  const uint32_t rows = inRows ? rows_ : 1, each = inRows ? rowLanes_ : kWarpSize;
  for (uint32_t row = 0; row < rows; ++row)
    b_.CreateAlignedStore(inRows ? a.rows[a.rows.size() > 1 ? row : 0] : a.scalar,
                          b_.CreateConstInBoundsGEP1_64(word, starts_, row), llvm::Align(8));
  return {starts_, lanesWord(b_, static_cast<uint8_t>(lanes | std::countr_zero(each) << kRowLanesShift))};
}

AccessChecks::Told AccessChecks::toldEither(Value* holds, const std::function<Told()>& one,
                                            const std::function<Told()>& other) {
  BB *const rows = b_.newBlock("told"), *const lanes = b_.newBlock("told");
  b_.CreateCondBr(b_.CreateFreeze(holds), rows, lanes, llvm::MDBuilder(context_).createBranchWeights(kUsual, kRare));
  const auto both = [](const Told& told) -> Components { return {{told.addresses, told.lanes}}; };
  const Components found = b_.eitherOf(
      rows, [&] { return both(one()); }, lanes, [&] { return both(other()); });
  return {found[0][0], found[0][1]};
}

// How rows of lanes lie, AccessLanes; EachAlone: in no rows.
uint8_t AccessChecks::rowsOf(const Checked& access, const Address& a) const {
  const bool onePlace = a.shape.uniform() || (a.shape.straight() && a.shape.stride == 0);
  const bool sideBySide = a.shape.straight() && a.shape.stride == static_cast<int64_t>(access.bytes);
  const bool whole = a.rows.size() <= 1 || a.rows.size() == rows_;
  const bool known = a.scalar || !a.rows.empty();
  if (!tells(access) || !known || !whole || !(sideBySide || onePlace))
    return static_cast<uint8_t>(AccessLanes::EachAlone);
  return static_cast<uint8_t>(onePlace ? AccessLanes::OnePlace : AccessLanes::SideBySide);
}

AccessChecks::Told AccessChecks::told(const Checked& access, const Address& a) {
  const auto alone = [&]() -> Told { return {b_.spill(kAsked, addresses_.addressChunks(a)), lanesWord(b_, 0)}; };
  const uint8_t lanes = rowsOf(access, a);
  if (!lanes) return alone();
  const auto rows = [&] { return toldByRows(a, lanes); };
  return a.holds ? toldEither(a.holds, rows, alone) : rows();
}

uint64_t AccessChecks::formOf(const Checked& access) {
  const AccessOrigin origin = accessOrigin(program_, access.i, access.source, access.bytes);
  AccessForm form;
  form.kind = static_cast<uint8_t>(kindOfAccess(*access.i.ast, access.source == 0));
  form.strong = isStrongAccess(*access.i.ast);
  form.space = static_cast<uint8_t>(access.space);
  form.alignmentBits = static_cast<uint8_t>(std::countr_zero(access.alignment));
  if (const SharedLayout::Slot* const slot = slotOf(access))
    form.range = static_cast<uint8_t>(kOfVariable | (slot - program_.shared.slots.data()));
  else
    form.range = static_cast<uint8_t>(numberOf(origin.value));
  form.bytes = static_cast<uint8_t>(access.bytes);
  form.elementBytes = static_cast<uint8_t>(access.data && tells(access) ? access.dataBits / 8 : 0);
  return wordOf(form);
}

// A load of shared memory that is well goes to the list of those (ReadNote), where there is room.
void AccessChecks::noteOrAsk(const Checked& access, const Address& a, const Mask& mask, Value* fine, const Ways& ways,
                             BB* asks) {
  const uint8_t lanes = rowsOf(access, a);
  const bool loads = kindOfAccess(*access.i.ast, access.source == 0) == Access::Kind::Load;
  if (!lanes || !loads || !isShared(access.space) || isStrongAccess(*access.i.ast)) return void(b_.CreateBr(asks));
  const bool inRows = !a.rows.empty();
  const uint32_t rows = inRows ? rows_ : 1, each = inRows ? rowLanes_ : kWarpSize;
  LType *const byte = b_.getInt8Ty(), *const word = b_.getInt64Ty();
  Value* const ranges = runner_.blockField(offsetof(BlockState, checked), b_.getPtrTy());
  const auto field = [&](uint64_t at) { return b_.CreateConstInBoundsGEP1_64(byte, ranges, at); };
  Value* const next = b_.CreateAlignedLoad(word, field(offsetof(CheckedRanges, next)), llvm::Align(8));
  Value* const end = b_.CreateAlignedLoad(word, field(offsetof(CheckedRanges, end)), llvm::Align(8));
  Value* const behind = b_.CreateAdd(next, b_.getInt64(rows * sizeof(ReadNote)));
  Value* may = b_.CreateAnd(fine, b_.CreateICmpULE(behind, end));
  if (a.holds) may = b_.CreateAnd(may, a.holds);
  BB* const notes = b_.newBlock("notes");
  b_.CreateCondBr(b_.CreateFreeze(may), notes, asks, llvm::MDBuilder(context_).createBranchWeights(kUsual, kRare));
  b_.SetInsertPoint(notes);
  const bool caching = std::exchange(b_.caching, false);
  AccessForm form;
  form.lanes = static_cast<uint8_t>(lanes | std::countr_zero(each) << kRowLanesShift);
  Value* const bits = masks_.maskBits(mask);
  const auto store = [&](Value* value, uint64_t at, unsigned align) {
    b_.CreateAlignedStore(value, b_.CreateConstInBoundsGEP1_64(byte, b_.pointer(next), at), llvm::Align(align));
  };
  for (uint32_t row = 0; row < rows; ++row) {
    const uint64_t at = row * sizeof(ReadNote);
    store(inRows ? a.rows[a.rows.size() > 1 ? row : 0] : a.scalar, at + offsetof(ReadNote, start), 8);
    store(b_.getInt64(formOf(access) | wordOf(form)), at + offsetof(ReadNote, form), 8);
    store(bits, at + offsetof(ReadNote, mask), 4);
    store(runner_.warp, at + offsetof(ReadNote, warp), 4);
    store(b_.getInt32(row), at + offsetof(ReadNote, row), 4);
    store(b_.getInt32(access.i.ast->line), at + offsetof(ReadNote, line), 4);
  }
  b_.CreateAlignedStore(behind, field(offsetof(CheckedRanges, next)), llvm::Align(8));
  b_.caching = caching;
  b_.CreateBr(ways.all);
}

// The lanes that may, as i32. `found`: whether all may, as the code itself has found; null: it has not.
llvm::Value* AccessChecks::ask(const Checked& access, const Address& a, const Mask& mask, Value* found) {
  const Told places = told(access, a);
  Value* const locals = runner_.localArea ? runner_.localArea : llvm::ConstantPointerNull::get(b_.getPtrTy());
  Value* const frameEnd = emission_.traits.allocates
                              ? b_.callIntrinsic(llvm::Intrinsic::addressofreturnaddress, {b_.getPtrTy()}, {})
                              : llvm::ConstantPointerNull::get(b_.getPtrTy());
  Value* word = b_.CreateOr(places.lanes, b_.getInt64(formOf(access)));
  if (found) word = b_.CreateOr(word, b_.CreateSelect(found, lanesWord(b_, kFound), b_.getInt64(0)));
  Value* const ranges = runner_.blockField(offsetof(BlockState, checked), b_.getPtrTy());
  Value* const asked =
      runner_.runtimeCall(offsetof(ReachCalls, check), b_.getInt32Ty(),
                          {runner_.block, ranges, runner_.warp, runner_.blockIndex(0), masks_.maskBits(mask),
                           places.addresses, word, b_.getInt32(access.i.ast->line), locals, frameEnd, kept(access)});
  if (tells(access)) return asked;
  // Loads and stores around it know that it is none.
  llvm::cast<llvm::CallInst>(asked)->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  return asked;
}

AccessChecks::Ways AccessChecks::split(const Checked& access, const Mask& mask) {
  const Address a = addresses_.addressOf(access.i, access.source, access.space);
  BB *const asks = b_.newBlock("asks"), *const all = b_.newBlock("all"), *const some = b_.newBlock("some");
  Value* const fine = b_.CreateFreeze(isFine(access, a, mask));
  if (tells(access))
    noteOrAsk(access, a, mask, fine, {all, some, nullptr}, asks);
  else
    b_.CreateCondBr(fine, all, asks, llvm::MDBuilder(context_).createBranchWeights(kUsual, kRare));
  b_.SetInsertPoint(asks);
  const bool caching = std::exchange(b_.caching, false);
  Value* const may = ask(access, a, mask, tells(access) ? fine : nullptr);
  Value* const wanted = masks_.maskBits(mask);
  Value* const whole = b_.CreateAnd(b_.CreateICmpEQ(may, wanted), b_.CreateICmpNE(wanted, b_.getInt32(0)));
  b_.CreateCondBr(whole, all, some, llvm::MDBuilder(context_).createBranchWeights(kUsual, kRare));
  b_.caching = caching;
  return {all, some, may};
}

Components AccessChecks::either(const Checked& access, const Mask& mask, const std::function<Components()>& all,
                                const std::function<Components(const Mask& allowed)>& some) {
  if (!on() || needsNone(access)) return all();
  const Ways ways = split(access, mask);
  return b_.eitherOf(ways.all, all, ways.some, [&] { return some(masks_.maskFromBits(ways.lanes)); });
}

Mask AccessChecks::allowed(const Checked& access, const Mask& mask) {
  if (!on() || needsNone(access)) return mask;
  Mask lanes;
  lanes.full = false;
  Components chunks = either(
      access, mask, [&]() -> Components { return {masks_.chunksOf(mask)}; },
      [&](const Mask& some) -> Components { return {masks_.chunksOf(some)}; });
  lanes.chunks = std::move(chunks[0]);
  return lanes;
}

Components AccessChecks::zeroed(Components loaded, const Mask& allowed) {
  if (allowed.full) return loaded;
  for (Chunks& element : loaded)
    for (uint32_t c = 0; c < k_; ++c)
      element[c] = b_.CreateSelect(allowed.chunks[c], element[c], llvm::Constant::getNullValue(element[c]->getType()));
  return loaded;
}

}  // namespace vg::ptx::gen
