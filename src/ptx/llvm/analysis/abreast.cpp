#include "ptx/llvm/analysis/abreast.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/walk.h"
#include "ptx/llvm/analysis/block_uniform.h"
#include "ptx/llvm/analysis/lone_lane.h"
#include "ptx/llvm/analysis/pauses.h"
#include "ptx/llvm/analysis/shared_places.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

// About what an instruction keeps its own warp, in instructions of others that a processor of a GPU does meanwhile.
constexpr uint32_t kPlain = 1, kExchange = 12, kMemory = 40;
// A store to places of the lanes' own that follows a load of another's sooner than this is no better off on a GPU.
constexpr uint32_t kSoon = 24;
// Analyses of more pairs than this would take longer than the kernel's other ones.
constexpr size_t kMostWork = 20'000'000;

uint32_t durationOf(const ptx::Instruction& i) {
  if (rowOf(i.op).has(Trait::Slow)) return kExchange;
  if (i.op == Op::Atom) return kMemory;
  const bool isNear = i.space == Space::Param || i.space == Space::Const || i.space == Space::Shared;
  return i.op == Op::Ld && !isNear ? kMemory : kPlain;
}

class Placer {
 public:
  explicit Placer(Program& program) : program_(program) {}

  void run() {
    if (!findStops() || !findAccesses()) return;
    findReadable();
    unmet_ = blocksOfSomeWarps(program_);
    for (const SharedAccess& store : accesses_)
      if (store.writes) guard(store, [&](BlockId b) { return !unmet_[b]; });
    for (const SharedAccess& store : accesses_)
      if (store.writes) guard(store, [&](BlockId b) { return !ofOneWarp(b); });
    insertPauses(program_, points_);
  }

 private:
  // --- What there is -------------------------------------------------------------------------------------------------

  bool findStops() {
    stops_.resize(program_.blocks.size());
    bool any = false;
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      for (uint32_t n = 0; n < program_.blocks[b].instructions.size(); ++n)
        if (endsInterval(program_.instructions[program_.blocks[b].instructions[n]])) {
          stops_[b].push_back(n);
          any = true;
        }
    loopsWait_ = loopsThatWait(program_);
    return any;
  }

  bool findAccesses() {
    const SharedPlaces& places = places_;
    loads_.resize(program_.blocks.size());
    bool reads = false, writes = false;
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      for (uint32_t n = 0; n < program_.blocks[b].instructions.size(); ++n) {
        SharedAccess access = places.accessOf(program_.blocks[b].instructions[n]);
        if (!access.reads && !access.writes) continue;
        access.position = n;
        reads |= access.reads;
        writes |= access.writes;
        if (access.reads) loads_[b].push_back(static_cast<uint32_t>(accesses_.size()));
        accesses_.push_back(std::move(access));
      }
    return reads && writes && accesses_.size() * (accesses_.size() + program_.blocks.size()) < kMostWork;
  }

  // Blocks that begin in an interval behind a barrier, where there is something of others to read.
  void findReadable() {
    Walk walk(program_.blocks.size());
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      if (!stops_[b].empty()) walk.findAll(program_.blocks[b].successors);
    while (const auto at = walk.next()) walk.findAll(program_.blocks[*at].successors);
    behind_ = walk.takeFound();
  }

  bool readsOthers(const SharedAccess& load) const {
    const BlockId b = program_.instructions[load.instruction].block;
    return behind_[b] || (!stops_[b].empty() && stops_[b].front() < load.position);
  }

  // --- What overwrites what ------------------------------------------------------------------------------------------

  // The last place in [0, end) of a block where an interval ends, as one more than its position; 0: there is none.
  uint32_t lastStop(BlockId b, uint32_t end) const {
    uint32_t last = 0;
    for (uint32_t n : stops_[b])
      if (n < end) last = std::max(last, n + 1);
    for (const Point& p : points_)
      if (p.block == b && p.position <= end) last = std::max(last, p.position);
    return last;
  }

  uint32_t lengthOf(BlockId b) const { return static_cast<uint32_t>(program_.blocks[b].instructions.size()); }

  uint32_t duration(BlockId b, uint32_t from, uint32_t to) const {
    uint32_t sum = 0;
    for (uint32_t n = from; n < to; ++n)
      sum += durationOf(*program_.instructions[program_.blocks[b].instructions[n]].ast);
    return sum;
  }

  // visit(load, again) for each load that may come before `point` with nothing between that warps wait at, nearest
  // first; `again`: in an earlier round of a loop.
  template <class Visit>
  void eachLoadBefore(Point point, uint32_t least, const Visit& visit) const {
    using Way = std::tuple<uint32_t, BlockId, uint32_t>;  // time since, block, end of what is looked at there
    std::priority_queue<Way, std::vector<Way>, std::greater<>> work;
    std::vector<bool> seen(program_.blocks.size(), false);
    work.push({0, point.block, point.position});
    bool first = true;
    while (!work.empty()) {
      const auto [since, b, end] = work.top();
      work.pop();
      const bool isFirst = std::exchange(first, false);
      if (!isFirst && seen[b]) continue;
      if (!isFirst) seen[b] = true;
      const uint32_t begin = lastStop(b, end);
      const bool stopped = begin > 0 || points_.count({b, 0}) != 0;
      for (uint32_t n : loads_[b]) {
        const SharedAccess& load = accesses_[n];
        if (load.position < begin || load.position >= end || !readsOthers(load)) continue;
        if (since + duration(b, load.position, end) >= least) visit(load, !isFirst && b >= point.block);
      }
      if (stopped) continue;
      const uint32_t all = since + duration(b, 0, end);
      for (BlockId p : program_.blocks[b].predecessors)
        if (!seen[p]) work.push({all, p, lengthOf(p)});
    }
  }

  Point pointOf(const SharedAccess& access) const {
    return {program_.instructions[access.instruction].block, access.position};
  }

  std::set<uint32_t> overwrittenBy(const SharedAccess& store) const {
    std::set<uint32_t> loads;
    // A whole warp's word, or one lane's: scratch that is used again. Lanes' own places: see kSoon.
    const bool isScratch = store.uniform || onlyOneLaneReaches(program_, pointOf(store).block) || store.atomic;
    eachLoadBefore(pointOf(store), isScratch ? 0 : kSoon, [&](const SharedAccess& load, bool again) {
      if (load.instruction == store.instruction || (store.atomic && load.atomic)) return;
      if (places_.mayMeet(load, store, again)) loads.insert(load.instruction);
    });
    return loads;
  }

  // --- Where to wait -------------------------------------------------------------------------------------------------

  template <class May>
  void guard(const SharedAccess& store, const May& may) {
    const std::set<uint32_t> before = overwrittenBy(store);
    if (before.empty()) return;
    const Point point = placeBefore(program_, loopsWait_, pointOf(store), may);
    if (point.block == kNone || !points_.insert(point).second) return;
    if (overwrittenBy(store).size() == before.size()) points_.erase(point);  // the loads come later still
  }

  // Whether a branch above lets one warp through: `if (threadIdx.x < 32)`, `if (warp == 0)`, `if (threadIdx.x == 0)`.
  bool ofOneWarp(BlockId block) const {
    for (BlockId below = block; below != 0;) {
      const BlockId above = program_.immediateDominator[below];
      if (above == kNone || above == below) return false;
      const Block& branch = program_.blocks[above];
      if (branch.terminator == Block::Branch && program_.blocks[below].predecessors.size() == 1 &&
          std::ranges::count(branch.successors, below) == 1 &&
          choosesOneWarp(branch.condition, (branch.successors[0] == below) != branch.conditionNegated))
        return true;
      below = above;
    }
    return false;
  }

  bool choosesOneWarp(ValueId condition, bool truth) const {
    const Value& v = program_.values[condition];
    if (v.kind != Value::Result) return false;
    const Instruction& i = program_.instructions[v.instruction];
    if (i.guard != kNone || i.sources.size() < 2) return false;
    if (i.ast->op == Op::And && truth) return choosesOneWarp(i.sources[0], true) || choosesOneWarp(i.sources[1], true);
    if (i.ast->op == Op::Or && !truth)
      return choosesOneWarp(i.sources[0], false) || choosesOneWarp(i.sources[1], false);
    if (i.ast->op != Op::Setp || v.resultIndex != 0) return false;
    const bool tells = tellsWarps(i.sources[0], kDepth) == Tells::Apart;
    if (i.ast->has(truth ? Mod::Eq : Mod::Ne)) return tells || tellsWarps(i.sources[1], kDepth) == Tells::Apart;
    if (!tells) return false;
    const auto is = [&](Mod signedOne, Mod unsignedOne) { return i.ast->has(signedOne) || i.ast->has(unsignedOne); };
    const bool isBelow = truth ? is(Mod::Lt, Mod::Lo) : is(Mod::Ge, Mod::Hs);
    const bool isAtMost = truth ? is(Mod::Le, Mod::Ls) : is(Mod::Gt, Mod::Hi);
    return (isBelow || isAtMost) && withinOneWarp(i.sources[1], isAtMost);
  }

  // What a value that is computed from the thread's number, constants and parameters says of the warp.
  enum class Tells { Unknown, Nothing, Apart };
  Tells tellsWarps(ValueId id, uint32_t depth) const {
    if (id == kNone) return Tells::Unknown;
    const Value& v = program_.values[id];
    if (v.kind == Value::Constant || v.kind == Value::Symbol) return Tells::Nothing;
    if (v.kind == Value::Special) return ofSpecial(v.special);
    if (v.kind != Value::Result || !depth) return Tells::Unknown;
    const Instruction& i = program_.instructions[v.instruction];
    if (i.guard != kNone) return Tells::Unknown;
    if (i.ast->op == Op::Ld) {
      const bool isParameter = i.sources[0] != kNone && program_.values[i.sources[0]].kind == Value::Symbol &&
                               program_.values[i.sources[0]].symbolKind == SymbolKind::Parameter;
      return isParameter ? Tells::Nothing : Tells::Unknown;
    }
    if (!rowOf(i.ast->op).has(Trait::Pure)) return Tells::Unknown;
    Tells all = Tells::Nothing;
    for (const ValueId source : i.sources) {
      const Tells one = tellsWarps(source, depth - 1);
      if (one == Tells::Unknown) return one;
      if (one == Tells::Apart) all = one;
    }
    return i.ast->op == Op::And && isOfLanes(i) ? Tells::Nothing : all;
  }

  static Tells ofSpecial(ptx::Special special) {
    switch (special) {
      case ptx::Special::TidX:
      case ptx::Special::TidY:
      case ptx::Special::TidZ:
      case ptx::Special::WarpId:
        return Tells::Apart;
      case ptx::Special::LaneId:
      case ptx::Special::NtidX:
      case ptx::Special::NtidY:
      case ptx::Special::NtidZ:
      case ptx::Special::CtaidX:
      case ptx::Special::CtaidY:
      case ptx::Special::CtaidZ:
        return Tells::Nothing;
      default:
        return Tells::Unknown;
    }
  }

  // Whether only bits of the lane's number are left.
  bool isOfLanes(const Instruction& i) const {
    return std::ranges::any_of(i.sources,
                               [&](ValueId s) { return knownBits(program_, s).value_or(kWarpThreads) < kWarpThreads; });
  }

  // Whether a bound is one warp's threads at most: a small constant, the number of the block's warps.
  bool withinOneWarp(ValueId bound, bool inclusive) const {
    if (const auto constant = knownBits(program_, bound)) return *constant + inclusive <= kWarpThreads;
    const Value& v = program_.values[bound];
    if (v.kind != Value::Result) return false;
    const Instruction& i = program_.instructions[v.instruction];
    return i.ast->op == Op::Shr && i.guard == kNone && knownBits(program_, i.sources[1]).value_or(0) >= 5;
  }

  static constexpr uint64_t kWarpThreads = 32;
  static constexpr uint32_t kDepth = 8;  // of expressions that are looked into

  Program& program_;
  const SharedPlaces places_{program_};
  std::vector<std::vector<uint32_t>> stops_;  // by block: positions where intervals end
  std::vector<bool> loopsWait_;               // by loop: a barrier is in it
  std::vector<SharedAccess> accesses_;
  std::vector<std::vector<uint32_t>> loads_;  // by block, in order
  std::vector<bool> behind_;
  std::vector<bool> unmet_;  // by block: not all warps come there
  std::set<Point> points_;
};

}  // namespace

void keepWarpsAbreast(Program& program) { Placer(program).run(); }

}  // namespace vg::ptx::gen
