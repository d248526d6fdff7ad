#include "ptx/llvm/analysis/late_writers.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/walk.h"
#include "ptx/llvm/analysis/block_uniform.h"
#include "ptx/llvm/analysis/lone_lane.h"
#include "ptx/llvm/analysis/pauses.h"
#include "ptx/llvm/analysis/shared_places.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

// Where a pointer comes from: a variable, or a place that holds it. What is read twice from one place of parameters or
// constants is one pointer; elsewhere each load has its own.
struct Origin {
  SymbolKind kind = SymbolKind::None;  // None: in memory that `value` is the address of
  uint32_t function = 0, symbol = 0;
  ValueId value = kNone;
  bool held = false;  // it is what stands there, not the place itself
  int64_t offset = 0;
  auto operator<=>(const Origin&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
};
using Origins = std::set<Origin>;

// Of a block in a loop without a barrier.
struct Accesses {
  Origins stored, loaded;
};

// Of shared memory: stores behind the last barrier of a block that is in no loop without one; loads of loops, and of
// one lane that are as many as a loop's that was unrolled.
struct SharedAccesses {
  std::vector<SharedAccess> stored, loaded;
};
constexpr size_t kUnrolled = 4;

// A bulk copy out of shared memory, in no loop without a barrier.
struct CopyOut {
  Point at;
  bool isBehindStores = false;  // of its block
  bool isReached = false;       // from the beginning of the block, without a barrier
};

class Finder {
 public:
  explicit Finder(Program& program) : program_(program) {}

  void run() {
    if (!findStops()) return;
    waits_ = loopsThatWait(program_);
    findAccesses();
    for (BlockId b = 0; b < accesses_.size(); ++b)
      if (!accesses_[b].stored.empty()) guard(b);
    if (findSharedAccesses())
      for (BlockId b = 0; b < shared_.size(); ++b)
        if (!shared_[b].stored.empty()) guardOnce(b);
    for (const CopyOut& copy : copies_) guardCopy(copy);
    for (BlockId b : pauses_) points_.insert(endOf(program_, b));
    insertPauses(program_, points_);
  }

 private:
  bool findStops() {
    bool any = false;
    for (const Block& block : program_.blocks) {
      stops_.push_back(
          std::ranges::any_of(block.instructions, [&](uint32_t n) { return endsInterval(program_.instructions[n]); }));
      any |= stops_.back();
    }
    return any;
  }

  void findAccesses() {
    accesses_.resize(program_.blocks.size());
    for (BlockId b = 0; b < program_.blocks.size(); ++b) {
      const Block& block = program_.blocks[b];
      if (block.loop == kNone || waits_[block.loop]) continue;
      std::set<ValueId> seenStored, seenLoaded;
      for (uint32_t n : block.instructions) {
        const Instruction& i = program_.instructions[n];
        if (i.sources.empty() || !isOfManyWarps(i.ast->space)) continue;
        if (i.ast->op == Op::Ld) find(i.sources[0], accesses_[b].loaded, seenLoaded);
        if (i.ast->op == Op::St) find(i.sources[0], accesses_[b].stored, seenStored);
      }
    }
  }

  // Says whether there are any, and not so many that to compare them would take long.
  bool findSharedAccesses() {
    shared_.resize(program_.blocks.size());
    meets_.resize(program_.blocks.size());
    size_t stores = 0, loads = 0;
    for (BlockId b = 0; b < shared_.size(); ++b) {
      findSharedAccesses(b);
      meets_[b] = meetsIn(b);
      stores += shared_[b].stored.size();
      loads += shared_[b].loaded.size();
    }
    return stores * loads != 0 && stores * loads < kMostPairs;
  }

  void findSharedAccesses(BlockId b) {
    const Block& block = program_.blocks[b];
    auto& [stored, loaded] = shared_[b];
    const bool isOnce = block.loop == kNone || waits_[block.loop];
    bool isReached = true;
    for (uint32_t at = 0; at < block.instructions.size(); ++at) {
      const Instruction& i = program_.instructions[block.instructions[at]];
      if (isOnce && meets(i)) {
        stored.clear();
        isReached = false;
      }
      if (isOnce && copiesOut(*i.ast)) copies_.push_back({{b, at}, !stored.empty(), isReached});
      const SharedAccess access = places_.accessOf(block.instructions[at]);
      if (access.atomic) continue;
      if (isOnce && access.writes) stored.push_back(access);
      if (access.reads) loaded.push_back(access);
    }
    if (isOnce && (loaded.size() < kUnrolled || !onlyOneLaneReaches(program_, b))) loaded.clear();
  }

  static bool copiesOut(const ptx::Instruction& i) {
    return i.has(Mod::Bulk) && i.space == Space::Global && i.space2 == Space::Shared;
  }

  // Of the block or of the warp, whose own the memory is then.
  static bool meets(const Instruction& i) { return endsInterval(i) || (isBarrier(i.ast->op) && i.ast->has(Mod::Warp)); }
  bool meetsIn(BlockId b) const {
    const std::vector<uint32_t>& all = program_.blocks[b].instructions;
    return std::ranges::any_of(all, [&](uint32_t n) { return meets(program_.instructions[n]); });
  }

  static bool isOfManyWarps(Space space) {
    return space == Space::Global || space == Space::Shared || space == Space::None;
  }

  // --- Where pointers come from -------------------------------------------------------------------------------------

  void find(ValueId id, Origins& out, std::set<ValueId>& seen) const {
    if (id == kNone || !seen.insert(id).second) return;
    const Value& v = program_.values[id];
    if (v.kind == Value::Symbol) {
      out.insert({v.symbolKind, v.function, v.symbol});
    } else if (v.kind == Value::Phi) {
      for (ValueId from : v.incoming) find(from, out, seen);
    } else if (v.kind == Value::Result) {
      findThrough(program_.instructions[v.instruction], id, out, seen);
    }
  }

  void findThrough(const Instruction& i, ValueId result, Origins& out, std::set<ValueId>& seen) const {
    switch (i.ast->op) {
      case Op::Ld:
        if (program_.values[result].type == Class::I64) out.insert(originOfLoaded(i, result));
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

  Origin originOfLoaded(const Instruction& i, ValueId result) const {
    const bool isFixed = (i.ast->space == Space::Param || i.ast->space == Space::Const) && i.sources[0] != kNone;
    if (!isFixed) return {.value = result, .held = true};
    const int64_t offset = i.offsets[0] + int64_t{program_.values[result].resultIndex} * 8;
    const Value& base = program_.values[i.sources[0]];
    if (base.kind != Value::Symbol) return {.value = i.sources[0], .held = true, .offset = offset};
    return {base.symbolKind, base.function, base.symbol, kNone, true, base.offset + offset};
  }

  bool haveOneOrigin(BlockId store, BlockId load) const {
    const Origins& loaded = accesses_[load].loaded;
    return std::ranges::any_of(accesses_[store].stored, [&](const Origin& o) { return loaded.count(o) != 0; });
  }

  // --- Loops in a row -----------------------------------------------------------------------------------------------

  bool apart(LoopId a, LoopId b) const { return !program_.inLoop(header(a), b) && !program_.inLoop(header(b), a); }
  BlockId header(LoopId loop) const { return program_.loops[loop].header; }

  // Which blocks a warp may come to from one without meeting the rest of its own.
  std::vector<bool> blocksBehind(BlockId from) const {
    Walk behind(program_.blocks.size());
    const auto goOn = [&](BlockId b) {
      if (!stops_[b] && !pauses_.count(b)) behind.findAll(program_.blocks[b].successors);
    };
    goOn(from);
    while (const auto b = behind.next()) goOn(*b);
    return behind.takeFound();
  }

  // --- Where to wait ------------------------------------------------------------------------------------------------

  bool allCome(BlockId b) {
    if (unmet_.empty()) unmet_ = blocksOfSomeWarps(program_);
    return !unmet_[b];
  }

  // A block in front of a load, and of the outermost loop around it that the store is not in.
  BlockId placeBetween(BlockId store, BlockId load) {
    LoopId loop = program_.blocks[load].loop;
    if (loop != kNone && !waits_[loop]) {
      while (program_.loops[loop].parent != kNone && !program_.inLoop(store, program_.loops[loop].parent))
        loop = program_.loops[loop].parent;
      load = header(loop);
    }
    const BlockId above = program_.immediateDominator[load];
    if (above == kNone || above == load) return kNone;
    return placeBefore(endOf(program_, above)).block;
  }

  Point placeBefore(Point to) {
    return gen::placeBefore(program_, waits_, to, [&](BlockId b) { return allCome(b); });
  }

  void guard(BlockId store) {
    const LoopId loop = program_.blocks[store].loop;
    std::vector<bool> behind = blocksBehind(store);
    std::map<BlockId, std::vector<bool>> tried;  // by a pause: what is still behind the store with it
    for (BlockId load = 0; load < accesses_.size(); ++load) {
      if (!behind[load] || accesses_[load].loaded.empty()) continue;
      if (!apart(loop, program_.blocks[load].loop) || !haveOneOrigin(store, load)) continue;
      const BlockId pause = placeBetween(store, load);
      if (pause == kNone || !pauses_.insert(pause).second) continue;
      const auto [rest, isNew] = tried.try_emplace(pause);
      if (isNew) rest->second = blocksBehind(store);
      if (rest->second[load]) {  // the store comes later still
        pauses_.erase(pause);
        continue;
      }
      behind = rest->second;
      tried.clear();
    }
  }

  // --- Stores in no loop ------------------------------------------------------------------------------------------

  // As blocksBehind, from the end of a block; barriers of a warp end the search, too.
  std::vector<bool> blocksBehindOnce(BlockId from) const {
    Walk behind(program_.blocks.size());
    if (!pauses_.count(from)) behind.findAll(program_.blocks[from].successors);
    while (const auto b = behind.next())
      if (!pauses_.count(*b) && !meets_[*b]) behind.findAll(program_.blocks[*b].successors);
    return behind.takeFound();
  }

  bool mayMeet(BlockId store, BlockId load) const {
    return std::ranges::any_of(shared_[store].stored, [&](const SharedAccess& s) {
      return std::ranges::any_of(shared_[load].loaded,
                                 [&](const SharedAccess& l) { return places_.mayMeetInLoop(l, s); });
    });
  }

  void guardOnce(BlockId store) {
    std::vector<bool> behind = blocksBehindOnce(store);
    for (BlockId load = 0; load < shared_.size(); ++load) {
      if (!behind[load] || shared_[load].loaded.empty() || !mayMeet(store, load)) continue;
      const BlockId pause = placeBetween(store, load);
      if (pause == kNone || !pauses_.insert(pause).second) continue;
      std::vector<bool> rest = blocksBehindOnce(store);
      if (rest[load])  // the store comes later still
        pauses_.erase(pause);
      else
        behind = std::move(rest);
    }
  }

  // The hardware takes a while to begin a copy that one thread asks for; here it is made at once.
  void guardCopy(const CopyOut& copy) {
    const BlockId block = copy.at.block;
    const Point place = placeBefore(copy.at);
    if (copy.isBehindStores && place.block == block) points_.insert(place);
    if (copy.isBehindStores || !copy.isReached || place.block == kNone) return;
    for (BlockId store = 0; store < shared_.size(); ++store) {
      if (shared_[store].stored.empty() || !allCome(store) || !blocksBehindOnce(store)[block]) continue;
      if (place.block == block) {
        points_.insert(place);
        return;
      }
      if (pauses_.insert(place.block).second && blocksBehindOnce(store)[block]) pauses_.erase(place.block);
    }
  }

  static constexpr size_t kMostPairs = 1'000'000;  // of stores and loads

  Program& program_;
  const SharedPlaces places_{program_};
  std::vector<SharedAccesses> shared_;  // by block
  std::vector<bool> meets_;             // by block: all warps, or the lanes of one, meet in it
  std::vector<bool> stops_;             // by block: an interval ends in it
  std::vector<bool> waits_;             // by loop, as loopsThatWait
  std::vector<bool> unmet_;             // by block: not all warps come there; made when it is first asked for
  std::vector<Accesses> accesses_;
  std::vector<CopyOut> copies_;
  std::set<BlockId> pauses_;  // at ends of blocks
  std::set<Point> points_;    // all of them, at last
};

}  // namespace

void waitForLateWriters(Program& program) { Finder(program).run(); }

}  // namespace vg::ptx::gen
