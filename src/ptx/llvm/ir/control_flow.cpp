#include "ptx/llvm/ir/control_flow.h"
#include "base/walk.h"

#include <algorithm>
#include <utility>

namespace vg::ptx::gen {
namespace {

using Graph = std::vector<std::vector<uint32_t>>;

// Reverse post-order without recursion: kernels may have tens of thousands of blocks in a chain.
std::vector<uint32_t> reversePostOrder(const Graph& successors, uint32_t start) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(successors.size(), false);
  std::vector<std::pair<uint32_t, size_t>> stack{{start, 0}};
  seen[start] = true;
  while (!stack.empty()) {
    auto& [b, next] = stack.back();
    if (next < successors[b].size()) {
      // Last successor first: the fall-through path then comes before the target of the branch.
      const uint32_t s = successors[b][next++];
      if (!seen[s]) {
        seen[s] = true;
        stack.push_back({s, 0});
      }
    } else {
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Immediate dominators by positions in `order` (Cooper, Harvey, Kennedy). Result and inputs are positions.
std::vector<uint32_t> dominators(const Graph& predecessors) {
  std::vector<uint32_t> idom(predecessors.size(), kNone);
  idom[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t n = 1; n < predecessors.size(); ++n) {
      uint32_t best = kNone;
      for (uint32_t p : predecessors[n]) {
        if (idom[p] == kNone) continue;
        if (best == kNone) {
          best = p;
          continue;
        }
        uint32_t a = p, b = best;
        while (a != b) {
          while (a > b) a = idom[a];
          while (b > a) b = idom[b];
        }
        best = a;
      }
      if (best != kNone && idom[n] != best) {
        idom[n] = best;
        changed = true;
      }
    }
  }
  return idom;
}

bool dominatesAt(const std::vector<uint32_t>& idom, uint32_t a, uint32_t b) {
  while (b > a) b = idom[b];
  return a == b;
}

struct NaturalLoop {
  uint32_t header;
  std::vector<bool> contains;
  uint32_t size = 0;
};

// Loops by header in ascending order (outer before inner). Throws when a retreating edge enters a loop in its middle.
std::vector<NaturalLoop> naturalLoops(const Graph& predecessors, const std::vector<uint32_t>& idom) {
  std::vector<NaturalLoop> loops;
  for (uint32_t header = 0; header < predecessors.size(); ++header) {
    NaturalLoop loop{header, {}, 0};
    std::optional<Walk> body;
    for (uint32_t p : predecessors[header]) {
      if (p < header) continue;
      if (idom[p] == kNone || !dominatesAt(idom, header, p)) unsupportedConstruct(0, "irreducible control flow");
      if (!body) {
        body.emplace(predecessors.size());
        body->pass(header);
        loop.size = 1;
      }
      body->find(p);
    }
    if (!body) continue;
    for (; const auto b = body->next(); ++loop.size) body->findAll(predecessors[*b]);
    loop.contains = body->takeFound();
    loops.push_back(std::move(loop));
  }
  return loops;
}

Graph invert(const Graph& successors) {
  Graph predecessors(successors.size());
  for (uint32_t b = 0; b < successors.size(); ++b)
    for (uint32_t s : successors[b]) predecessors[s].push_back(b);
  return predecessors;
}

// Keeps the relative order but moves blocks that interrupt a loop behind it. `headed` is the loop that a block is the
// header of, or kNone.
void arrange(const std::vector<uint32_t>& in, const std::vector<NaturalLoop>& loops,
             const std::vector<uint32_t>& headed, size_t firstLoop, std::vector<uint32_t>& out) {
  std::vector<bool> taken(headed.size(), false);
  for (uint32_t b : in) {
    if (taken[b]) continue;
    const uint32_t loop = headed[b];
    if (loop == kNone || loop < firstLoop) {
      out.push_back(b);
      continue;
    }
    std::vector<uint32_t> body;
    for (uint32_t c : in)
      if (loops[loop].contains[c]) {
        body.push_back(c);
        taken[c] = true;
      }
    out.push_back(b);
    body.erase(std::find(body.begin(), body.end(), b));
    arrange(body, loops, headed, loop + 1, out);
  }
}

void findPostDominators(Program& program) {
  const uint32_t count = static_cast<uint32_t>(program.blocks.size());
  const BlockId end = endBlock(program);
  Graph successors(count);
  const auto fill = [&](BlockId b, bool withExits) {
    successors[b] = program.blocks[b].successors;
    if (!withExits && successors[b].size() > 1) {
      auto kept = successors[b];
      std::erase(kept, end);
      if (!kept.empty()) successors[b] = kept;
    }
  };
  for (BlockId b = 0; b < count; ++b) fill(b, false);
  const auto unreaching = [&] {
    const Graph predecessors = invert(successors);
    Walk reaching(count);
    reaching.find(end);
    while (const auto b = reaching.next()) reaching.findAll(predecessors[*b]);
    std::vector<BlockId> lost;
    for (BlockId b = 0; b < count; ++b)
      if (!reaching.hasFound(b)) lost.push_back(b);
    return lost;
  };
  for (BlockId b : unreaching()) fill(b, true);
  for (auto lost = unreaching(); !lost.empty(); lost = unreaching()) successors[lost.back()].push_back(end);
  // Dominators of the reversed graph, in its own reverse post-order.
  const Graph predecessors = invert(successors);
  const std::vector<uint32_t> order = reversePostOrder(predecessors, end);
  std::vector<uint32_t> position(count, kNone);
  for (uint32_t n = 0; n < order.size(); ++n) position[order[n]] = n;
  Graph reversed(order.size());
  for (uint32_t n = 0; n < order.size(); ++n)
    for (uint32_t s : successors[order[n]])
      if (position[s] != kNone) reversed[n].push_back(position[s]);
  const std::vector<uint32_t> idom = dominators(reversed);
  program.immediatePostDominator.assign(count, end);
  for (uint32_t n = 1; n < order.size(); ++n)
    if (idom[n] != kNone) program.immediatePostDominator[order[n]] = order[idom[n]];
}

// Whether there is a way from `from` to `to` that does not come by `past`.
bool reachesWithout(const Program& program, BlockId from, BlockId to, BlockId past) {
  Walk walk(program.blocks.size());
  walk.find(from);
  while (const auto at = walk.next())
    for (BlockId s : program.blocks[*at].successors) {
      if (s == to) return true;
      if (s != past) walk.find(s);
    }
  return false;
}

// A block inside a loop by which all ways from a branch come, but some only in a later round, is no place where lanes
// meet: the others go on in theirs. `do { do x = next(); while (bad(x)); use(x); } while (...)` with one header for
// both loops is such a case. They meet behind the loop.
void meetInTheSameRound(Program& program) {
  const std::vector<BlockId> next = program.immediatePostDominator;
  std::vector<std::vector<bool>> behindHeader(program.loops.size());  // in the loop, on every way from its header
  for (LoopId l = 0; l < program.loops.size(); ++l)
    for (BlockId b = next[program.loops[l].header]; program.inLoop(b, l); b = next[b]) {
      behindHeader[l].resize(program.blocks.size());
      behindHeader[l][b] = true;
    }
  for (BlockId b = 0; b < program.blocks.size(); ++b) {
    BlockId& meeting = program.immediatePostDominator[b];
    if (program.blocks[b].successors.size() < 2) continue;
    for (LoopId l = program.blocks[b].loop; l != kNone; l = program.loops[l].parent)
      if (!behindHeader[l].empty() && behindHeader[l][meeting] &&
          reachesWithout(program, b, program.loops[l].header, meeting))
        while (program.inLoop(meeting, l)) meeting = next[meeting];
  }
}

// The part of the graph that `order` names, by the places there. Requires: all successors of what it names.
Graph renumbered(const Graph& successors, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> position(successors.size(), kNone);
  for (uint32_t n = 0; n < order.size(); ++n) position[order[n]] = n;
  Graph ordered(order.size());
  for (uint32_t n = 0; n < order.size(); ++n)
    for (uint32_t s : successors[order[n]]) ordered[n].push_back(position[s]);
  return ordered;
}

// Numbers blocks so that what one dominates has the numbers from its own on. An immediate dominator stands before what
// it dominates.
void numberDominated(Program& program) {
  const std::vector<BlockId>& idom = program.immediateDominator;
  const uint32_t count = static_cast<uint32_t>(idom.size());
  std::vector<uint32_t> size(count, 1), next(count, 0);
  for (BlockId b = count; b-- > 1;)
    if (idom[b] != kNone) size[idom[b]] += size[b];
  program.dominated.assign(count, {});
  for (BlockId b = 0; b < count; ++b) {
    if (idom[b] == kNone) continue;
    const uint32_t first = b == 0 ? 0 : std::exchange(next[idom[b]], next[idom[b]] + size[b]);
    program.dominated[b] = {first, first + size[b]};
    next[b] = first + 1;
  }
}

}  // namespace

std::vector<uint32_t> orderBlocks(const Graph& successors, uint32_t start) {
  std::vector<uint32_t> order = reversePostOrder(successors, start);
  std::erase(order, 0u);
  order.push_back(0);
  const Graph predecessors = invert(renumbered(successors, order));
  const std::vector<NaturalLoop> loops = naturalLoops(predecessors, dominators(predecessors));
  std::vector<uint32_t> all(order.size()), headed(order.size(), kNone), arranged, result;
  for (uint32_t l = 0; l < loops.size(); ++l) headed[loops[l].header] = l;
  for (uint32_t n = 0; n < all.size(); ++n) all[n] = n;
  arrange(all, loops, headed, 0, arranged);
  for (uint32_t n : arranged)
    if (order[n] != 0) result.push_back(order[n]);
  result.push_back(0);
  return result;
}

// Where a way comes back to a block that it need not have come by, that block and the way back lie in such a loop. It
// lies behind the block's immediate dominator, and what is connected there in both directions is all of it.
std::optional<TangledLoop> tangledLoop(const Graph& successors, uint32_t start) {
  const std::vector<uint32_t> order = reversePostOrder(successors, start);
  const Graph ordered = renumbered(successors, order), predecessors = invert(ordered);
  const std::vector<uint32_t> idom = dominators(predecessors);
  const auto isTangled = [&](uint32_t head) {
    return std::ranges::any_of(predecessors[head],
                               [&](uint32_t p) { return p >= head && !dominatesAt(idom, head, p); });
  };
  uint32_t head = 0;
  while (head < order.size() && !isTangled(head)) ++head;
  if (head == order.size()) return {};
  const auto reached = [&](const Graph& graph) {
    Walk walk(order.size());
    walk.find(head);
    while (const auto at = walk.next())
      for (uint32_t next : graph[*at])
        if (next != idom[head] && dominatesAt(idom, idom[head], next)) walk.find(next);
    return walk.takeFound();
  };
  const std::vector<bool> onward = reached(ordered), back = reached(predecessors);
  TangledLoop loop;
  for (uint32_t n = 0; n < order.size(); ++n) {
    if (!onward[n] || !back[n]) continue;
    const bool entered = std::ranges::any_of(predecessors[n], [&](uint32_t p) { return !onward[p] || !back[p]; });
    (entered ? loop.entries : loop.blocks).push_back(order[n]);
  }
  loop.blocks.insert(loop.blocks.begin(), loop.entries.begin(), loop.entries.end());
  return loop;
}

void findLoops(Program& program) {
  Graph predecessors(program.blocks.size());
  for (uint32_t b = 0; b < program.blocks.size(); ++b) predecessors[b] = program.blocks[b].predecessors;
  program.immediateDominator = dominators(predecessors);
  numberDominated(program);
  for (const NaturalLoop& natural : naturalLoops(predecessors, program.immediateDominator)) {
    Loop loop;
    loop.header = natural.header;
    loop.parent = program.blocks[natural.header].loop;
    loop.depth = loop.parent == kNone ? 1 : program.loops[loop.parent].depth + 1;
    const LoopId id = static_cast<LoopId>(program.loops.size());
    for (BlockId b = 0; b < program.blocks.size(); ++b)
      if (natural.contains[b]) {
        loop.blocks.push_back(b);
        program.blocks[b].loop = id;
      }
    program.loops.push_back(std::move(loop));
  }
  findPostDominators(program);
  meetInTheSameRound(program);
}

// A loop's blocks stand together.
bool Program::inLoop(BlockId block, LoopId loop) const {
  return loops[loop].header <= block && block <= loops[loop].blocks.back();
}

// Without going up from block to block: chains of tests are thousands of blocks deep.
bool Program::dominates(BlockId a, BlockId b) const {
  return dominated[a].first <= dominated[b].first && dominated[b].first < dominated[a].end;
}

}  // namespace vg::ptx::gen
