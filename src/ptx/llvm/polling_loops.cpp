// Loops that wait for memory which others write: they yield on their back edges.
#include <algorithm>
#include <vector>

#include "ptx/llvm/columns.h"
#include "ptx/llvm/divergence.h"
#include "ptx/llvm/ptx_facts.h"

namespace vg::ptx::gen {
namespace {

class PollFinder {
 public:
  explicit PollFinder(Program& program) : program_(program) {}

  void run() {
    for (LoopId l = 0; l < program_.loops.size(); ++l) {
      Loop& loop = program_.loops[l];
      bool divergentWait = false;
      for (BlockId b : loop.blocks) {
        const Block& block = program_.blocks[b];
        bool leaves = false;
        for (BlockId s : block.successors) leaves |= !program_.inLoop(s, l);
        if (!leaves || block.successors.size() < 2) continue;
        uint32_t line = 0;
        const Wait wait = waitOf(block.condition, l, line);
        if (wait == Wait::None) continue;
        loop.polls = true;
        if (wait == Wait::Lock && block.divergent && !releasesInside(l)) divergentWait = true;
        if (divergentWait) unsupportedConstruct(line, "lanes of a warp wait for each other in a loop");
      }
    }
  }

 private:
  enum class Wait { None, Poll, Lock };

  // Whether a condition depends on memory that the loop itself does not advance.
  Wait waitOf(ValueId condition, LoopId loop, uint32_t& line) const {
    std::vector<ValueId> work{condition};
    std::vector<bool> seen(program_.values.size(), false);
    Wait wait = Wait::None;
    while (!work.empty()) {
      const ValueId id = work.back();
      work.pop_back();
      if (id == kNone || seen[id]) continue;
      seen[id] = true;
      const Value& v = program_.values[id];
      if (v.block == kNone || !program_.inLoop(v.block, loop)) continue;
      for (ValueId in : v.incoming) work.push_back(in);
      if (v.kind != Value::Result) continue;
      const Instruction& i = program_.instructions[v.instruction];
      for (ValueId s : i.sources) work.push_back(s);
      for (ValueId s : i.old) work.push_back(s);
      if (!readsSharedState(*i.ast)) continue;
      line = i.ast->line;
      if (i.ast->op == Op::Mbarrier) {
        wait = std::max(wait, Wait::Poll);
      } else if (i.ast->op == Op::Ld) {
        const bool together = program_.values[i.sources[0]].shape.uniform() || pollsOwnColumn(program_, loop, i);
        wait = std::max(wait, together ? Wait::Poll : Wait::Lock);
      } else if (i.ast->has(Mod::Cas)) {
        // A retry loop compares with what it read last; a lock compares with a constant.
        const Value& expected = program_.values[i.sources[1]];
        const bool retries = expected.block != kNone && program_.inLoop(expected.block, loop);
        wait = std::max(wait, retries ? Wait::None : Wait::Lock);
      } else if (i.ast->has(Mod::Exch)) {
        wait = Wait::Lock;
      } else {
        // Reading by adding zero and the like polls; a counter that hands out work does not.
        wait = std::max(wait, Wait::Poll);
      }
    }
    return wait;
  }

  // A lock taken and released within one iteration makes progress even when lanes run in step.
  bool releasesInside(LoopId loop) const {
    uint32_t writes = 0;
    for (BlockId b : program_.loops[loop].blocks)
      for (uint32_t n : program_.blocks[b].instructions) {
        const Op op = program_.instructions[n].ast->op;
        writes += op == Op::St || op == Op::Atom || op == Op::Red;
      }
    return writes > 1;
  }

  Program& program_;
};

}  // namespace

void findPolls(Program& program) { PollFinder(program).run(); }

}  // namespace vg::ptx::gen
