#include "ptx/llvm/flow/copy_plan.h"

#include "ptx/facts/async_form.h"
#include "ptx/llvm/analysis/lane_loops.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
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
// Blocks up to this many instructions run with an empty mask rather than test it.
constexpr size_t kUntestedLimit = 12;

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

void CopyPlan::planAll() {
  onlyPart_ = program_.instructions.size() > kTwoVersionsLimit || options_.mostLanes < kWarpSize;
  for (const Component& component : program_.components)
    duplicated_.push_back(component.weight <= kDuplicateLimit && partings(program_, component) <= kPartingsLimit &&
                          !atomicsPrevail(component) && !component.takesTurns);
  planLaneLoops();
  planJoins();
  planCopies();
  planLeanly();
  planEmptying();
}

// Code that looks at each access or keeps what lanes have is for whole warps.
void CopyPlan::planLaneLoops() {
  if (options_.checksAccesses || options_.tellsAccesses || options_.tellsMeetings || options_.testsReach ||
      options_.kept)
    return;
  for (const LoopId l : loopsForSingleLanes(program_)) {
    laneLoops_.resize(program_.blocks.size(), kNone);
    for (const BlockId b : program_.loops[l].blocks) laneLoops_[b] = l;
  }
}

void CopyPlan::planEmptying() {
  for (BlockId b = 0; b < program_.blocks.size(); ++b)
    emptying_.push_back(program_.blocks[b].component == kNone ? kNone : emptyingOf(b));
}

// Whether every loop of a region does, each time round, an atomic for one lane after the other: these take so long that
// a copy without masks would gain nothing.
bool CopyPlan::atomicsPrevail(const Component& component) const {
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
bool CopyPlan::isLaneExit(BlockId b) const {
  const Block& block = program_.blocks[b];
  if (block.successors.size() != 2) return false;
  const BlockId end = endBlock(program_);
  for (int n = 0; n < 2; ++n)
    if (block.successors[n] == end && block.successors[1 - n] != end &&
        program_.immediatePostDominator[b] == block.successors[1 - n])
      return true;
  return false;
}

void CopyPlan::planCopy(const CopyKey& key) {
  if (planned_.try_emplace(key, true).second) planWork_.push_back(key);
}

void CopyPlan::planGo(Version v, BlockId b) {
  const uint32_t component = program_.blocks[b].component;
  if (b == endBlock(program_)) return;
  if (isMaskedOnly(b, v)) return planMasked(v, component);
  planCopy({v, false, b});
}

// Masks say which lanes there are: where the kernel ends behind a component, nothing in its masked copies depends on
// whether all lanes came.
Version CopyPlan::maskedVersion(Version v, uint32_t component) const {
  const BlockId exit = program_.components[component].exit;
  return !onlyPart_ && (exit == kNone || exit == endBlock(program_)) ? Full : v;
}

void CopyPlan::planMasked(Version from, uint32_t component) {
  const Version v = maskedVersion(from, component);
  if (!plannedMasked_.emplace(v, component).second) return;
  for (BlockId b : program_.components[component].blocks) {
    if (laneLoop(b) == kNone || program_.loops[laneLoop(b)].header == b) planCopy({v, true, b});
    if (!isMaskedOnly(b, v) && joinsInside(b)) planCopy({v, false, b});
  }
}

// Whether the ways of a divergent branch meet in a block that itself belongs to a divergent region.
bool CopyPlan::joinsInside(BlockId b) const { return program_.blocks[b].component != kNone && joins_[b]; }

void CopyPlan::planJoins() {
  joins_.assign(program_.blocks.size(), false);
  for (BlockId from = 0; from < program_.blocks.size(); ++from)
    if (const BlockId meeting = program_.immediatePostDominator[from];
        program_.blocks[from].divergent && meeting != kNone)
      joins_[meeting] = true;
}

void CopyPlan::planCopies() {
  planned_.clear();
  plannedMasked_.clear();
  if (onlyPart_ || !options_.fullWarps || emission_.apart()) planGo(Part, 0);
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
        if (!isMaskedOnly(s, key.version)) planCopy({key.version, false, s});
      }
    }
  }
}

// About how much there will be, in instructions for as many lanes as a vector has.
size_t CopyPlan::plannedWork() const {
  size_t work = 0;
  for (const auto& [key, planned] : planned_) {
    const Block& block = program_.blocks[key.block];
    work += block.instructions.size() + block.phis.size() + (key.masked ? kWorkOfMask : kWorkOfBranch);
  }
  return work * k_;
}

// All lanes of a warp are one vector, which LLVM's instruction selection divides into what registers hold: a fraction
// of the instructions to emit and to simplify, and masks are half a register or one with AVX2 instead of four.
void CopyPlan::takeWholeWarps() {
  emission_.w = kWarpSize;
  emission_.k = 1;
  emission_.options.avx512 = false;  // what is written in vectors of its registers
}

// Where a launch waits for a large kernel: no copies for lanes that agree, and one for warps with all their lanes
// beside one for the rest only where the latter is not much less by itself. Accesses under masks take more than others.
void CopyPlan::planLeanly() {
  if (plannedWork() <= options_.leanBeyond) return;
  emission_.lean = true;
  takeWholeWarps();
  duplicated_.assign(duplicated_.size(), false);
  laneLoops_.clear();
  const auto workWith = [&](bool onlyPart) {
    onlyPart_ = onlyPart;
    planCopies();
    return plannedWork();
  };
  const size_t separate = workWith(onlyPart_);
  if (!onlyPart_ && 3 * workWith(true) > 2 * separate) workWith(false);
}

size_t CopyPlan::edgeIndex(BlockId from, BlockId to) const {
  const auto& predecessors = program_.blocks[to].predecessors;
  for (size_t n = 0; n < predecessors.size(); ++n)
    if (predecessors[n] == from) return n;
  return 0;
}

// Whether no barrier is in several copies of its block: warps that all meet it then wait at the same place.
bool CopyPlan::waitsInOneCopy() const {
  std::vector<uint32_t> copies(program_.blocks.size(), 0);
  for (const auto& [key, planned] : planned_) ++copies[key.block];
  return llvm::all_of(program_.instructions,
                      [&](const Instruction& i) { return !isBarrierOfBlock(i) || copies[i.block] < 2; });
}

// Whether running a block with an empty mask could do harm or cost more than the test.
bool CopyPlan::needsLaneTest(BlockId b) const {
  const Block& block = program_.blocks[b];
  if (block.instructions.size() > kUntestedLimit) return true;
  if (block.terminator == Block::Switch) return true;
  if (block.loop != kNone && program_.loops[block.loop].header == b) return true;
  for (uint32_t n : block.instructions) {
    const Instruction& i = program_.instructions[n];
    if (needsExactMask(*i.ast)) return true;
    const bool memory = i.ast->op == Op::Ld || i.ast->op == Op::St || i.ast->op == Op::Ldu;
    if (!memory) continue;
    const bool isKnown = i.sources[0] != kNone;
    // Gathers and scatters take as long for no lane as for all.
    if (!options_.avx512 || (isKnown && program_.values[i.sources[0]].shape.varying())) return true;
    if (isKnown && program_.values[i.sources[0]].shape.uniform()) return true;
  }
  return false;
}

// Where in linear order the mask of a block of a region is emptied, long before which nothing has to keep it; kNone:
// where the region begins. It is empty whenever linear order comes by again, because that passes the block itself, but
// for blocks behind a loop: their lanes leave it one iteration after the other.
BlockId CopyPlan::emptyingOf(BlockId b) const {
  const uint32_t id = program_.blocks[b].component;
  if (duplicates(id, Full)) return kNone;                // lanes may part anywhere
  if (program_.components[id].takesTurns) return kNone;  // and wait anywhere
  BlockId at = b;
  for (BlockId from : program_.blocks[b].predecessors) {
    if (program_.blocks[from].component != id) return kNone;
    at = std::min(at, from);
  }
  if (at == b) return kNone;
  const auto& order = program_.components[id].blocks;
  const auto leaves = [&](const Loop& loop) {
    return loop.header <= at && at <= loop.blocks.back() && loop.blocks.back() < b;
  };
  for (auto loop = llvm::find_if(program_.loops, leaves); loop != program_.loops.end();
       loop = llvm::find_if(program_.loops, leaves)) {
    const auto before = std::lower_bound(order.begin(), order.end(), loop->header);
    if (before == order.begin()) return kNone;
    at = *std::prev(before);
  }
  return at;
}

// Whether all lanes may be together again, to go on with convergent code.
bool CopyPlan::rejoins(const CopyKey& key) const {
  return key.version == Full && joinsInside(key.block) && !isMaskedOnly(key.block, Full);
}

}  // namespace vg::ptx::gen
