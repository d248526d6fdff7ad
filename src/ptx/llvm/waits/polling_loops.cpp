// Loops that wait for memory which others write: they yield on their back edges. Where the others may be lanes of the
// same warp, lanes take turns (lane_turns.h).
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/walk.h"
#include "ptx/facts/polls.h"
#include "ptx/llvm/analysis/lane_turns.h"
#include "ptx/llvm/analysis/lone_lane.h"
#include "ptx/llvm/ir/divergence.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/waits/columns.h"
#include "ptx/llvm/waits/elsewhere.h"
#include "ptx/llvm/waits/rounds.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

class PollFinder {
 public:
  explicit PollFinder(Program& program)
      : program_(program),
        seen_(program.values.size(), 0),
        parting_(program.blocks.size(), 0),
        meetInGroups_(meetInGroups(program)) {}

  void run() {
    const std::vector<Memory> memory = memoryOfBlocks();
    for (LoopId l = 0; l < program_.loops.size(); ++l) {
      Loop& loop = program_.loops[l];
      if (holdsLanes(loop)) {
        loop.polls = loop.takesTurns = true;
        continue;
      }
      if (!mayWait(l, memory)) continue;
      for (BlockId b : loop.blocks) {
        const Block& block = program_.blocks[b];
        bool leaves = false;
        for (BlockId s : block.successors) leaves |= !program_.inLoop(s, l);
        if (!leaves || block.successors.size() < 2) continue;
        const Found found = waitOf(block.condition, l);
        if (found.wait == Wait::None) continue;
        loop.seldom = found.seldom && (loop.seldom || !loop.polls);
        loop.polls = true;
        loop.takesTurns |= (block.divergent && mayLeave(found, l) && !onlyOneLaneReaches(program_, loop.header)) ||
                           (!loop.takesTurns && found.place && othersSignalLater(l, *found.place));
      }
      loop.takesTurns |= loop.polls && !meetInGroups_ && meetsInSomeRounds(l);
    }
  }

 private:
  // Whether lanes wait in a loop for others of their warp to meet them.
  bool holdsLanes(const Loop& loop) const {
    return loop.blocks.size() == 1 && std::ranges::any_of(program_.blocks[loop.header].instructions, [&](uint32_t n) {
             return isHold(*program_.instructions[n].ast);
           });
  }

  struct Memory {
    bool reads = false, readsWeakly = false, writes = false, fences = false, meets = false, meetsInPart = false;
  };

  // Whether there is anything to wait for: what others write, read in a way that shows it. A loop that writes nothing
  // and is not ended by what it counts has nothing but others to end it, however it reads.
  bool mayWait(LoopId id, const std::vector<Memory>& memory) const {
    Loop& loop = program_.loops[id];
    const auto any = [&](bool Memory::*what) {
      return std::ranges::any_of(loop.blocks, [&](BlockId b) { return memory[b].*what; });
    };
    loop.fenced = any(&Memory::fences);
    loop.rereads = any(&Memory::meetsInPart) ||
                   std::ranges::any_of(loop.blocks, [&](BlockId b) { return memory[b].meets && !inEveryRound(b, id); });
    if (any(&Memory::reads)) return true;
    return any(&Memory::readsWeakly) && (loop.fenced || loop.rereads || !any(&Memory::writes));
  }

  enum class Wait { None, Poll, Lock };
  struct Found {
    Wait wait = Wait::None;
    bool seldom = false;                 // the place is another one in most rounds: it may be a search
    bool kept = false;                   // Poll: what is read goes through the lane's stack first
    bool parts = false;                  // Poll: what is read is held against a value of each lane
    const Instruction* place = nullptr;  // a load or atomic that polls memory which stores and atomics signal
  };

  // Whether lanes may wait for others of their warp that leave the loop before them.
  bool mayLeave(const Found& found, LoopId loop) const {
    if (found.kept) return signalFollows(loop);
    if (found.seldom) return signalOfFollows(loop, askedIn(loop));
    const bool parts = found.parts || (found.place && !isLoad(*found.place) && !together(*found.place));
    return (found.wait == Wait::Lock || (parts && signalFollows(loop))) && !releasesInside(loop);
  }

  std::vector<Memory> memoryOfBlocks() const {
    std::vector<Memory> memory(program_.blocks.size());
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Instruction& at = program_.instructions[n];
        const ptx::Instruction& i = *at.ast;
        memory[b].reads |= readsSharedState(i) || readsPastFirstCache(i) || copiesBeside(i);
        memory[b].readsWeakly |= readsWeakly(i);
        memory[b].writes |= maySignal(at);
        memory[b].fences |= fencesThreads(i);
        if (isPause(at) || isHold(i)) continue;
        memory[b].meets |= isBarrierOfBlock(at);
        memory[b].meetsInPart |= ptx::meetsInPart(i);
      }
    return memory;
  }

  // Whether a condition depends on memory that the loop itself does not advance.
  Found waitOf(ValueId condition, LoopId loop) const {
    Found found;
    std::vector<const Instruction*> reads;  // one walk at a time
    std::vector<ValueId> carried;
    bool fromStack = false, fromShared = false, fromMemory = false;
    forEachSource(condition, loop, true, [&](const Value& v, ValueId id) {
      if (v.kind == Value::Phi && v.block == program_.loops[loop].header) carried.push_back(id);
      if (v.kind != Value::Result || !program_.inLoop(v.block, loop)) return;
      const Instruction& i = program_.instructions[v.instruction];
      if (mayPoll(*i.ast, program_.loops[loop])) reads.push_back(&i);
      fromStack |= mayBeOnStack(i, Op::Ld);
      fromShared |= i.ast->op == Op::Ld && i.ast->space == Space::Shared;
      fromMemory |= readsWeakly(*i.ast);
    });
    std::erase_if(reads, [&](const Instruction* i) { return !asksOthers(*i, loop); });
    for (const Instruction* read : reads) {
      const Wait wait = waitAt(*read, loop);
      found.wait = std::max(found.wait, wait);
      found.seldom = wait != Wait::None && (found.seldom || !found.place) && mayBeSearch(*read, loop);
      if (wait == Wait::None || read->ast->op == Op::Ldmatrix) continue;
      found.place = read;
    }
    if (found.wait == Wait::None && fromStack && !meetInGroups_) {
      found.place = readKept(loop);
      found.kept = found.place != nullptr;
      if (found.kept) found.wait = Wait::Poll;
    }
    if (found.wait == Wait::None &&
        ((fromShared && oneAsksForAll(loop)) || (fromMemory && othersEnd(loop) && !counts(carried, loop)))) {
      found.wait = Wait::Poll;
      found.seldom = onlySearches(loop);
    }
    if (found.wait == Wait::Poll && found.place && found.place->ast->op != Op::Mbarrier &&
        (!isLoad(*found.place) || together(*found.place)))
      found.parts = comparesByLane(condition, loop);
    return found;
  }

  // Whether an instruction asks what others have written. Where lanes are held they ask, too, but their loop is known.
  // A search goes past the first cache as well, from place to place; who waits comes back to the same ones.
  bool asksOthers(const Instruction& i, LoopId loop) const {
    if (!mayPoll(*i.ast, program_.loops[loop])) return false;
    return readsStrongly(*i.ast) || program_.loops[loop].fenced || courseOf(i.sources[0], loop) != Course::GoesOn;
  }

  // Whether a read that asks others most likely gets something else: a search goes from place to place and only may
  // come back, and what the loop writes there itself is what it tells its own warp.
  bool mayBeSearch(const Instruction& i, LoopId loop) const {
    if (readsStrongly(*i.ast) || program_.loops[loop].fenced) return false;
    return courseOf(i.sources[0], loop) == Course::Returns || writesThere(i, loop);
  }

  bool writesThere(const Instruction& read, LoopId loop) const {
    return std::ranges::any_of(program_.loops[loop].blocks, [&](BlockId b) {
      return std::ranges::any_of(program_.blocks[b].instructions, [&](uint32_t n) {
        const Instruction& i = program_.instructions[n];
        return i.ast->op == Op::St && i.sources[0] == read.sources[0] && i.offsets[0] == read.offsets[0];
      });
    });
  }

  Course courseOf(ValueId place, LoopId loop) const {
    const auto [known, isNew] = courses_.try_emplace({place, loop}, Course::Returns);
    if (isNew) known->second = gen::courseOf(program_, place, loop);
    return known->second;
  }

  // All that a loop asks others for. What only decides whether the round comes to the loop's end is waited for, too.
  std::vector<const Instruction*> askedIn(LoopId loop) const {
    std::vector<const Instruction*> all;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions)
        if (const Instruction& i = program_.instructions[n]; !i.sources.empty() && asksOthers(i, loop))
          all.push_back(&i);
    return all;
  }

  // Whether all that a loop asks others for may be a search.
  bool onlySearches(LoopId loop) const {
    bool any = false;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Instruction& i = program_.instructions[n];
        if (copiesBeside(*i.ast)) return false;
        if (i.ast->space == Space::Shared || !looks(i) || !asksOthers(i, loop)) continue;
        if (!mayBeSearch(i, loop)) return false;
        any = true;
      }
    return any;
  }

  // Whether one thread of the block, or of the warp, asks others in a loop and tells the rest by shared memory. Those
  // that wait look only: who takes work from a counter so does not wait.
  bool oneAsksForAll(LoopId loop) const {
    bool asks = false, tells = false, meets = false;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Instruction& i = program_.instructions[n];
        asks |= i.ast->space != Space::Shared && looks(i) && asksOthers(i, loop);
        tells |= i.ast->op == Op::St && i.ast->space == Space::Shared;
        meets |= isBarrierOfBlock(i) || (isBarrier(i.ast->op) && i.ast->has(Mod::Warp) && !isHold(*i.ast));
      }
    return asks && tells && meets;
  }

  // Whether a loop that ends by memory, and by nothing that it counts, ends by what others write: it writes nothing, or
  // one of its reads asks others. What was read may come to its end by way of any memory.
  bool othersEnd(LoopId loop) const {
    bool writes = false;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Instruction& i = program_.instructions[n];
        writes |= maySignal(i);
        if (copiesBeside(*i.ast)) return true;
        if (i.ast->space != Space::Shared && looks(i) && asksOthers(i, loop)) return true;
      }
    return !writes;
  }

  // Whether one of a loop's values is made of what it was in the round before.
  bool counts(const std::vector<ValueId>& carried, LoopId loop) const {
    return std::ranges::any_of(carried, [&](ValueId phi) {
      bool again = false;
      const std::vector<BlockId>& from = program_.blocks[program_.loops[loop].header].predecessors;
      for (size_t n = 0; n < from.size() && !again; ++n)
        if (program_.inLoop(from[n], loop))
          forEachSource(program_.values[phi].incoming[n], loop, true,
                        [&](const Value& v, ValueId id) { again |= id == phi && v.incoming[n] != phi; });
      return again;
    });
  }

  // Whether a read leaves memory as it is, or takes what is there only when it is free: no counter.
  bool looks(const Instruction& i) const {
    if (i.ast->op != Op::Atom) return isLoad(i);
    const bool counts = i.ast->has(Mod::Add) || i.ast->has(Mod::Inc) || i.ast->has(Mod::Dec);
    return !counts || (i.sources.size() > 1 && knownBits(program_, i.sources[1]) == 0);
  }

  // Code that is not optimized keeps its variables on the lane's stack.
  bool mayBeOnStack(const Instruction& i, Op op) const {
    return i.ast->op == op && program_.localSize > 0 && (i.ast->space == Space::Local || i.ast->space == Space::None);
  }

  // What a loop reads of memory that others write, where it may keep that on the stack: none, nothing.
  const Instruction* readKept(LoopId loop) const {
    const Instruction* read = nullptr;
    bool keeps = false;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Instruction& i = program_.instructions[n];
        if (asksOthers(i, loop)) read = &i;
        keeps |= mayBeOnStack(i, Op::St);
      }
    return keeps ? read : nullptr;
  }

  Wait waitAt(const Instruction& i, LoopId loop) const {
    if (i.ast->op == Op::Mbarrier) return Wait::Poll;
    if (isLoad(i)) return together(i) || pollsOwnColumn(program_, loop, i) ? Wait::Poll : Wait::Lock;
    if (i.ast->has(Mod::Cas)) {
      // A retry loop compares with what it read last, and some lane succeeds in each round; a lock compares with a
      // constant, a semaphore has rounds that only look. A search goes on to another place.
      const bool retries = changesInside(i.sources[1], loop) && inEveryRound(i.block, loop);
      return retries || changesInside(i.sources[0], loop) ? Wait::None : Wait::Lock;
    }
    if (i.ast->has(Mod::Exch)) return changesInside(i.sources[0], loop) ? Wait::None : Wait::Lock;
    // Reading by adding zero and the like polls; a counter that hands out work does not.
    return Wait::Poll;
  }

  static bool isLoad(const Instruction& i) { return i.ast->op == Op::Ld || i.ast->op == Op::Ldu; }

  // Whether all lanes read the same place.
  bool together(const Instruction& load) const { return program_.values[load.sources[0]].shape.uniform(); }

  // Visits a value and what it is computed from inside the loop; not what memory is read by, unless `throughReads`.
  // Requires: `visit` begins no other walk.
  template <typename Visit>
  void forEachSource(ValueId from, LoopId loop, bool throughReads, const Visit& visit) const {
    std::vector<ValueId> work{from};
    const uint32_t round = ++rounds_;
    while (!work.empty()) {
      const ValueId id = work.back();
      work.pop_back();
      if (id == kNone || std::exchange(seen_[id], round) == round) continue;
      const Value& v = program_.values[id];
      visit(v, id);
      if (v.block == kNone || !program_.inLoop(v.block, loop)) continue;
      for (ValueId in : v.incoming) work.push_back(in);
      if (v.kind == Value::Phi && throughReads) pushChoices(v, loop, work);
      if (v.kind != Value::Result) continue;
      const Instruction& i = program_.instructions[v.instruction];
      if (!throughReads && readsSharedState(*i.ast)) continue;
      for (ValueId s : i.sources) work.push_back(s);
      for (ValueId s : i.old) work.push_back(s);
      if (throughReads) work.push_back(i.guard);  // kNone: always done
    }
  }

  // The conditions that decide which of several values a phi takes inside of the loop, as in
  // `while (!done) if (flag) done = true`.
  void pushChoices(const Value& phi, LoopId loop, std::vector<ValueId>& conditions) const {
    const std::vector<BlockId>& from = program_.blocks[phi.block].predecessors;
    ValueId first = kNone;
    bool differs = false;
    for (size_t n = 0; n < from.size(); ++n) {
      if (!program_.inLoop(from[n], loop)) continue;
      differs |= first != kNone && phi.incoming[n] != first;
      first = phi.incoming[n];
    }
    const BlockId top = program_.immediateDominator[phi.block];
    for (size_t n = 0; differs && n < from.size(); ++n)
      for (BlockId b = from[n]; program_.inLoop(b, loop); b = program_.immediateDominator[b]) {
        if (program_.blocks[b].successors.size() > 1) conditions.push_back(program_.blocks[b].condition);
        if (b == top || b == program_.loops[loop].header || b == program_.immediateDominator[b]) break;
      }
  }

  // Whether a value may be another one in each round.
  bool changesInside(ValueId value, LoopId loop) const {
    bool changes = false;
    forEachSource(value, loop, true, [&](const Value& v, ValueId) {
      if (v.block == kNone || !program_.inLoop(v.block, loop)) return;
      if (v.kind == Value::Phi)
        changes |= v.block == program_.loops[loop].header;  // of a loop inside: the same places in each round
      else
        changes |= program_.instructions[v.instruction].ast->op == Op::Ld ||
                   readsSharedState(*program_.instructions[v.instruction].ast);
    });
    return changes;
  }

  // Whether a condition holds what was read against something from outside of the loop that lanes have their own of.
  bool comparesByLane(ValueId condition, LoopId loop) const {
    bool byLane = false;
    forEachSource(condition, loop, false, [&](const Value& v, ValueId id) {
      byLane |= (v.block == kNone || !program_.inLoop(v.block, loop)) && !alikeInWarp(program_, id);
    });
    return byLane;
  }

  // Whether no way back to the loop's beginning leaves the block out.
  bool inEveryRound(BlockId block, LoopId loop) const {
    const BlockId header = program_.loops[loop].header;
    for (BlockId p : program_.blocks[header].predecessors)
      if (program_.inLoop(p, loop) && !program_.dominates(block, p)) return false;
    return true;
  }

  // Whether lanes of a warp come one after another to where all meet: in rounds that only look they go back before it.
  bool meetsInSomeRounds(LoopId loop) const {
    const std::vector<BlockId>& blocks = program_.loops[loop].blocks;
    return std::ranges::any_of(blocks, [&](BlockId b) { return program_.blocks[b].divergent; }) &&
           std::ranges::any_of(blocks, [&](BlockId b) { return lanesMeetIn(b) && !inEveryRound(b, loop); });
  }

  // A lock taken and released within one iteration makes progress even when lanes run in step. Several
  // compare-and-swaps are tries of one.
  bool releasesInside(LoopId loop) const {
    uint32_t writes = 0;
    bool tries = false;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const ptx::Instruction& i = *program_.instructions[n].ast;
        if (i.op == Op::Atom && i.has(Mod::Cas))
          tries = true;
        else
          writes += i.op == Op::St || isAtomic(i.op);
      }
    return writes + (tries ? 1 : 0) > 1;
  }

  bool signalsOpenly(const Instruction& i) const {
    const Op op = i.ast->op;
    if (rowOf(op).meets == Meets::Block) return i.ast->has(Mod::Arrive);
    return isAtomic(op) || (op == Op::Mbarrier && !readsSharedState(*i.ast)) ||
           (op == Op::St && (i.ast->has(Mod::Volatile) || i.ast->has(Mod::Relaxed) || i.ast->has(Mod::Release)));
  }

  // Whether lanes that have left the loop may signal before they meet the rest of the block.
  bool signalFollows(LoopId loop) const {
    return follows(
        loop, [&](const Instruction& i) { return signalsOpenly(i); },
        [](const Instruction& i) { return isBarrier(i.ast->op); });
  }

  // The same by any store that may be of one of these places. A barrier of some lanes keeps the others from nothing.
  bool signalOfFollows(LoopId loop, const std::vector<const Instruction*>& places) const {
    const auto signals = [&](const Instruction& i) {
      if (signalsOpenly(i)) return true;
      return maySignal(i) && std::ranges::any_of(places, [&](const Instruction* place) {
               return i.ast->op != Op::St || mayTell(i, *place, loop);
             });
    };
    return follows(loop, signals,
                   [](const Instruction& i) { return isBarrierOfBlock(i) || lanesMeetAt(*i.ast, *i.function); });
  }

  // Whether a store behind a loop may be what others wait for at a place. Where that depends on two pointers of the
  // kernel being one, a store of nothing but what the loop found is the result of a search.
  bool mayTell(const Instruction& store, const Instruction& place, LoopId loop) const {
    if (!liesElsewhere(program_, store, place, Given::Apart)) return true;
    return accessBytes(*store.ast) >= accessBytes(*place.ast) &&
           !liesElsewhere(program_, store, place, Given::PerhapsTwice) &&
           !std::ranges::all_of(std::span(store.sources).subspan(1),
                                [&](ValueId stored) { return comesFrom(stored, loop); });
  }

  // Whether a value is made of what a loop computes.
  bool comesFrom(ValueId value, LoopId loop) const {
    std::vector<ValueId> work{value};
    std::set<ValueId> seen;
    while (!work.empty()) {
      const ValueId id = work.back();
      work.pop_back();
      if (id == kNone || !seen.insert(id).second) continue;
      const Value& v = program_.values[id];
      if (v.block != kNone && program_.inLoop(v.block, loop)) return true;
      work.insert(work.end(), v.incoming.begin(), v.incoming.end());
      if (v.kind != Value::Result) continue;
      const Instruction& i = program_.instructions[v.instruction];
      work.insert(work.end(), i.sources.begin(), i.sources.end());
      work.insert(work.end(), i.old.begin(), i.old.end());
      work.push_back(i.guard);
    }
    return false;
  }

  template <class Signals, class Meets>
  bool follows(LoopId loop, const Signals& signals, const Meets& meetsAt) const {
    Walk walk(program_.blocks.size());
    for (BlockId b : program_.loops[loop].blocks) walk.pass(b);
    for (BlockId b : program_.loops[loop].blocks) walk.findAll(program_.blocks[b].successors);
    while (const auto at = walk.next()) {
      bool meets = false;
      for (uint32_t n : program_.blocks[*at].instructions) {
        const Instruction& i = program_.instructions[n];
        if (signals(i)) return true;
        if ((meets = meetsAt(i))) break;
      }
      if (!meets) walk.findAll(program_.blocks[*at].successors);
    }
    return false;
  }

  // Whether lanes of a warp that are not in the loop, while others of it are, have yet to signal. They parted at a
  // branch from which a way leads to the loop, and come on only when the loop has ended: their blocks come later, or a
  // loop around both brings them there. What they signal may reach the lanes that wait by way of another warp.
  bool othersSignalLater(LoopId loop, const Instruction& poll) const {
    const BlockId header = program_.loops[loop].header;
    Ways ways{std::vector<uint8_t>(program_.blocks.size(), 0), {}};
    const std::vector<bool> before = blocksThatLeadTo(header);
    for (BlockId b = 0; b < program_.blocks.size(); ++b)
      if (before[b] && partsFor(b, loop)) follow(ways, b, b > header, loop);
    while (!ways.work.empty()) {
      const auto [at, later] = ways.work.back();
      ways.work.pop_back();
      bool meets = false;
      for (uint32_t n : program_.blocks[at].instructions) {
        const Instruction& i = program_.instructions[n];
        if ((meets = lanesMeetAt(*i.ast, *i.function))) break;
        if (later && mayReach(i, poll)) return true;
      }
      if (!meets) follow(ways, at, later, loop);
    }
    return false;
  }

  // Whether lanes that poll may wait for what an instruction does. Taking turns must not part groups of lanes that meet
  // in operations of their own: where there are such, only signals count that are known to be of the place polled.
  bool mayReach(const Instruction& i, const Instruction& poll) const {
    if (signalsOpenly(i) && !meetInGroups_) return true;
    return maySignal(i) && (signalsOpenly(i) || i.ast->op == Op::St) && samePlace(i, poll);
  }

  // Whether lanes meet in operations whose mask need not name the whole warp.
  static bool meetInGroups(const Program& program) {
    return std::ranges::any_of(program.instructions, [](const Instruction& i) {
      if (isHold(*i.ast)) return false;
      return (rowOf(i.ast->op).meets == Meets::Warp || (isBarrier(i.ast->op) && i.ast->has(Mod::Warp))) &&
             !lanesMeetAt(*i.ast, *i.function);
    });
  }

  // What lanes go through that are not in a loop: blocks, and whether the loop keeps lanes from being there.
  struct Ways {
    std::vector<uint8_t> seen;
    std::vector<std::pair<BlockId, bool>> work;
  };

  void follow(Ways& ways, BlockId from, bool later, LoopId loop) const {
    for (BlockId s : program_.blocks[from].successors) {
      const bool laterThere = later || s > program_.loops[loop].header;
      const uint8_t bit = laterThere ? 2 : 1;
      if ((ways.seen[s] & bit) || program_.inLoop(s, loop)) continue;
      ways.seen[s] |= bit;
      ways.work.push_back({s, laterThere});
    }
  }

  // The blocks from whose end a way leads to a block on which not all lanes meet.
  std::vector<bool> blocksThatLeadTo(BlockId to) const {
    Walk leading(program_.blocks.size());
    leading.findAll(program_.blocks[to].predecessors);
    while (const auto at = leading.next())
      if (!lanesMeetIn(*at)) leading.findAll(program_.blocks[*at].predecessors);
    return leading.takeFound();
  }

  bool lanesMeetIn(BlockId b) const {
    return std::ranges::any_of(program_.blocks[b].instructions, [&](uint32_t n) {
      return lanesMeetAt(*program_.instructions[n].ast, *program_.instructions[n].function);
    });
  }

  // Whether lanes of a warp part at a branch outside of the loop and have not met when some of them come to the loop.
  bool partsFor(BlockId branch, LoopId loop) const {
    const Block& block = program_.blocks[branch];
    const BlockId header = program_.loops[loop].header, meeting = program_.immediatePostDominator[branch];
    if (!block.divergent || program_.inLoop(branch, loop)) return false;
    if (branch < header ? program_.dominates(meeting, header) : meetsInRound(branch, meeting, loop)) return false;
    return partsWarps(branch);
  }

  // Whether several lanes of a warp may come to a branch and part there. Each branch is asked for once for many loops.
  bool partsWarps(BlockId branch) const {
    uint8_t& known = parting_[branch];
    if (!known)
      known = alikeInWarp(program_, program_.blocks[branch].condition) || onlyOneLaneReaches(program_, branch) ? 1 : 2;
    return known == 2;
  }

  // Whether lanes that part behind the loop meet before a loop around both begins another round.
  bool meetsInRound(BlockId branch, BlockId meeting, LoopId loop) const {
    LoopId around = program_.loops[loop].parent;
    while (around != kNone && !program_.inLoop(branch, around)) around = program_.loops[around].parent;
    return around == kNone || (program_.inLoop(meeting, around) && meeting > branch);
  }

  // Whether two accesses are known to be of one variable or through one pointer.
  bool samePlace(const Instruction& a, const Instruction& b) const {
    const auto [x, y] = std::pair{base(a.sources[0]), base(b.sources[0])};
    if (x == y) return true;
    const Value &v = program_.values[x], &w = program_.values[y];
    return v.kind == Value::Symbol && w.kind == Value::Symbol && v.symbolKind == w.symbolKind && v.symbol == w.symbol &&
           v.function == w.function;
  }

  // What an address counts from.
  ValueId base(ValueId address) const {
    for (;;) {
      const Value& v = program_.values[address];
      if (v.kind != Value::Result) return address;
      const Instruction& i = program_.instructions[v.instruction];
      const bool counts = i.ast->op == Op::Mov || i.ast->op == Op::Cvt || i.ast->op == Op::Cvta || i.ast->op == Op::Add;
      if (!counts || i.guard != kNone || i.sources.empty()) return address;
      address = i.sources[0];
    }
  }

  Program& program_;
  mutable std::vector<uint32_t> seen_;  // by value: the last walk that came by; large kernels have thousands of walks
  mutable uint32_t rounds_ = 0;
  mutable std::map<std::pair<ValueId, LoopId>, Course> courses_;  // of places read
  mutable std::vector<uint8_t> parting_;  // by block: 0 not known yet, 1 never, 2 may part lanes
  const bool meetInGroups_;
};

}  // namespace

void findPolls(Program& program) { PollFinder(program).run(); }

}  // namespace vg::ptx::gen
