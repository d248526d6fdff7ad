// Blocks of a function body.
#include "ptx/llvm/ir/code_expander.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

static constexpr size_t kMaxInstructions = 60000;

uint32_t CodeExpander::expand(Instance& instance, uint32_t after) {
  const Function& f = *instance.function;
  if (f.isDeclaration) unsupportedConstruct(f.line, "call of undefined function %s", f.name.c_str());
  Expansion x{instance, blocksOfLabels(f), after};
  uint32_t& first = x.blockAt[0];
  if (first == kNone) first = code_.newBlock();
  x.current = first;
  for (size_t n = 0; n < f.body.size(); ++n) {
    goOnAtLabel(x, n);
    if (!x.open) {  // unreachable code without a label
      x.current = code_.newBlock();
      x.open = true;
    }
    if (++expanded_ > kMaxInstructions)
      unsupportedConstruct(f.body[n].line, "kernel of over %zu instructions", kMaxInstructions);
    expandInstruction(x, f.body[n]);
  }
  goOnAtLabel(x, f.body.size());
  if (x.open) code_.jump(x.current, after);
  return first;
}

std::vector<uint32_t> CodeExpander::blocksOfLabels(const Function& f) {
  std::vector<uint32_t> blockAt(f.body.size() + 1, kNone);
  for (const Label& label : f.labels) {
    if (label.instruction > f.body.size()) continue;
    if (blockAt[label.instruction] == kNone) blockAt[label.instruction] = code_.newBlock();
  }
  return blockAt;
}

void CodeExpander::goOnAtLabel(Expansion& x, size_t instruction) {
  const uint32_t block = x.blockAt[instruction];
  if (block == kNone || block == x.current) return;
  if (x.open) code_.jump(x.current, block);
  x.current = block;
  x.open = true;
}

void CodeExpander::expandInstruction(Expansion& x, const ptx::Instruction& i) {
  const Function& f = *x.instance.function;
  switch (i.op) {
    case Op::Bra: {
      const uint32_t target = labelBlock(f, x.blockAt, f.operands[i.first], i);
      x.current = branch(x.instance, i, x.current, target, x.open);
      break;
    }
    case Op::Ret:
      x.current = branch(x.instance, i, x.current, x.after, x.open);
      break;
    case Op::Exit:
      x.current = branch(x.instance, i, x.current, RawCode::kEnd, x.open);
      break;
    case Op::Brx:
      expandSwitch(x, i);
      break;
    case Op::Call:
      x.current = call(x.instance, i, x.current);
      break;
    default:
      rowOf(i.op).has(Trait::Missing) ? expandMissing(x, i) : expandPlain(x, i);
      break;
  }
}

void CodeExpander::expandSwitch(Expansion& x, const ptx::Instruction& i) {
  const Function& f = *x.instance.function;
  const Operand &chosen = f.operands[i.first], &table = f.operands[i.first + 1];
  if (table.symbolKind != SymbolKind::BranchTable)
    unsupportedConstruct(i.line, "brx.idx by something that is not a table");
  const uint32_t chooses = i.guard >= 0 ? code_.newBlock() : x.current;
  x.current = i.guard >= 0 ? branch(x.instance, i, x.current, chooses, x.open) : x.current;
  code_.blocks[chooses].terminator = Block::Switch;
  code_.blocks[chooses].condition = x.instance.firstVariable + chosen.reg;
  code_.blocks[chooses].line = i.line;
  for (uint32_t label : f.branchTables[table.symbol].labels)
    code_.blocks[chooses].successors.push_back(x.blockAt[f.labels[label].instruction]);
  x.open = i.guard >= 0;
}

// How lanes that come to an instruction apart are brought together (analysis/lane_turns.h). Among the states of
// functions that are in the kernel once they always may: the next that a lane comes to may be of another state.
CodeExpander::Gathering CodeExpander::gatheringFor(const Expansion& x, const ptx::Instruction& i) const {
  const auto among = [&](const std::set<const ptx::Instruction*>* some) { return some && some->contains(&i); };
  const Meets meets = rowOf(i.op).meets;
  const bool inStates = x.instance.recursion;
  switch (meets) {
    case Meets::Warp:
      if (inStates && !i.has(Mod::Sync)) refuseInStates(*x.instance.recursion, i);
      return inStates || among(rules_.joint) ? Gathering::Exchange
             : among(rules_.held)            ? Gathering::Named
                                             : Gathering::None;
    case Meets::WholeWarp:
      return inStates ? Gathering::All : Gathering::None;
    case Meets::Block:
      if (i.has(Mod::Warp)) return inStates || among(rules_.held) ? Gathering::Named : Gathering::None;
      if (i.has(Mod::Cluster)) return inStates ? Gathering::All : Gathering::None;
      return inStates || among(rules_.parted) ? Gathering::Barrier : Gathering::None;
    default:
      return Gathering::None;
  }
}

// What goes nowhere else.
void CodeExpander::expandPlain(Expansion& x, const ptx::Instruction& i) {
  const Gathering gathering = gatheringFor(x, i);
  if (gathering == Gathering::Exchange) return expandJoint(x, i);
  if (gathering == Gathering::Barrier) return expandPartedBarrier(x, i);
  if (gathering == Gathering::Named) expandHold(x, i, 1);
  if (gathering == Gathering::All) expandHoldOfAll(x, i);
  if (rules_.beginBlocks && lanesMeetAt(i, *x.instance.function) && !code_.blocks[x.current].items.empty()) {
    const uint32_t meeting = code_.newBlock();
    code_.jump(x.current, meeting);
    x.current = meeting;
  }
  if (!RawCode::isParamAccess(i, x.instance)) {
    code_.blocks[x.current].items.push_back({&i, &x.instance});
    return;
  }
  code_.declarePieces(i, x.instance);
  if (i.guard < 0) {
    code_.blocks[x.current].items.push_back({&i, &x.instance});
    return;
  }
  // Call arguments are no memory: a way of its own.
  const uint32_t access = code_.newBlock();
  const uint32_t behind = branch(x.instance, i, x.current, access, x.open);
  code_.blocks[access].items.push_back({&i, &x.instance});
  code_.jump(access, behind);
  x.current = behind;
}

ptx::Instruction& CodeExpander::copyMade(Expansion& x, const ptx::Instruction& i) {
  ptx::Instruction& made = program_.made->body.emplace_back(i);
  code_.blocks[x.current].items.push_back({&made, &x.instance});
  return made;
}

static void setWords(ptx::Instruction& made, std::initializer_list<Mod> words) {
  made.op = Op::Barrier;
  made.mods.reset();
  for (const Mod word : words) made.mods.set(static_cast<size_t>(word));
}

// Goes before a meeting: lanes tell that they have come, and wait in a loop of their own. The last operands are the
// mask and, as the first of several, what the lanes bring.
void CodeExpander::expandHold(Expansion& x, const ptx::Instruction& i, uint32_t operands) {
  ptx::Instruction& arrives = copyMade(x, i);
  arrives.pair = false;
  setWords(arrives, {Mod::Warp, Mod::Arrive});
  arrives.first += arrives.count - operands;
  arrives.count = operands;
  setWords(expandWait(x, i), {Mod::Warp, Mod::Red});
}

// The same for all lanes of the warp, where no operand names them.
void CodeExpander::expandHoldOfAll(Expansion& x, const ptx::Instruction& i) {
  ptx::Instruction& arrives =
      code_.make(code_.blocks[x.current].items, Op::Barrier, Type::B32, {operand::number(~0u)}, i.line);
  setWords(arrives, {Mod::Warp, Mod::Arrive});
  setWords(expandWait(x, i), {Mod::Warp, Mod::Red});
}

// A loop of one instruction that finds out whether lanes go on.
ptx::Instruction& CodeExpander::expandWait(Expansion& x, const ptx::Instruction& i) {
  const uint32_t waits = code_.newBlock(), behind = code_.newBlock(), goesOn = code_.newVariable(Class::Pred);
  code_.jump(x.current, waits);
  RawBlock& block = code_.blocks[waits];
  ptx::Instruction& made = code_.make(block.items, Op::Barrier, Type::Pred, {operand::variable(goesOn)}, i.line);
  block.terminator = Block::Branch;
  block.condition = goesOn;
  block.successors = {behind, waits};
  block.line = i.line;
  x.current = behind;
  return made;
}

// In place of a barrier of the block: lanes tell which they have come to, and wait until all of their warp have come to
// one. The last that finds that out comes to the barrier for the whole warp.
void CodeExpander::expandPartedBarrier(Expansion& x, const ptx::Instruction& i) {
  const bool combines = i.has(Mod::Red);
  const Mod how = i.has(Mod::Arrive) ? Mod::Arrive
                  : !combines        ? Mod::Sync
                  : i.has(Mod::And)  ? Mod::And
                  : i.has(Mod::Or)   ? Mod::Or
                                     : Mod::Add;
  ptx::Instruction& comes = copyMade(x, i);
  setWords(comes, {Mod::Warp, Mod::Cta, how});
  comes.first += combines;
  comes.count -= combines;
  setWords(expandWait(x, i), {Mod::Warp, Mod::Cta, Mod::Red});
  if (!combines) return;
  ptx::Instruction& takes = copyMade(x, i);
  setWords(takes, {Mod::Warp, Mod::Cta, Mod::Red, how == Mod::Add ? Mod::Popc : how});
  takes.count = 1;
}

// Lanes that come by different branches and exchange something leave it in memory, and stay until each has taken what
// it wants. The operation may overwrite its own mask or guard, by which they came and stay.
void CodeExpander::expandJoint(Expansion& x, const ptx::Instruction& i) {
  expandHold(x, i, i.op == Op::Shfl ? 4 : i.op == Op::Elect ? 1 : 2);
  Item mask{nullptr, &x.instance}, guard{nullptr, &x.instance};
  mask.copyTo = code_.newVariable(Class::I32);
  mask.copyOperand = &x.instance.function->operands[i.first + i.count - 1];
  code_.blocks[x.current].items.push_back(mask);
  if (i.guard >= 0) {
    guard.copyTo = code_.newVariable(Class::Pred);
    guard.copyFrom = x.instance.firstVariable + static_cast<uint32_t>(i.guard);
    code_.blocks[x.current].items.push_back(guard);
  }
  copyMade(x, i).mods.set(static_cast<size_t>(Mod::Arrive));
  ptx::Instruction& stays =
      code_.make(code_.blocks[x.current].items, Op::Barrier, Type::B32, {operand::variable(mask.copyTo)}, i.line);
  setWords(stays, {Mod::Warp, Mod::Arrive});
  if (i.guard >= 0) {
    stays.guard = static_cast<int32_t>(guard.copyTo);
    stays.guardNegated = i.guardNegated;
  }
  setWords(expandWait(x, i), {Mod::Warp, Mod::Red});
}

// What no emulated device runs ends the kernel where it is reached, and only there: libraries have ways for memory or
// units that they find out they do not have.
void CodeExpander::expandMissing(Expansion& x, const ptx::Instruction& i) {
  const uint32_t reached = i.guard < 0 ? x.current : code_.newBlock();
  const uint32_t behind = i.guard < 0 ? x.current : branch(x.instance, i, x.current, reached, x.open);
  code_.make(code_.blocks[reached].items, Op::Invalid, Type::None, {}, i.line);
  if (i.guard >= 0) code_.jump(reached, behind);
  x.current = behind;
}

uint32_t CodeExpander::labelBlock(const Function& f, const std::vector<uint32_t>& blockAt, const Operand& o,
                                  const ptx::Instruction& i) {
  if (o.symbolKind != SymbolKind::Label) unsupportedConstruct(i.line, "branch to something that is not a label");
  return blockAt[f.labels[o.symbol].instruction];
}

uint32_t CodeExpander::branch(Instance& instance, const ptx::Instruction& i, uint32_t current, uint32_t target,
                              bool& open) {
  code_.blocks[current].line = i.line;
  if (i.guard < 0) {
    code_.jump(current, target);
    open = false;
    return current;
  }
  const uint32_t next = code_.newBlock();
  code_.blocks[current].terminator = Block::Branch;
  code_.blocks[current].condition = instance.firstVariable + static_cast<uint32_t>(i.guard);
  code_.blocks[current].negated = i.guardNegated;
  code_.blocks[current].successors = {target, next};
  return next;
}

}  // namespace vg::ptx::gen
