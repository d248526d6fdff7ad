#include "ptx/llvm/analysis/late_writers.h"

#include <algorithm>
#include <tuple>

#include "ptx/llvm/analysis/block_uniform.h"
#include "ptx/llvm/analysis/pauses.h"

namespace vg::ptx::gen {
namespace {

// Where pointers come from: variables, parameters, and places in constant memory that hold them.
using Origin = std::tuple<SymbolKind, uint32_t, uint32_t, ValueId, int64_t>;
using Origins = std::set<Origin>;

// Pairs of accesses beyond which looking at all of them would take longer than other analyses.
constexpr size_t kMostPairs = 100'000;

struct Access {
  Point at;
  LoopId loop = kNone;  // innermost
  Origins origins;
};

class Finder {
 public:
  explicit Finder(Program& program) : program_(program) {}

  void run() {
    waits_ = loopsThatWait(program_);
    if (program_.loops.size() < 2 || !hasBarrier()) return;
    findAccesses();
    if (stores_.size() * loads_.size() > kMostPairs) return;
    unmet_ = blocksOfSomeWarps(program_);
    for (const Access& store : stores_) guard(store);
    insertPauses(program_, pauses_);
  }

 private:
  bool hasBarrier() const { return std::ranges::any_of(program_.instructions, endsInterval); }

  void findAccesses() {
    for (BlockId b = 0; b < program_.blocks.size(); ++b) {
      const Block& block = program_.blocks[b];
      if (block.loop == kNone || waits_[block.loop]) continue;
      for (uint32_t n = 0; n < block.instructions.size(); ++n) {
        const Instruction& i = program_.instructions[block.instructions[n]];
        const bool reads = i.ast->op == Op::Ld, writes = i.ast->op == Op::St;
        if (!(reads || writes) || i.sources.empty() || i.sources[0] == kNone || !isOfManyWarps(i.ast->space)) continue;
        Access access{{b, n}, block.loop, {}};
        std::set<ValueId> seen;
        find(i.sources[0], access.origins, seen);
        if (!access.origins.empty()) (reads ? loads_ : stores_).push_back(std::move(access));
      }
    }
  }

  static bool isOfManyWarps(Space space) {
    return space == Space::Global || space == Space::Shared || space == Space::None;
  }

  // --- Where pointers come from -------------------------------------------------------------------------------------

  void find(ValueId id, Origins& out, std::set<ValueId>& seen) const {
    if (id == kNone || !seen.insert(id).second) return;
    const Value& v = program_.values[id];
    if (v.kind == Value::Symbol) {
      out.insert({v.symbolKind, v.function, v.symbol, kNone, 0});
    } else if (v.kind == Value::Phi) {
      for (ValueId from : v.incoming) find(from, out, seen);
    } else if (v.kind == Value::Result) {
      findThrough(program_.instructions[v.instruction], v, out, seen);
    }
  }

  void findThrough(const Instruction& i, const Value& v, Origins& out, std::set<ValueId>& seen) const {
    switch (i.ast->op) {
      case Op::Ld:
        if (v.type == Class::I64) out.insert(originOfLoaded(i, v));
        return;
      case Op::Add:
      case Op::Sub:
      case Op::Mad:
      case Op::Cvt:
      case Op::Cvta:
      case Op::Mov:
      case Op::Selp:
        for (ValueId source : i.sources) find(source, out, seen);
        return;
      default:
        return;
    }
  }

  // What is read twice from one place of parameters or constants is one pointer; elsewhere each load has its own.
  Origin originOfLoaded(const Instruction& i, const Value& v) const {
    const bool isFixed = i.ast->space == Space::Param || i.ast->space == Space::Const;
    const int64_t offset = i.offsets[0] + int64_t{v.resultIndex} * 8;
    if (!isFixed || i.sources[0] == kNone) return {SymbolKind::None, 0, v.instruction, kNone, v.resultIndex};
    const Value& base = program_.values[i.sources[0]];
    if (base.kind == Value::Symbol) return {base.symbolKind, base.function, base.symbol, 0, base.offset + offset};
    return {SymbolKind::None, 0, 0, i.sources[0], offset};
  }

  static bool haveOneOrigin(const Access& a, const Access& b) {
    return std::ranges::any_of(a.origins, [&](const Origin& o) { return b.origins.count(o) != 0; });
  }

  // --- Loops in a row -----------------------------------------------------------------------------------------------

  bool contains(LoopId outer, LoopId inner) const {
    for (; inner != kNone; inner = program_.loops[inner].parent)
      if (inner == outer) return true;
    return false;
  }

  bool apart(LoopId a, LoopId b) const { return !contains(a, b) && !contains(b, a); }

  // Whether an interval ends in [from, to) of a block.
  bool stopsIn(BlockId b, uint32_t from, uint32_t to) const {
    const std::vector<uint32_t>& all = program_.blocks[b].instructions;
    return std::any_of(all.begin() + from, all.begin() + to,
                       [&](uint32_t n) { return endsInterval(program_.instructions[n]); });
  }

  // Whether a warp that is at `from` meets the rest of its block before it leaves this one.
  bool stopsBehind(BlockId b, uint32_t from) const {
    return pauses_.count(endOf(b)) || stopsIn(b, from, endOf(b).position);
  }

  Point endOf(BlockId b) const { return {b, static_cast<uint32_t>(program_.blocks[b].instructions.size())}; }

  // Whose beginnings a warp may come to from a place without meeting the rest of its block.
  std::vector<bool> blocksBehind(const Point& from) const {
    std::vector<bool> seen(program_.blocks.size(), false);
    std::vector<BlockId> work;
    const auto leave = [&](BlockId b) {
      for (BlockId s : program_.blocks[b].successors)
        if (!seen[s]) {
          seen[s] = true;
          work.push_back(s);
        }
    };
    if (!stopsBehind(from.block, from.position + 1)) leave(from.block);
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (!stopsBehind(b, 0)) leave(b);
    }
    return seen;
  }

  bool comesTo(const std::vector<bool>& behind, const Point& to) const {
    return behind[to.block] && !stopsIn(to.block, 0, to.position);
  }

  // --- Where to wait ------------------------------------------------------------------------------------------------

  bool mayWait(BlockId b) const {
    const LoopId loop = program_.blocks[b].loop;
    return !unmet_[b] && (loop == kNone || waits_[loop]);
  }

  // In front of the outermost loop around `load` that the store is not in.
  Point placeBetween(const Access& store, const Access& load) const {
    LoopId outermost = load.loop;
    while (program_.loops[outermost].parent != kNone && !contains(program_.loops[outermost].parent, store.loop))
      outermost = program_.loops[outermost].parent;
    for (BlockId b = program_.loops[outermost].header;;) {
      const BlockId above = program_.immediateDominator[b];
      if (above == kNone || above == b) return {};
      b = above;
      if (mayWait(b)) return endOf(b);
    }
  }

  void guard(const Access& store) {
    std::vector<bool> behind = blocksBehind(store.at);
    for (const Access& load : loads_) {
      if (!comesTo(behind, load.at) || !apart(store.loop, load.loop) || !haveOneOrigin(store, load)) continue;
      const Point point = placeBetween(store, load);
      if (point.block == kNone || !pauses_.insert(point).second) continue;
      std::vector<bool> rest = blocksBehind(store.at);
      comesTo(rest, load.at) ? void(pauses_.erase(point)) : behind.swap(rest);  // or the store comes later still
    }
  }

  Program& program_;
  std::vector<bool> waits_;  // by loop: a barrier is in it
  std::vector<bool> unmet_;  // by block: not all warps come there
  std::vector<Access> stores_, loads_;
  std::set<Point> pauses_;  // at ends of blocks
};

}  // namespace

void waitForLateWriters(Program& program) { Finder(program).run(); }

}  // namespace vg::ptx::gen
