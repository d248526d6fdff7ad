// Control flow: which copies of blocks exist, how convergent code branches, and how divergent regions run in linear
// order with one mask a block. What surrounds them is in emit_frame.cpp.
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "ptx/llvm/block_uniform.h"
#include "ptx/llvm/control_flow.h"
#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"
#include "ptx/llvm/round_loops.h"
#include "ptx/llvm/row_thread.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

namespace {
// Divergent regions up to this many instructions get a convergent copy for "all lanes agree".
constexpr uint32_t kDuplicateLimit = 400;
// Kernels beyond this many instructions get one version with a mask of live lanes instead of two.
constexpr size_t kTwoVersionsLimit = 2500;
// Blocks up to this many instructions run with an empty mask rather than test it.
constexpr size_t kUntestedLimit = 12;
}  // namespace

Emitter::Emitter(Program& program, llvm::Module& module, const EmitOptions& options)
    : program_(program),
      module_(module),
      context_(module.getContext()),
      options_(options),
      b_(module.getContext()),
      w_(options.lanes),
      k_(kWarpSize / options.lanes) {}

llvm::Function* Emitter::run() {
  LType* const pointerType = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointerType, b_.getInt32Ty(), b_.getInt32Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "vg_kernel", module_);
  function_->addFnAttr("target-cpu", options_.cpu);
  function_->addFnAttr("target-features", options_.features);
  function_->addFnAttr("prefer-vector-width", options_.avx512 ? "512" : options_.avx2 ? "256" : "128");
  function_->addFnAttr("min-legal-vector-width", options_.avx512 ? "512" : "256");
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  describeLines();
  prepare();
  planCopies();
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

// --- Which copies exist ------------------------------------------------------------------------------------------

void Emitter::prepare() {
  const size_t count = program_.values.size();
  slots_.resize(count);
  phiSlots_.resize(count);
  direct_.resize(count);
  onlyPart_ = program_.instructions.size() > kTwoVersionsLimit;
  for (const Loop& loop : program_.loops) traits.polls |= loop.polls;
  traits.loops = !program_.loops.empty();
  suspends_ = suspendsOnly();
  traits.waits = !suspends_ && mayWait();
  traits.spans = !traits.waits && !asksForCluster();
  for (const Instruction& i : program_.instructions)
    traits.atomics |= (i.ast->op == Op::Atom || i.ast->op == Op::Red) && i.ast->space != Space::Shared;
  traits.staticShared = program_.shared.staticSize;
  traits.dynamicSharedOffset = program_.shared.dynamicOffset;
  traits.localPerThread = program_.localSize;
  traits.usesDynamicShared = program_.usesDynamicShared;
  traits.clusterAddresses = program_.references.clusterAddresses;
  markFragileSources();
  markRead();
}

void Emitter::markRead() {
  read_.assign(program_.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNone) read_[id] = true;
  };
  for (const Instruction& i : program_.instructions) {
    for (ValueId id : i.sources) mark(id);
    for (ValueId id : i.old) mark(id);
    mark(i.guard);
    mark(i.carryIn);
  }
  for (const auto& value : program_.values)
    for (ValueId id : value.incoming) mark(id);
  for (const Block& block : program_.blocks) mark(block.condition);
}

bool Emitter::duplicates(uint32_t component, Version v) const {
  return v == Full && program_.components[component].weight <= kDuplicateLimit;
}

// A branch by which some lanes leave the kernel and the others go on together.
bool Emitter::isLaneExit(BlockId b) const {
  const Block& block = program_.blocks[b];
  if (block.successors.size() != 2) return false;
  const BlockId end = endBlock(program_);
  for (int n = 0; n < 2; ++n)
    if (block.successors[n] == end && block.successors[1 - n] != end &&
        program_.immediatePostDominator[b] == block.successors[1 - n])
      return true;
  return false;
}

void Emitter::planCopy(const CopyKey& key) {
  if (planned_.try_emplace(key, true).second) planWork_.push_back(key);
}

void Emitter::planGo(Version v, BlockId b) {
  const uint32_t component = program_.blocks[b].component;
  if (b == endBlock(program_)) return;
  if (component != kNone && !duplicates(component, v)) return planMasked(v, component);
  planCopy({v, false, b});
}

void Emitter::planMasked(Version v, uint32_t component) {
  for (BlockId b : program_.components[component].blocks) {
    planCopy({v, true, b});
    if (duplicates(component, v) && joinsInside(b)) planCopy({v, false, b});
  }
}

// Whether the ways of a divergent branch meet in a block that itself belongs to a divergent region.
bool Emitter::joinsInside(BlockId b) const {
  if (program_.blocks[b].component == kNone) return false;
  for (BlockId from = 0; from < program_.blocks.size(); ++from)
    if (program_.blocks[from].divergent && program_.immediatePostDominator[from] == b) return true;
  return false;
}

void Emitter::planCopies() {
  if (onlyPart_ || !options_.fullWarps) planGo(Part, 0);
  if (!onlyPart_) planGo(Full, 0);
  while (!planWork_.empty()) {
    const CopyKey key = planWork_.back();
    planWork_.pop_back();
    const Block& block = program_.blocks[key.block];
    if (key.masked) {
      const Component& c = program_.components[block.component];
      if (c.exit == endBlock(program_)) continue;
      planGo(key.version, c.exit);
      if (c.hasLaneExits) planGo(Part, c.exit);
      continue;
    }
    if (!block.divergent) {
      for (BlockId s : block.successors) planGo(key.version, s);
      continue;
    }
    const bool laneExit = isLaneExit(key.block);
    for (BlockId s : block.successors) {
      if (s == endBlock(program_)) continue;
      if (laneExit) {
        planGo(Part, s);
        planGo(key.version, s);
        continue;
      }
      const uint32_t component = program_.blocks[s].component;
      const bool leaves = s == program_.immediatePostDominator[key.block];
      if (leaves) {
        planGo(key.version, s);
      } else {
        planMasked(key.version, component);
        if (duplicates(component, key.version)) planCopy({key.version, false, s});
      }
    }
  }
}

llvm::BasicBlock* Emitter::startOf(Version v, bool masked, BlockId b) {
  if (b == endBlock(program_)) return warpLatch_;
  return copies_.at({v, masked, b});
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
  caching_ = true;
  b_.SetInsertPoint(start);
  mask_ = Mask{};
  BB* tail = nullptr;
  if (key.masked) {
    auto& slot = maskSlot(key.version, key.block);
    mask_ = loadMask(slot);
    Mask none;
    none.full = false;
    for (uint32_t c = 0; c < k_; ++c) none.chunks.push_back(llvm::Constant::getNullValue(vectorOf(b_.getInt1Ty())));
    storeMask(slot, none);
    tail = newBlock("tail");
    if (key.version == Full && joinsInside(key.block) && duplicates(program_.blocks[key.block].component, Full)) {
      // All lanes are together again: on with convergent code.
      BB* const some = newBlock("some");
      b_.CreateCondBr(allLanes(mask_), copies_.at({Full, false, key.block}), some);
      b_.SetInsertPoint(some);
    }
    if (needsLaneTest(key.block)) {
      BB* const body = newBlock("body");
      b_.CreateCondBr(anyLane(mask_), body, tail);
      b_.SetInsertPoint(body);
    }
  } else if (key.version == Part) {
    mask_ = loadMask(liveSlot_);
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
    if (program_.values[in].kind == vg::ptx::gen::Value::Undefined) continue;
    Form form = toShape(in, phi);
    if (blend && alwaysBlend) {
      if (phi.shape.varying()) {
        const Chunks mask = chunksOf(*blend);
        const Form old = loadSlot(slot, phi);
        for (uint32_t c = 0; c < k_; ++c) form.chunks[c] = b_.CreateSelect(mask[c], form.chunks[c], old.chunks[c]);
      } else {
        const Form old = loadSlot(slot, phi);
        form.scalar = b_.CreateSelect(anyLane(*blend), form.scalar, old.scalar);
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
  storePhis(key.block, to, &mask, severalWaysIn(program_, key.block, to) || !key.masked);
  if (program_.blocks[to].component == running) {
    auto& slot = maskSlot(key.version, to);
    storeMask(slot, either(loadMask(slot), mask));
  }
}

// --- Convergent code ---------------------------------------------------------------------------------------------

void Emitter::startComponent(Version v, uint32_t component) {
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
      for (auto* a : slot.chunks) poison(a);
    }
  };
  Mask none;
  none.full = false;
  for (uint32_t n = 0; n < k_; ++n) none.chunks.push_back(llvm::Constant::getNullValue(vectorOf(b_.getInt1Ty())));
  for (BlockId b : c.blocks) {
    storeMask(maskSlot(v, b), none);
    forget(b);
  }
  if (c.exit != kNone && c.exit != endBlock(program_)) forget(c.exit);
}

void Emitter::go(Version v, BlockId from, BlockId to) {
  // Back edges of loops that wait for memory let others run.
  for (LoopId l = program_.blocks[from].loop; l != kNone; l = program_.loops[l].parent)
    if (program_.loops[l].header == to && program_.loops[l].polls) emitYield();
  if (to == endBlock(program_)) {
    b_.CreateBr(warpLatch_);
    return;
  }
  const uint32_t component = program_.blocks[to].component;
  if (component != kNone && !duplicates(component, v)) {
    startComponent(v, component);
    storePhis(from, to, nullptr, false);
    Mask all = v == Full ? Mask{} : loadMask(liveSlot_);
    storeMask(maskSlot(v, to), all);
    b_.CreateBr(copies_.at({v, true, to}));
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
        BB* const yes = goBlock(key.version, key.block, block.successors[0]);
        BB* const no = goBlock(key.version, key.block, block.successors[1]);
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
    BB* const yes = goBlock(Full, key.block, block.successors[0]);
    BB* const no = goBlock(Full, key.block, block.successors[1]);
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
      taken = maskOf(block.condition, block.conditionNegated);
      BB* const second = newBlock("none");
      BB* const third = newBlock("mixed");
      b_.CreateCondBr(allLanes(taken), yes, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(anyLane(taken), third, no);
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

// Lanes part: every way gets its mask, then the component runs in linear order.
void Emitter::emitMixed(const CopyKey& key, const Mask&, ArrayRef<Mask> edges) {
  const Block& block = program_.blocks[key.block];
  const BlockId exit = program_.immediatePostDominator[key.block];
  const BlockId end = endBlock(program_);
  // A block of a component branches within it, also to the join of its branch; one before it branches into it.
  uint32_t component = block.component;
  for (BlockId s : block.successors)
    if (component == kNone && s != exit && s != end) component = program_.blocks[s].component;
  BlockId first = kNone;
  for (BlockId s : block.successors)
    if (s != end && component != kNone && program_.blocks[s].component == component) first = std::min(first, s);
  if (first == kNone) {  // every way leads to the same place
    for (size_t n = 0; n < edges.size(); ++n) storePhis(key.block, exit, &edges[n], n > 0);
    b_.CreateBr(startOf(key.version, false, exit));
    return;
  }
  startComponent(key.version, component);
  for (size_t n = 0; n < edges.size(); ++n) maskedEdge(key, block.successors[n], component, edges[n]);
  b_.CreateBr(copies_.at({key.version, true, first}));
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
      b_.CreateCondBr(b_.CreateFreeze(none), warpLatch_, third);
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

// --- Masked code ---------------------------------------------------------------------------------------------------

// Whether running a block with an empty mask could do harm or cost more than the test.
bool Emitter::needsLaneTest(BlockId b) const {
  const Block& block = program_.blocks[b];
  if (block.instructions.size() > kUntestedLimit) return true;
  if (block.terminator == Block::Switch) return true;
  for (const Loop& loop : program_.loops)
    if (loop.header == b) return true;
  for (uint32_t n : block.instructions) {
    const Instruction& i = program_.instructions[n];
    if (needsExactMask(*i.ast)) return true;
    const bool memory = i.ast->op == Op::Ld || i.ast->op == Op::St || i.ast->op == Op::Ldu;
    if (memory && i.sources[0] != kNone && !program_.values[i.sources[0]].shape.varying()) {
      const Shape s = program_.values[i.sources[0]].shape;
      if (s.uniform() || !options_.avx512) return true;
    }
    if (memory && !options_.avx512) return true;
  }
  return false;
}

void Emitter::emitMaskedEnd(const CopyKey& key, BB* tail) {
  const Block& block = program_.blocks[key.block];
  llvm::SmallVector<Mask, 4> edges;
  edgeMasks(key, edges);
  for (size_t n = 0; n < edges.size(); ++n) maskedEdge(key, block.successors[n], block.component, edges[n]);
  b_.CreateBr(tail);
}

// After a masked block: repeat loops that end here while a lane asks for it, then go to the next block in order.
void Emitter::emitTail(const CopyKey& key, BB* tail) {
  b_.SetInsertPoint(tail);
  const uint32_t id = program_.blocks[key.block].component;
  const Component& component = program_.components[id];
  for (LoopId l = program_.blocks[key.block].loop; l != kNone; l = program_.loops[l].parent) {
    const Loop& loop = program_.loops[l];
    if (program_.blocks[loop.header].component != id || loop.blocks.back() != key.block) continue;
    BB* const again = newBlock("again");
    BB* const onward = newBlock("onward");
    b_.CreateCondBr(anyLane(loadMask(maskSlot(key.version, loop.header))), again, onward);
    b_.SetInsertPoint(again);
    if (loop.polls) emitYield();
    b_.CreateBr(copies_.at({key.version, true, loop.header}));
    b_.SetInsertPoint(onward);
  }
  for (size_t n = 0; n < component.blocks.size(); ++n)
    if (component.blocks[n] == key.block && n + 1 < component.blocks.size()) {
      b_.CreateBr(copies_.at({key.version, true, component.blocks[n + 1]}));
      return;
    }
  emitComponentExit(key.version, id);
}

void Emitter::emitComponentExit(Version v, uint32_t id) {
  const Component& component = program_.components[id];
  if (component.exit == kNone || component.exit == endBlock(program_)) {
    b_.CreateBr(warpLatch_);
    return;
  }
  // Phis of the exit got their values along the edges.
  const auto enter = [&](Version version) {
    const uint32_t next = program_.blocks[component.exit].component;
    if (next != kNone && !duplicates(next, version)) {
      // The phis of the exit are live: only masks are reset.
      Mask none;
      none.full = false;
      for (uint32_t n = 0; n < k_; ++n) none.chunks.push_back(llvm::Constant::getNullValue(vectorOf(b_.getInt1Ty())));
      for (BlockId b : program_.components[next].blocks) storeMask(maskSlot(version, b), none);
      storeMask(maskSlot(version, component.exit), version == Full ? Mask{} : loadMask(liveSlot_));
      b_.CreateBr(copies_.at({version, true, component.exit}));
    } else {
      b_.CreateBr(copies_.at({version, false, component.exit}));
    }
  };
  if (!component.hasLaneExits) return enter(v);
  const Mask live = loadMask(liveSlot_);
  BB* const some = newBlock("some");
  if (v == Full) {
    BB* const full = newBlock("full");
    BB* const fewer = newBlock("fewer");
    b_.CreateCondBr(allLanes(live), full, fewer);
    b_.SetInsertPoint(full);
    enter(Full);
    b_.SetInsertPoint(fewer);
  }
  b_.CreateCondBr(anyLane(live), some, warpLatch_);
  b_.SetInsertPoint(some);
  enter(Part);
}

void Emitter::emitYield() { runtimeCall(offsetof(RuntimeCalls, yield), b_.getVoidTy(), {blockArgument_, warp_}); }

// --- Tests of predicates by scalars --------------------------------------------------------------------------------

std::pair<llvm::Value*, llvm::Value*> Emitter::rowTests(const Instruction& i, const RowComparison& comparison,
                                                        bool negated) {
  Value* const first = asInteger(laneZero(i.sources[0]), 32);
  Value* const mixed = b_.getInt32(comparison.mixed);
  Value *const before = b_.CreateICmpULT(first, mixed), *const behind = b_.CreateICmpUGT(first, mixed);
  const auto allAnswer = [&](bool answer) -> Value* {
    if (comparison.below == answer && comparison.above == answer) return b_.CreateICmpNE(first, mixed);
    if (comparison.below == answer) return before;
    return comparison.above == answer ? behind : b_.getFalse();
  };
  return {allAnswer(!negated), allAnswer(negated)};
}

// The mask of a predicate where quickTests found that neither all lanes nor none hold.
Mask Emitter::mixedMask(ValueId predicate, bool negated) {
  const auto& v = program_.values[predicate];
  const auto comparison = options_.rowsOf32 && v.kind == vg::ptx::gen::Value::Result
                              ? rowComparison(program_, program_.instructions[v.instruction])
                              : std::nullopt;
  if (!comparison) return maskOf(predicate, negated);
  return constantMask(negated ? ~comparison->lanes : comparison->lanes);
}

std::pair<llvm::Value*, llvm::Value*> Emitter::quickTests(ValueId id, bool negated, int depth) {
  const auto& v = program_.values[id];
  const std::pair<Value*, Value*> nothing{nullptr, nullptr};
  if (depth > 6) return nothing;
  if (v.shape.uniform()) {
    Value* bit = scalarOf(id);
    if (negated) bit = b_.CreateNot(bit);
    return {bit, b_.CreateNot(bit)};
  }
  if (v.kind != vg::ptx::gen::Value::Result) return nothing;
  const Instruction& i = program_.instructions[v.instruction];
  if (i.guard != kNone || local_.find(id) == local_.end()) return nothing;
  if (i.ast->op == Op::Not) return quickTests(i.sources[0], negated != i.negated[0] ? negated : !negated, depth + 1);
  if ((i.ast->op == Op::And || i.ast->op == Op::Or) && i.ast->type() == Type::Pred) {
    const auto a = quickTests(i.sources[0], i.negated[0] != negated, depth + 1);
    const auto c = quickTests(i.sources[1], i.negated[1] != negated, depth + 1);
    if (!a.first || !c.first) return nothing;
    // De Morgan: a negated "or" is the "and" of the negated parts.
    const bool conjunction = (i.ast->op == Op::And) != negated;
    if (conjunction) return {b_.CreateAnd(a.first, c.first), b_.CreateOr(a.second, c.second)};
    return {b_.CreateOr(a.first, c.first), b_.CreateAnd(a.second, c.second)};
  }
  if (i.ast->op != Op::Setp || i.results.size() != 1 || i.sources.size() != 2) return nothing;
  if (const auto comparison = options_.rowsOf32 ? rowComparison(program_, i) : std::nullopt)
    return rowTests(i, *comparison, negated);
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  if (ptx::isFloat(type) || (bits != 32 && bits != 64)) return nothing;
  const Shape x = program_.values[i.sources[0]].shape, y = program_.values[i.sources[1]].shape;
  if (x.varying() || y.varying() || x.fragile || y.fragile) return nothing;
  if (!(x.affine() && y.uniform()) && !(y.affine() && x.uniform())) return nothing;
  // a holds base .. base + 31 * stride without wrap, else neither test is true.
  const bool swapped = y.affine();
  const int64_t stride = swapped ? y.stride : x.stride;
  Value* const base = asInteger(laneZero(i.sources[swapped ? 1 : 0]), bits);
  Value* const bound = asInteger(laneZero(i.sources[swapped ? 0 : 1]), bits);
  const bool isSignedType = isSigned(type);
  const bool ascends = stride > 0;
  const uint64_t distance = static_cast<uint64_t>(ascends ? stride : -stride) * 31;
  if (bits == 32 && distance > 0x7fffffffu) return nothing;
  const llvm::Intrinsic::ID id2 =
      isSignedType ? (ascends ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::ssub_with_overflow)
                   : (ascends ? llvm::Intrinsic::uadd_with_overflow : llvm::Intrinsic::usub_with_overflow);
  Value* const sum =
      callIntrinsic(id2, {integerType(bits)}, {base, llvm::ConstantInt::get(integerType(bits), distance)});
  Value* const last = b_.CreateExtractValue(sum, 0);
  Value* const straight = b_.CreateNot(b_.CreateExtractValue(sum, 1));
  Value* const low = ascends ? base : last;
  Value* const high = ascends ? last : base;
  using P = llvm::CmpInst::Predicate;
  const P lt = isSignedType ? P::ICMP_SLT : P::ICMP_ULT, le = isSignedType ? P::ICMP_SLE : P::ICMP_ULE;
  Value *all = nullptr, *none = nullptr;
  enum { Lt, Le, Gt, Ge, Eq, Ne } kind;
  const ModSet& m = i.ast->mods;
  const auto has = [&](Mod mod) { return m.test(static_cast<size_t>(mod)); };
  if (has(Mod::Lt) || has(Mod::Lo)) {
    kind = Lt;
  } else if (has(Mod::Le) || has(Mod::Ls)) {
    kind = Le;
  } else if (has(Mod::Gt) || has(Mod::Hi)) {
    kind = Gt;
  } else if (has(Mod::Ge) || has(Mod::Hs)) {
    kind = Ge;
  } else if (has(Mod::Eq)) {
    kind = Eq;
  } else if (has(Mod::Ne)) {
    kind = Ne;
  } else {
    return nothing;
  }
  if (swapped) kind = kind == Lt ? Gt : kind == Le ? Ge : kind == Gt ? Lt : kind == Ge ? Le : kind;
  switch (kind) {
    case Lt:
      all = b_.CreateICmp(lt, high, bound);
      none = b_.CreateICmp(le, bound, low);
      break;
    case Le:
      all = b_.CreateICmp(le, high, bound);
      none = b_.CreateICmp(lt, bound, low);
      break;
    case Gt:
      all = b_.CreateICmp(lt, bound, low);
      none = b_.CreateICmp(le, high, bound);
      break;
    case Ge:
      all = b_.CreateICmp(le, bound, low);
      none = b_.CreateICmp(lt, high, bound);
      break;
    case Eq:
    case Ne: {
      // Some lane equals only when the bound lies in the range; the exact answer is left to the mask.
      Value* const outside = b_.CreateOr(b_.CreateICmp(lt, bound, low), b_.CreateICmp(lt, high, bound));
      all = kind == Ne ? outside : b_.getFalse();
      none = kind == Eq ? outside : b_.getFalse();
      break;
    }
  }
  all = b_.CreateAnd(all, straight);
  none = b_.CreateAnd(none, straight);
  return negated ? std::pair{none, all} : std::pair{all, none};
}

}  // namespace vg::ptx::gen
