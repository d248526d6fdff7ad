// Which barriers of the block lanes of a warp come to apart (lane_turns.h).
#include <algorithm>
#include <vector>

#include "base/walk.h"
#include "ptx/llvm/analysis/lane_turns.h"
#include "ptx/llvm/analysis/lone_lane.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

bool isAligned(const ptx::Instruction& i) { return i.op == Op::Bar || i.has(Mod::Aligned); }

bool isCandidate(const Instruction& i) {
  return isBlockBarrier(*i.ast) && !isPause(i) && !isHold(*i.ast) && !i.ast->has(Mod::Cluster);
}

// The aligned ones let lanes meet at one instruction only: a function's that several branches call.
bool mayMeet(const Instruction& a, const Instruction& b) {
  return a.ast == b.ast || (!isAligned(*a.ast) && !isAligned(*b.ast));
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program), barriers_(program.blocks.size()) {
    for (const Instruction& i : program.instructions)
      if (i.block != kNone && isCandidate(i)) {
        barriers_[i.block].push_back(&i);
        any_ = true;
      }
  }

  Meetings run() {
    for (BlockId b = 0; b < program_.blocks.size() && any_; ++b)
      if (parts(b)) look(b);
    return std::move(found_);
  }

 private:
  using Instructions = std::vector<const Instruction*>;

  bool parts(BlockId b) const {
    const Block& block = program_.blocks[b];
    return block.divergent && differsInWarp(program_, block.condition) && !onlyOneLaneReaches(program_, b);
  }

  void look(BlockId branch) {
    const std::vector<BlockId>& ways = program_.blocks[branch].successors;
    for (size_t n = 0; n < ways.size(); ++n) {
      const Instructions ours = between(ways[n], program_.immediatePostDominator[branch]);
      for (size_t other = 0; other < ways.size() && !ours.empty(); ++other)
        if (other != n) compare(ours, firstFrom(ways[other]), ways);
    }
  }

  // Lanes that part go on to barriers that others may come to somewhere else: so they may at all from there on.
  void compare(const Instructions& ours, const Instructions& theirs, const std::vector<BlockId>& ways) {
    for (const Instruction* one : ours)
      for (const Instruction* two : theirs)
        if (mayMeet(*one, *two)) {
          found_.insert(one->ast);
          found_.insert(two->ast);
          for (const Instruction* i : between(ways, endBlock(program_)))
            if (!isAligned(*i->ast)) found_.insert(i->ast);
        }
  }

  // Those on the ways from some blocks to another one.
  Instructions between(const std::vector<BlockId>& from, BlockId to) const {
    Instructions all;
    Walk walk(program_.blocks.size());
    walk.pass(to);
    walk.findAll(from);
    while (const auto at = walk.next()) {
      all.insert(all.end(), barriers_[*at].begin(), barriers_[*at].end());
      walk.findAll(program_.blocks[*at].successors);
    }
    return all;
  }
  Instructions between(BlockId from, BlockId to) const { return between(std::vector<BlockId>{from}, to); }

  // Those that lanes may come to next, before they meet all others of their warp.
  Instructions firstFrom(BlockId from) const {
    Instructions all;
    Walk walk(program_.blocks.size());
    walk.find(from);
    while (const auto at = walk.next())
      if (!meetsIn(*at, all)) walk.findAll(program_.blocks[*at].successors);
    return all;
  }

  bool meetsIn(BlockId b, Instructions& first) const {
    for (uint32_t n : program_.blocks[b].instructions) {
      const Instruction& i = program_.instructions[n];
      if (isCandidate(i)) first.push_back(&i);
      if (isCandidate(i) || lanesMeetAt(*i.ast, *i.function)) return true;
    }
    return false;
  }

  const Program& program_;
  std::vector<Instructions> barriers_;  // by block
  bool any_ = false;
  Meetings found_;
};

}  // namespace

Meetings partedBarriers(const Program& program) { return Finder(program).run(); }

}  // namespace vg::ptx::gen
