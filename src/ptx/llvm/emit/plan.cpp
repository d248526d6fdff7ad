// Which copies of blocks exist: with all lanes or only some, convergent or masked.
#include "ptx/facts/async_form.h"
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

namespace {
// Divergent regions up to this many instructions get a convergent copy for "all lanes agree".
constexpr uint32_t kDuplicateLimit = 400;
// And up to so many values that have to be ready where lanes part.
constexpr size_t kPartingsLimit = 6000;
// Kernels beyond this many instructions get one version with a mask of live lanes instead of two.
constexpr size_t kTwoVersionsLimit = 2500;
// What a block takes besides its instructions.
constexpr size_t kWorkOfMask = 8, kWorkOfBranch = 3;

// How many masks and values are made ready in all at the places where lanes may part in a region: from each of them
// linear order goes through the whole of it.
size_t partings(const Program& program, const Component& component) {
  size_t branches = 0, made = 0;
  for (BlockId b : component.blocks) {
    branches += program.blocks[b].divergent;
    made += 1 + program.blocks[b].phis.size();
  }
  return branches * made;
}
}  // namespace

// --- Which copies exist ------------------------------------------------------------------------------------------

void Emitter::prepare() {
  const size_t count = program_.values.size();
  slots_.resize(count);
  phiSlots_.resize(count);
  direct_.resize(count);
  onlyPart_ = program_.instructions.size() > kTwoVersionsLimit;
  for (const Loop& loop : program_.loops) traits.polls |= loop.polls;
  for (const Instruction& i : program_.instructions) traits.polls |= ptx::cancelsClusters(*i.ast);
  traits.loops = !program_.loops.empty();
  traits.recurses = program_.recurses;
  traits.stackOfCalls = program_.stackOfCalls;
  for (const Instruction& i : program_.instructions) traits.allocates |= i.ast->op == Op::Alloca;
  suspends_ = suspendsOnly();
  alignment_ = alignmentTests(program_, options_, options_.trustsParameters);
  streamed_ = streamedStores(program_);
  traits.streamedPerThread = streamed_.bytesPerThread;
  traits.waits = !suspends_ && mayWait();
  planTellingWarp();
  traits.spans = !traits.waits && !asksForCluster();
  for (const Instruction& i : program_.instructions)
    traits.atomics |= ptx::isAtomic(i.ast->op) && i.ast->space != Space::Shared;
  traits.staticShared = program_.shared.staticSize;
  traits.dynamicSharedOffset = program_.shared.dynamicOffset;
  traits.localPerThread = program_.localSize;
  traits.usesDynamicShared = program_.usesDynamicShared;
  traits.clusterAddresses = program_.references.clusterAddresses;
  for (const Component& component : program_.components)
    duplicated_.push_back(component.weight <= kDuplicateLimit && partings(program_, component) <= kPartingsLimit &&
                          !atomicsPrevail(component) && !component.takesTurns);
  markFragileSources();
  markRead();
}

void Emitter::planEmptying() {
  for (BlockId b = 0; b < program_.blocks.size(); ++b)
    emptying_.push_back(program_.blocks[b].component == kNone ? kNone : emptyingOf(b));
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

// Whether every loop of a region does, each time round, an atomic for one lane after the other: these take so long that
// a copy without masks would gain nothing.
bool Emitter::atomicsPrevail(const Component& component) const {
  const auto isAtomic = [&](uint32_t n) {
    const Instruction& i = program_.instructions[n];
    return ptx::isAtomic(i.ast->op) && i.ast->space != Space::Shared && i.guard == kNone &&
           !program_.values[i.sources[0]].shape.uniform();
  };
  bool any = false;
  for (const Loop& loop : program_.loops) {
    if (!llvm::is_contained(component.blocks, loop.header)) continue;
    if (llvm::none_of(program_.blocks[loop.header].instructions, isAtomic)) return false;
    any = true;
  }
  return any;
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

// Masks say which lanes there are: where the kernel ends behind a component, nothing in its masked copies depends on
// whether all lanes came.
Emitter::Version Emitter::maskedVersion(Version v, uint32_t component) const {
  const BlockId exit = program_.components[component].exit;
  return !onlyPart_ && (exit == kNone || exit == endBlock(program_)) ? Full : v;
}

void Emitter::planMasked(Version from, uint32_t component) {
  const Version v = maskedVersion(from, component);
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

// About how much there will be, in instructions for as many lanes as a vector has.
size_t Emitter::plannedWork() const {
  size_t work = 0;
  for (const auto& [key, planned] : planned_) {
    const Block& block = program_.blocks[key.block];
    work += block.instructions.size() + block.phis.size() + (key.masked ? kWorkOfMask : kWorkOfBranch);
  }
  return work * k_;
}

// All lanes of a warp are one vector, which LLVM's instruction selection divides into what registers hold: a fraction
// of the instructions to emit and to simplify, and masks are half a register or one with AVX2 instead of four.
void Emitter::takeWholeWarps() {
  w_ = kWarpSize;
  k_ = 1;
  options_.avx512 = false;  // what is written in vectors of its registers
}

// Where a launch waits for a large kernel: no copies for lanes that agree, and one for warps with all their lanes
// beside one for the rest only where the latter is not much less by itself. Accesses under masks take more than others.
void Emitter::planLeanly() {
  if (plannedWork() <= options_.leanBeyond) return;
  lean = true;
  takeWholeWarps();
  duplicated_.assign(duplicated_.size(), false);
  const auto workWith = [&](bool onlyPart) {
    onlyPart_ = onlyPart;
    planned_.clear();
    planCopies();
    return plannedWork();
  };
  const size_t separate = workWith(onlyPart_);
  if (!onlyPart_ && 3 * workWith(true) > 2 * separate) workWith(false);
}

llvm::BasicBlock* Emitter::startOf(Version v, bool masked, BlockId b) {
  if (b == endBlock(program_)) return warpLatch_;
  return copies_.at({masked ? maskedVersion(v, program_.blocks[b].component) : v, masked, b});
}

}  // namespace vg::ptx::gen
