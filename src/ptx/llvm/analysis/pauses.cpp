#include "ptx/llvm/analysis/pauses.h"

#include <algorithm>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

bool endsInterval(const Instruction& i) {
  if (isBlockBarrier(*i.ast) || comesToBarrier(*i.ast)) return !i.ast->has(Mod::Arrive);
  return rowOf(i.ast->op).meets == Meets::Object && (i.ast->has(Mod::TestWait) || i.ast->has(Mod::TryWait));
}

std::vector<bool> loopsThatWait(const Program& program) {
  std::vector<bool> waits;
  for (const Loop& loop : program.loops)
    waits.push_back(std::ranges::any_of(loop.blocks, [&](BlockId b) {
      return std::ranges::any_of(program.blocks[b].instructions,
                                 [&](uint32_t n) { return endsInterval(program.instructions[n]); });
    }));
  return waits;
}

Point endOf(const Program& program, BlockId block) {
  return {block, static_cast<uint32_t>(program.blocks[block].instructions.size())};
}

void insertPauses(Program& program, const std::set<Point>& points) {
  for (auto at = points.rbegin(); at != points.rend(); ++at) {  // the later ones of a block first
    ptx::Instruction& made = program.made->body.emplace_back();
    made.op = Op::Bar;
    std::vector<uint32_t>& all = program.blocks[at->block].instructions;
    made.line =
        at->position < all.size() ? program.instructions[all[at->position]].ast->line : program.blocks[at->block].line;
    Instruction i;
    i.ast = &made;
    i.function = &program.made->function;
    i.functionIndex = kNone;
    i.block = at->block;
    all.insert(all.begin() + at->position, static_cast<uint32_t>(program.instructions.size()));
    program.instructions.push_back(std::move(i));
  }
}

}  // namespace vg::ptx::gen
