// Control flow: which copies of blocks exist, how convergent code branches, and how divergent regions run in linear
// order with one mask a block. What surrounds them is in frame.cpp.
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "ptx/llvm/analysis/block_uniform.h"
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/row_thread.h"
#include "ptx/llvm/passes/round_loops.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

Emitter::Emitter(Program& program, llvm::Module& module, const EmitOptions& options)
    : program_(program),
      module_(module),
      context_(module.getContext()),
      options_(options),
      b_(module.getContext()),
      w_(options.lanes),
      k_(kWarpSize / options.lanes),
      rowLanes_(options.rowLanes),
      rows_(options.rowLanes ? kWarpSize / options.rowLanes : 0) {}

llvm::Function* Emitter::run() {
  LType* const pointerType = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointerType, b_.getInt32Ty(), b_.getInt32Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "vg_kernel", module_);
  function_->addFnAttr("target-cpu", options_.cpu);
  // Every processor that this runs on exchanges 16 bytes at once, whether its name says so or not.
  function_->addFnAttr("target-features", options_.features.empty() ? "+cx16" : options_.features + ",+cx16");
  function_->addFnAttr("prefer-vector-width", options_.avx512 ? "512" : options_.avx2 ? "256" : "128");
  function_->addFnAttr("min-legal-vector-width", options_.avx512 ? "512" : "256");
  function_->addFnAttr("warn-stack-size", "0");  // LLVM tells the size of the frame
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  describeLines();
  prepare();
  planCopies();
  planLeanly();
  planEmptying();
  alike_ = suspends_ && waitsInOneCopy() && warpsMeetAlike(program_);
  emitPrologue();
  for (auto& [key, planned] : planned_) copies_[key] = newBlock(key.masked ? "masked" : "block");
  for (auto& [key, planned] : planned_) emitCopy(key);
  if (suspends_) {
    const SuspendFrame frame = suspendFrame();
    traits.frameBytes = splitAtSuspends(frame, suspendCalls_);
    if (alike_) separateRounds(frame);
  }
  if (suspendMark_) suspendMark_->eraseFromParent();
  return function_;
}

// A minimum of debug information: instructions that may fault carry their PTX line.
void Emitter::describeLines() {
  module_.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module_);
  llvm::DIFile* const file = builder.createFile("kernel.ptx", ".");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C99, file, "verdigris", true, "", 0, "",
                            llvm::DICompileUnit::LineTablesOnly);
  debugScope_ = builder.createFunction(file, "vg_kernel", "vg_kernel", file, 1,
                                       builder.createSubroutineType(builder.getOrCreateTypeArray({})), 1,
                                       llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(debugScope_);
  builder.finalize();
}

// --- One copy of a block -------------------------------------------------------------------------------------------

void Emitter::emitCopy(const CopyKey& key) {
  BB* const start = copies_.at(key);
  if (key.block == 0) {  // the way in
    b_.SetInsertPoint(warpStart_);
    if (b_.GetInsertBlock()->empty()) {
      Mask all;
      all.full = true;
      if (options_.fullWarps) {
        storeMask(liveSlot_, all);
        b_.CreateBr(copies_.at({onlyPart_ ? Part : Full, false, 0}));
      } else {
        Value* const threads = launchField(offsetof(KernelLaunch, threadsPerBlock), b_.getInt32Ty());
        Value* const rest = b_.CreateSub(threads, b_.CreateShl(warp_, 5));
        Mask mask;
        mask.full = false;
        for (uint32_t c = 0; c < k_; ++c) {
          Value* const lane = iota(c, b_.getInt32Ty(), 1);
          mask.chunks.push_back(b_.CreateICmpULT(lane, b_.CreateVectorSplat(w_, rest)));
        }
        storeMask(liveSlot_, mask);
        if (onlyPart_) {
          b_.CreateBr(copies_.at({Part, false, 0}));
        } else {
          BB* const full = newBlock("full");
          b_.CreateCondBr(b_.CreateICmpUGE(rest, b_.getInt32(32)), full, copies_.at({Part, false, 0}));
          b_.SetInsertPoint(full);
          storeMask(liveSlot_, all);
          b_.CreateBr(copies_.at({Full, false, 0}));
        }
      }
    }
  }

  local_.clear();
  vectors_.clear();
  warpTold_ = false;
  caching_ = true;
  b_.SetInsertPoint(start);
  mask_ = Mask{};
  BB* tail = nullptr;
  if (key.masked) {
    emptyMasksAt(key);
    tail = newBlock("tail");
    enterMasked(key, tail);
  } else if (key.version == Part) {
    mask_ = loadMask(liveSlot_);
    mask_.occupied = true;
  }
  // Everything that this copy takes from slots is loaded here.
  BB* const body = newBlock("body");
  loadPoint_ = b_.CreateBr(body);
  b_.SetInsertPoint(body);

  const Block& block = program_.blocks[key.block];
  for (ValueId phi : block.phis) {
    b_.SetInsertPoint(loadPoint_);
    if (phiSlots_[phi].empty()) phiSlots_[phi] = makeSlot(program_.values[phi], "phi");
    Form form = loadSlot(phiSlots_[phi], program_.values[phi]);
    b_.SetInsertPoint(body);
    define(phi, std::move(form));
  }
  for (uint32_t n : block.instructions) emitInstruction(program_.instructions[n]);
  if (key.masked) {
    emitMaskedEnd(key, tail);
    emitTail(key, tail);
  } else {
    emitConvergentEnd(key);
  }
}

size_t Emitter::edgeIndex(BlockId from, BlockId to) const {
  const auto& predecessors = program_.blocks[to].predecessors;
  for (size_t n = 0; n < predecessors.size(); ++n)
    if (predecessors[n] == from) return n;
  return 0;
}

// --- Phis ------------------------------------------------------------------------------------------------------------

// Stores what the phis of `to` get along an edge. With a mask, lanes outside of it keep what other edges gave them.
void Emitter::storePhis(BlockId from, BlockId to, const Mask* blend, bool alwaysBlend) {
  const size_t edge = edgeIndex(from, to);
  const Block& target = program_.blocks[to];
  for (ValueId id : target.phis) {
    const auto& phi = program_.values[id];
    Slot& slot = phiSlots_[id];
    if (slot.empty()) slot = makeSlot(phi, "phi");
    const ValueId in = phi.incoming[edge];
    Form form = toShape(in, phi);
    if (blend && alwaysBlend) {
      if (phi.shape.varying()) {
        const Chunks mask = chunksOf(*blend);
        const Form old = loadSlot(slot, phi);
        for (uint32_t c = 0; c < k_; ++c) form.chunks[c] = b_.CreateSelect(mask[c], form.chunks[c], old.chunks[c]);
      } else {
        const Form old = loadSlot(slot, phi);
        Value* const any = anyLane(*blend);
        if (form.scalar) form.scalar = b_.CreateSelect(any, form.scalar, old.scalar);
        for (size_t r = 0; r < form.rows.size(); ++r) form.rows[r] = b_.CreateSelect(any, form.rows[r], old.rows[r]);
      }
    }
    storeSlot(slot, phi, form);
  }
}

// Whether lanes may already hold values that another edge of the same kind gave to the phis of `to`.
static bool severalWaysIn(const Program& program, BlockId from, BlockId to) {
  const Block& target = program.blocks[to];
  const bool back = from >= to;
  size_t same = 0;
  for (BlockId p : target.predecessors) same += (p >= to) == back;
  if (same > 1) return true;
  // Lanes leave a loop over several iterations.
  const LoopId loop = program.blocks[from].loop;
  return loop != kNone && !program.inLoop(to, loop);
}

// `running` is the component in whose linear order we are, or which the edge enters.
void Emitter::maskedEdge(const CopyKey& key, BlockId to, uint32_t running, const Mask& mask) {
  if (to == endBlock(program_)) {
    if (program_.components[running].exit != to) storeMask(liveSlot_, without(loadMask(liveSlot_), mask));
    return;
  }
  const bool severalTimes = program_.components[running].takesTurns || severalWaysIn(program_, key.block, to);
  storePhis(key.block, to, &mask, severalTimes || !key.masked);
  if (program_.blocks[to].component == running) {
    auto& slot = maskSlot(key.version, to);
    storeMask(slot, either(loadMask(slot), mask));
  }
}

// --- Convergent code ---------------------------------------------------------------------------------------------

void Emitter::startComponent(Version v, uint32_t component, BlockId first) {
  const Component& c = program_.components[component];
  const auto forget = [&](BlockId b) {
    for (ValueId phi : program_.blocks[b].phis) {
      Slot& slot = phiSlots_[phi];
      if (slot.empty()) slot = makeSlot(program_.values[phi], "phi");
      const auto poison = [&](llvm::AllocaInst* a) {
        if (a) b_.CreateStore(llvm::UndefValue::get(a->getAllocatedType()), a);
      };
      poison(slot.scalar);
      poison(slot.holds);
      for (auto* a : slot.rows) poison(a);
      for (auto* a : slot.chunks) poison(a);
    }
  };
  emptyMasks(v, component, first);
  for (BlockId b : c.blocks) forget(b);
  if (c.exit != kNone && c.exit != endBlock(program_)) forget(c.exit);
}

void Emitter::go(Version v, BlockId from, BlockId to) {
  // Back edges of loops that wait for memory let others run.
  for (LoopId l = program_.blocks[from].loop; l != kNone; l = program_.loops[l].parent)
    if (program_.loops[l].header == to && program_.loops[l].polls) emitYield(program_.blocks[from].line);
  if (to == endBlock(program_)) {
    b_.CreateBr(warpLatch_);
    return;
  }
  const uint32_t component = program_.blocks[to].component;
  if (component != kNone && !duplicates(component, v)) {
    startComponent(v, component, to);
    storePhis(from, to, nullptr, false);
    Mask all = v == Full ? Mask{} : loadMask(liveSlot_);
    storeMask(maskSlot(v, to), all);
    b_.CreateBr(startOf(v, true, to));
    return;
  }
  storePhis(from, to, nullptr, false);
  b_.CreateBr(copies_.at({v, false, to}));
}

llvm::BasicBlock* Emitter::goBlock(Version v, BlockId from, BlockId to) {
  BB* const edge = newBlock("edge");
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(edge);
  const bool caching = std::exchange(caching_, false);
  go(v, from, to);
  caching_ = caching;
  return edge;
}

// Where a warp goes by one way of a branch on which all its lanes agree.
llvm::BasicBlock* Emitter::branchBlock(Version v, BlockId from, bool taken) {
  const Block& block = program_.blocks[from];
  const BlockId to = block.successors[taken ? 0 : 1];
  return to == endBlock(program_) ? behindWarp(block, from, taken) : goBlock(v, from, to);
}

void Emitter::emitConvergentEnd(const CopyKey& key) {
  const Block& block = program_.blocks[key.block];
  switch (block.terminator) {
    case Block::Exit:
      b_.CreateBr(warpLatch_);
      return;
    case Block::Jump:
      go(key.version, key.block, block.successors[0]);
      return;
    case Block::Branch:
      if (block.divergent) return emitConvergentBranch(key);
      {
        Value* condition = scalarOf(block.condition);
        if (block.conditionNegated) condition = b_.CreateNot(condition);
        BB* const yes = branchBlock(key.version, key.block, true);
        BB* const no = branchBlock(key.version, key.block, false);
        b_.CreateCondBr(b_.CreateFreeze(condition), yes, no);
      }
      return;
    case Block::Switch: {
      if (block.divergent) return emitConvergentBranch(key);
      Value* const index = b_.CreateFreeze(asInteger(scalarOf(block.condition), 32));
      BB* const last = goBlock(key.version, key.block, block.successors.back());
      auto* choice = b_.CreateSwitch(index, last, static_cast<unsigned>(block.successors.size()));
      for (size_t n = 0; n + 1 < block.successors.size(); ++n)
        choice->addCase(b_.getInt32(static_cast<uint32_t>(n)), goBlock(key.version, key.block, block.successors[n]));
      return;
    }
  }
}

void Emitter::edgeMasks(const CopyKey& key, llvm::SmallVectorImpl<Mask>& out) {
  const Block& block = program_.blocks[key.block];
  switch (block.terminator) {
    case Block::Exit:
      return;
    case Block::Jump:
      out.push_back(mask_);
      return;
    case Block::Branch: {
      const Mask taken = maskOf(block.condition, block.conditionNegated);
      out.push_back(both(mask_, taken));
      out.push_back(without(mask_, taken));
      return;
    }
    case Block::Switch: {
      Mask rest = mask_;
      for (size_t n = 0; n < block.successors.size(); ++n) {
        if (n + 1 == block.successors.size()) {
          out.push_back(rest);
          break;
        }
        Mask match;
        match.full = false;
        for (uint32_t c = 0; c < k_; ++c) {
          Value* const index = asInteger(chunkOf(block.condition, c), 32);
          match.chunks.push_back(b_.CreateICmpEQ(index, number(index, b_.getInt32Ty(), n)));
        }
        out.push_back(both(rest, match));
        rest = without(rest, match);
      }
      return;
    }
  }
}

void Emitter::emitConvergentBranch(const CopyKey& key) {
  if (isLaneExit(key.block)) return emitLaneExit(key);
  const Block& block = program_.blocks[key.block];
  const BlockId exit = program_.immediatePostDominator[key.block];
  uint32_t component = kNone;
  for (BlockId s : block.successors)
    if (s != exit && s != endBlock(program_)) component = program_.blocks[s].component;
  if (key.version == Full && component != kNone && duplicates(component, Full) && block.terminator == Block::Branch) {
    BB* const yes = branchBlock(Full, key.block, true);
    BB* const no = branchBlock(Full, key.block, false);
    auto [all, none] = quickTests(block.condition, block.conditionNegated);
    Mask taken;
    if (all) {
      BB* const second = newBlock("none");
      BB* const third = newBlock("mixed");
      b_.CreateCondBr(b_.CreateFreeze(all), yes, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(b_.CreateFreeze(none), no, third);
      b_.SetInsertPoint(third);
      caching_ = false;
      taken = mixedMask(block.condition, block.conditionNegated);
    } else {
      const PartedMask parted = partedMaskOf(block.condition, block.conditionNegated);
      taken = parted.lanes;  // where they differ, the bit does not decide
      BB* const second = newBlock("none");
      BB* const third = newBlock("mixed");
      b_.CreateCondBr(withBit(parted, allLanes(taken)), yes, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(withBit(parted, anyLane(taken)), third, no);
      b_.SetInsertPoint(third);
    }
    Mask edges[2] = {taken, without(Mask{}, taken)};
    emitMixed(key, mask_, edges);
    return;
  }
  llvm::SmallVector<Mask, 4> edges;
  edgeMasks(key, edges);
  emitMixed(key, mask_, edges);
}

// Where linear order goes on behind a block whose lanes part; kNone: none of its ways stays in the component. Lanes
// that begin a loop anew wait for those that are not through with it, whose values the loop would overwrite.
BlockId Emitter::firstBehind(BlockId from, uint32_t component) const {
  BlockId onward = kNone, again = kNone;
  for (BlockId s : program_.blocks[from].successors) {
    if (s == endBlock(program_) || component == kNone || program_.blocks[s].component != component) continue;
    if (s > from)
      onward = std::min(onward, s);
    else
      again = again == kNone ? s : std::max(again, s);
  }
  if (again == kNone) return onward;
  if (onward == kNone) return again;
  for (LoopId l = program_.blocks[from].loop; l != kNone; l = program_.loops[l].parent)
    if (program_.loops[l].header == again) return program_.inLoop(onward, l) ? onward : again;
  return again;
}

// Lanes part: every way gets its mask, then the component runs in linear order.
void Emitter::emitMixed(const CopyKey& key, const Mask&, ArrayRef<Mask> edges) {
  const Block& block = program_.blocks[key.block];
  const BlockId exit = program_.immediatePostDominator[key.block];
  const BlockId end = endBlock(program_);
  // A block of a component branches within it, also to the join of its branch; one before it branches into it.
  uint32_t component = block.component;
  for (BlockId s : block.successors)
    if (component == kNone && s != exit && s != end) component = program_.blocks[s].component;
  const BlockId first = firstBehind(key.block, component);
  if (first == kNone) {  // every way leads to the same place
    for (size_t n = 0; n < edges.size(); ++n) storePhis(key.block, exit, &edges[n], n > 0);
    b_.CreateBr(startOf(key.version, false, exit));
    return;
  }
  startComponent(key.version, component, first);
  for (size_t n = 0; n < edges.size(); ++n) maskedEdge(key, block.successors[n], component, edges[n]);
  b_.CreateBr(startOf(key.version, true, first));
}

void Emitter::emitLaneExit(const CopyKey& key) {
  const Block& block = program_.blocks[key.block];
  const BlockId end = endBlock(program_);
  const bool firstExits = block.successors[0] == end;
  const BlockId stay = block.successors[firstExits ? 1 : 0];
  // The predicate that a lane stays.
  const bool negated = block.conditionNegated != firstExits;
  if (key.version == Full) {
    auto [all, none] = quickTests(block.condition, negated);
    BB* const on = goBlock(Full, key.block, stay);
    BB* const second = newBlock("leave");
    BB* const third = newBlock("some");
    Mask stays;
    if (all) {
      b_.CreateCondBr(b_.CreateFreeze(all), on, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(b_.CreateFreeze(none), behindWarp(block, key.block, firstExits), third);
      b_.SetInsertPoint(third);
      caching_ = false;
      stays = mixedMask(block.condition, negated);
      // The quick tests may miss a wrap inside the warp.
      BB* const fourth = newBlock("some");
      b_.CreateCondBr(anyLane(stays), fourth, warpLatch_);
      b_.SetInsertPoint(fourth);
    } else {
      stays = maskOf(block.condition, negated);
      b_.CreateCondBr(allLanes(stays), on, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(anyLane(stays), third, warpLatch_);
      b_.SetInsertPoint(third);
    }
    storeMask(liveSlot_, stays);
    go(Part, key.block, stay);
    return;
  }
  const Mask stays = both(mask_, maskOf(block.condition, negated));
  storeMask(liveSlot_, stays);
  BB* const on = newBlock("stay");
  b_.CreateCondBr(anyLane(stays), on, warpLatch_);
  b_.SetInsertPoint(on);
  go(Part, key.block, stay);
}

void Emitter::emitYield(uint32_t line) {
  const llvm::DebugLoc before = b_.getCurrentDebugLocation();
  b_.SetCurrentDebugLocation(llvm::DebugLoc(llvm::DILocation::get(context_, line, 0, debugScope_)));
  runtimeCall(offsetof(RuntimeCalls, yield), b_.getVoidTy(), {blockArgument_, warp_});
  b_.SetCurrentDebugLocation(before);
}

}  // namespace vg::ptx::gen
