// Functions that call themselves, or each other in a circle, and those of kernels that would be too large with a copy
// for every call (CallGraph::shared): there the kernel itself is one of them. Each of them is in the kernel once for
// every call from outside, and all are parts of one loop: a dispatcher goes to a state, which is the start of a
// function or the place behind a call. Lanes may be in different states; a pass of the loop brings each on to its next
// call or return.
//
// Before a call a lane puts what its function still needs on its own stack (alloca), and says where to go on in
// `resume` and where that memory is in `kept`; both are among what the callee keeps before it calls again. Local
// variables of such functions are taken from the same stack when they begin. The caller takes the stack back to where
// it was.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/round.h"
#include "ptx/llvm/ir/code_expander.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

constexpr uint64_t kPiece = 64;  // bytes: the alignment of what alloca gives

uint32_t bytesOf(Class type) { return std::max(32u, bitsOf(type)) / 8; }

}  // namespace

// --- Calls -----------------------------------------------------------------------------------------------------------

// Of any of the functions of one circle, each on a way of its own.
uint32_t CodeExpander::callCycle(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                 const std::vector<CallWay>& ways) {
  const bool inside = instance.recursion && instance.recursion->cycle == graph().cycle(ways[0].function);
  return inside ? callAgain(instance, i, call, ways) : callRecursive(instance, i, call, ways);
}

// From outside: the loop with all its functions.
uint32_t CodeExpander::callRecursive(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                     const std::vector<CallWay>& ways) {
  const Function& callee = program_.module->functions[ways[0].function];
  const uint32_t top = code_.newVariable(Class::I64), before = code_.newBlock(), back = code_.newBlock();
  Recursion& region = *newRecursion(graph().cycle(ways[0].function));
  chooseStates(region, ways, before, i.line);
  passIn(region, instance, i, call, callee, before);
  std::vector<Item>& items = code_.blocks[before].items;
  code_.make(items, Op::Stacksave, Type::U64, {operand::variable(top)}, i.line);
  code_.make(items, Op::Mov, Type::U32, {operand::variable(region.resume), operand::number(0)}, i.line);
  code_.make(items, Op::Mov, Type::U64, {operand::variable(region.kept), operand::number(0)}, i.line);
  code_.jump(before, region.dispatch);
  finish(region, back);
  code_.make(code_.blocks[back].items, Op::Stackrestore, Type::U64, {operand::variable(top)}, i.line);
  passOut(region, instance, i, call, callee, back);
  return back;
}

// From one of the functions to another or itself.
uint32_t CodeExpander::callAgain(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                 const std::vector<CallWay>& ways) {
  Recursion& region = *instance.recursion;
  const Function& callee = program_.module->functions[ways[0].function];
  const uint32_t before = code_.newBlock(), save = code_.newBlock(), back = code_.newBlock();
  chooseStates(region, ways, before, i.line);
  passIn(region, instance, i, call, callee, before);
  code_.jump(before, save);
  code_.jump(save, region.dispatch);
  std::vector<uint32_t> callees;
  callees.reserve(ways.size());
  for (const CallWay& way : ways) callees.push_back(way.function);
  region.calls.push_back({save, back, newState(region, back), objectsFor(region.results, callee.returns), i.line,
                          bodyOf(region, instance), std::move(callees)});
  passOut(region, instance, i, call, callee, back);
  return back;
}

// The function among those of the loop that a copy is in.
uint32_t CodeExpander::bodyOf(const Recursion& region, const Instance& instance) {
  const Instance* at = &instance;
  const auto isBody = [&] {
    const auto found = region.bodies.find(at->functionIndex);
    return found != region.bodies.end() && found->second == at;
  };
  while (!isBody() && at->caller) at = at->caller;
  return at->functionIndex;
}

void CodeExpander::chooseStates(Recursion& region, const std::vector<CallWay>& ways, uint32_t common, uint32_t line) {
  for (const CallWay& way : ways) {
    addBody(region, way.function);
    code_.make(code_.blocks[way.block].items, Op::Mov, Type::U32,
               {operand::variable(region.state), operand::number(region.entries.at(way.function))}, line);
    code_.jump(way.block, common);
  }
}

void CodeExpander::passIn(Recursion& region, Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                          const Function& callee, uint32_t block) {
  const std::vector<ParamObject*> arguments = passed(instance, call.arguments, callee.parameters, i.line);
  readArguments(instance, call.arguments, callee.parameters, arguments, block);
  const std::vector<ParamObject*>& incoming = objectsFor(region.incoming, callee.parameters);
  for (size_t k = 0; k < arguments.size(); ++k) copyPieces(*arguments[k], *incoming[k], block);
}

void CodeExpander::passOut(Recursion& region, Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                           const Function& callee, uint32_t block) {
  const std::vector<ParamObject*> results = passed(instance, call.returns, callee.returns, i.line);
  const std::vector<ParamObject*>& made = objectsFor(region.results, callee.returns);
  for (size_t k = 0; k < results.size(); ++k) copyPieces(*made[k], *results[k], block);
  writeResults(instance, call.returns, callee.returns, results, block);
}

const std::vector<ParamObject*>& CodeExpander::objectsFor(
    std::map<std::vector<uint64_t>, std::vector<ParamObject*>>& all, const std::vector<Variable>& formals) {
  auto [found, fresh] = all.try_emplace(sizesOf(formals));
  for (size_t k = 0; fresh && k < formals.size(); ++k) found->second.push_back(code_.newObject());
  return found->second;
}

uint32_t CodeExpander::expandKernel() {
  const Function& f = program_.module->functions[program_.root];
  const bool calls = std::ranges::any_of(f.body, [](const ptx::Instruction& i) { return i.op == Op::Call; });
  program_.sharesForNow = calls && graph().sharedForNow();
  if (!calls || !graph().shared()) return expand(*code_.newInstance(program_.root, nullptr), RawCode::kEnd);
  Recursion& region = *newRecursion(*graph().shared());
  Instance& top = *code_.newInstance(program_.root, nullptr);
  top.recursion = &region;
  const uint32_t start = code_.newBlock();
  code_.make(code_.blocks[start].items, Op::Mov, Type::U32, {operand::variable(region.resume), operand::number(0)},
             f.line);
  code_.make(code_.blocks[start].items, Op::Mov, Type::U64, {operand::variable(region.kept), operand::number(0)},
             f.line);
  code_.jump(start, expand(top, RawCode::kEnd));
  finish(region, RawCode::kEnd);
  return start;
}

// --- The functions ---------------------------------------------------------------------------------------------------

Recursion* CodeExpander::newRecursion(uint32_t cycle) {
  recursions_.push_back(std::make_unique<Recursion>());
  Recursion& region = *recursions_.back();
  region.cycle = cycle;
  region.firstVariable = static_cast<uint32_t>(code_.variableTypes.size());
  region.firstBlock = static_cast<uint32_t>(code_.blocks.size());
  region.state = code_.newVariable(Class::I32);
  region.resume = code_.newVariable(Class::I32);
  region.kept = code_.newVariable(Class::I64);
  region.dispatch = code_.newBlock();
  region.states = {kNone};  // 0: back to whoever called from outside
  return &region;
}

uint32_t CodeExpander::newState(Recursion& region, uint32_t block) {
  region.states.push_back(block);
  return static_cast<uint32_t>(region.states.size() - 1);
}

// Expands a function on the first call of it: its callers write arguments to objects of their own, so that what it was
// called with stays there while it calls itself.
void CodeExpander::addBody(Recursion& region, uint32_t function) {
  if (region.bodies.contains(function)) return;
  const Function& f = program_.module->functions[function];
  Instance& body = *code_.newInstance(function, code_.firstInstance());
  body.recursion = &region;
  region.bodies[function] = &body;
  const std::vector<ParamObject*>& incoming = objectsFor(region.incoming, f.parameters);
  for (size_t k = 0; k < f.parameters.size(); ++k) body.parameters.push_back(code_.newObject());
  body.returns = objectsFor(region.results, f.returns);
  declarePieces(body, incoming);
  const uint32_t start = code_.newBlock(), end = code_.newBlock();
  region.entries[function] = newState(region, start);
  for (size_t k = 0; k < incoming.size(); ++k) copyPieces(*incoming[k], *body.parameters[k], start);
  placeLocals(body, start);
  code_.jump(start, expandBody(body, end));
  Item leave;
  leave.instance = &body;
  leave.copyTo = region.state;
  leave.copyFrom = region.resume;
  code_.blocks[end].items.push_back(leave);
  code_.jump(end, region.dispatch);
}

// Memory of a call's own for what the function declares in .local.
void CodeExpander::placeLocals(Instance& instance, uint32_t block) {
  uint64_t size = 0, alignment = kPiece;
  for (uint32_t k = 0; k < instance.function->variables.size(); ++k) {
    const Variable& v = instance.function->variables[k];
    if (v.space != Space::Local) continue;
    size = roundUp(size, std::max(v.alignment, 1u));
    alignment = std::max<uint64_t>(alignment, v.alignment);
    instance.localOffsets[k] = static_cast<uint32_t>(size);
    size += v.size;
  }
  if (!size) return;
  if (size > UINT32_MAX / 2) unsupportedConstruct(instance.function->line, "over 2 GiB of local memory");
  const uint64_t most = roundUp(size, kPiece) + alignment - kPiece;  // of the stack, whatever is taken of it before
  instance.recursion->localBytes[instance.functionIndex] = static_cast<uint32_t>(most);
  instance.localBase = code_.newVariable(Class::I64);
  code_.make(code_.blocks[block].items, Op::Alloca, Type::U64,
             {operand::variable(instance.localBase), operand::number(size), operand::number(alignment)},
             instance.function->line);
}

// The pieces that a function reads its parameters in and writes its results in.
void CodeExpander::declarePieces(Instance& instance, const std::vector<ParamObject*>& incoming) {
  const Function& f = *instance.function;
  for (size_t k = 0; k < f.parameters.size(); ++k)
    if (formalRegister(f, f.parameters[k]) != kNone)
      code_.piecesOf(*instance.parameters[k], 0, ptx::bitsOf(f.parameters[k].type));
  for (size_t k = 0; k < f.returns.size(); ++k)
    if (formalRegister(f, f.returns[k]) != kNone)
      code_.piecesOf(*instance.returns[k], 0, ptx::bitsOf(f.returns[k].type));
  for (const ptx::Instruction& i : f.body) {
    if (!RawCode::isParamAccess(i, instance)) continue;
    const Operand& address = f.operands[i.first + (i.op == Op::Ld ? 1 : 0)];
    if (address.symbolKind != SymbolKind::FunctionVariable) code_.declarePieces(i, instance);
  }
  for (size_t k = 0; k < incoming.size(); ++k)
    for (const auto& [offset, piece] : instance.parameters[k]->pieces) code_.pieceOf(*incoming[k], offset, piece.bits);
}

// Copies the pieces that the function's side of a call has.
void CodeExpander::copyPieces(ParamObject& from, ParamObject& to, uint32_t block) {
  std::map<int64_t, uint32_t> pieces;
  for (const ParamObject* object : {&from, &to})
    for (const auto& [offset, piece] : object->pieces) pieces[offset] = std::max(pieces[offset], piece.bits);
  for (const auto& [offset, bits] : pieces) {
    Item copy;
    copy.instance = code_.firstInstance();
    copy.copyFrom = code_.pieceOf(from, offset, bits);
    copy.copyTo = code_.pieceOf(to, offset, bits);
    code_.blocks[block].items.push_back(copy);
  }
}

// --- The loop --------------------------------------------------------------------------------------------------------

void CodeExpander::finish(Recursion& region, uint32_t leave) {
  region.states[0] = leave;
  const std::vector<std::vector<uint32_t>> live = liveBehindCalls(region);
  std::vector<std::vector<uint32_t>> kept;
  for (size_t n = 0; n < live.size(); ++n) kept.push_back(keptBy(region, region.calls[n], live[n]));
  for (size_t n = 0; n < kept.size(); ++n) keepAndRestore(region, region.calls[n], kept[n]);
  measureStack(region);
  code_.blocks[region.dispatch].terminator = Block::Switch;
  code_.blocks[region.dispatch].condition = region.state;
  code_.blocks[region.dispatch].successors = region.states;
}

// Of calls one inside another, where none comes back to its own function; others may take what the launch allows.
void CodeExpander::measureStack(const Recursion& region) {
  std::map<uint32_t, std::vector<const RecursiveCall*>> callsOf;
  for (const RecursiveCall& call : region.calls) callsOf[call.caller].push_back(&call);
  struct Open {
    uint32_t function;
    std::vector<std::pair<uint32_t, uint32_t>> left;  // stack of a call, callee
    uint64_t most = 0;
  };
  std::map<uint32_t, uint64_t> need;  // kOpen: not known yet
  constexpr uint64_t kOpen = UINT64_MAX;
  std::vector<Open> path;
  const auto enter = [&](uint32_t f) {
    need[f] = kOpen;
    path.push_back({f, {}});
    for (const RecursiveCall* call : callsOf[f])
      for (uint32_t callee : call->callees) path.back().left.emplace_back(call->stack, callee);
  };
  uint64_t most = 0;
  const auto measure = [&](uint32_t start) {
    if (!need.contains(start)) enter(start);
    while (!path.empty()) {
      Open& open = path.back();
      if (open.left.empty()) {
        const auto locals = region.localBytes.find(open.function);
        need[open.function] = open.most + (locals == region.localBytes.end() ? 0 : locals->second);
        most = std::max(most, need[open.function]);
        path.pop_back();
        continue;
      }
      const auto [stack, callee] = open.left.back();
      const auto known = need.find(callee);
      if (known == need.end()) {
        enter(callee);  // and looks again then
        continue;
      }
      if (known->second == kOpen) return false;
      open.most = std::max(open.most, stack + known->second);
      open.left.pop_back();
    }
    return true;
  };
  bool ends = true;
  for (const auto& [function, body] : region.bodies) ends = ends && measure(function);
  for (const auto& [function, calls] : std::map(callsOf)) ends = ends && measure(function);
  program_.recurses |= !ends;
  if (ends)
    program_.stackOfCalls =
        std::max(program_.stackOfCalls, static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX / 2)));
}

// What lanes do together that no mask names: those that are there. Others may come by in another pass.
void CodeExpander::refuseInStates(const Recursion& region, const ptx::Instruction& i) const {
  const bool again = region.cycle != graph_->shared();
  unsupportedConstruct(i.line, "%s without .sync in a %s", nameOf(i.op),
                       again ? "function that calls itself" : "kernel that is too large for a copy of each call");
}

std::vector<uint32_t> CodeExpander::keptBy(const Recursion& region, const RecursiveCall& call,
                                           const std::vector<uint32_t>& live) const {
  std::set<uint32_t> made{region.state, region.resume, region.kept};  // by the callee
  for (const ParamObject* object : call.results)
    for (const auto& [offset, piece] : object->pieces) made.insert(piece.variable);
  std::vector<uint32_t> kept{region.resume, region.kept};
  std::ranges::copy_if(live, std::back_inserter(kept), [&](uint32_t v) { return !made.contains(v); });
  // Wide ones first, so that all are aligned.
  std::ranges::stable_sort(kept, std::ranges::greater{}, [&](uint32_t v) { return bytesOf(code_.variableTypes[v]); });
  return kept;
}

void CodeExpander::keepAndRestore(Recursion& region, RecursiveCall& call, const std::vector<uint32_t>& variables) {
  const uint32_t top = code_.newVariable(Class::I64), memory = code_.newVariable(Class::I64), line = call.line;
  std::vector<uint32_t> kept = variables;
  kept.insert(std::ranges::find_if(kept, [&](uint32_t v) { return bytesOf(code_.variableTypes[v]) <= 8; }), top);
  uint32_t size = 0;
  for (uint32_t v : kept) size += bytesOf(code_.variableTypes[v]);
  call.stack = roundUp(size, uint32_t{kPiece});

  std::vector<Item>& save = code_.blocks[call.save].items;
  code_.make(save, Op::Stacksave, Type::U64, {operand::variable(top)}, line);
  code_.make(save, Op::Alloca, Type::U64, {operand::variable(memory), operand::number(size)}, line);
  uint32_t offset = 0;
  for (uint32_t v : kept) {
    code_.makeStore(save, memory, offset, v, line);
    offset += bytesOf(code_.variableTypes[v]);
  }
  code_.make(save, Op::Mov, Type::U64, {operand::variable(region.kept), operand::variable(memory)}, line);
  code_.make(save, Op::Mov, Type::U32, {operand::variable(region.resume), operand::number(call.backState)}, line);

  std::vector<Item> restore;
  // The mask changes nothing; it says how the address is aligned.
  code_.make(restore, Op::And, Type::B64,
             {operand::variable(memory), operand::variable(region.kept), operand::number(~(kPiece - 1))}, line);
  offset = 0;
  for (uint32_t v : kept) {
    code_.makeLoad(restore, memory, offset, v, line);
    offset += bytesOf(code_.variableTypes[v]);
  }
  code_.make(restore, Op::Stackrestore, Type::U64, {operand::variable(top)}, line);
  std::vector<Item>& back = code_.blocks[call.back].items;
  back.insert(back.begin(), restore.begin(), restore.end());
}

namespace {

// Where each variable is read before it is written, and where it is written, of a range of blocks and variables.
class Uses {
 public:
  Uses(RawCode& code, uint32_t firstBlock, uint32_t firstVariable)
      : firstVariable_(firstVariable), of_(code.variableTypes.size() - firstVariable) {
    for (uint32_t b = firstBlock; b < code.blocks.size(); ++b) {
      for (const Item& item : code.blocks[b].items) {
        const Effects effects = code.effectsOf(item);
        for (const uint32_t v : effects.reads) noteRead(v, b);
        if (effects.always)
          for (const uint32_t v : effects.writes) noteWrite(v, b);
      }
      if (code.blocks[b].condition != kNone) noteRead(code.blocks[b].condition, b);
    }
  }

  struct Variable {
    std::vector<uint32_t> readIn, writtenIn;  // blocks, ascending
    bool isWrittenIn(uint32_t block) const { return std::ranges::binary_search(writtenIn, block); }
  };
  const std::vector<Variable>& of() const { return of_; }

 private:
  void noteRead(uint32_t variable, uint32_t block) {
    if (variable < firstVariable_) return;
    Variable& v = of_[variable - firstVariable_];
    if (!isLast(v.writtenIn, block) && !isLast(v.readIn, block)) v.readIn.push_back(block);
  }
  void noteWrite(uint32_t variable, uint32_t block) {
    if (variable < firstVariable_) return;
    Variable& v = of_[variable - firstVariable_];
    if (!isLast(v.writtenIn, block)) v.writtenIn.push_back(block);
  }
  static bool isLast(const std::vector<uint32_t>& blocks, uint32_t block) {
    return !blocks.empty() && blocks.back() == block;
  }

  const uint32_t firstVariable_;
  std::vector<Variable> of_;
};

}  // namespace

// The variables that a function still needs behind each call, ascending: what it keeps in memory while it may be called
// again. Each variable is followed back from where it is read to where it is written.
std::vector<std::vector<uint32_t>> CodeExpander::liveBehindCalls(const Recursion& region) {
  const size_t blocks = code_.blocks.size();
  std::vector<std::vector<uint32_t>> before(blocks), callsBefore(blocks);
  for (uint32_t b = region.firstBlock; b < blocks; ++b)
    for (const uint32_t s : code_.blocks[b].successors)
      // Seen from a function, a call goes on behind itself, and a return or another call's place is the end.
      if (b != region.dispatch && s != region.dispatch) before[s].push_back(b);
  for (uint32_t n = 0; n < region.calls.size(); ++n) {
    before[region.calls[n].back].push_back(region.calls[n].save);
    callsBefore[region.calls[n].back].push_back(n);
  }
  const Uses uses(code_, region.firstBlock, region.firstVariable);
  std::vector<std::vector<uint32_t>> live(region.calls.size());
  std::vector<uint32_t> seen(blocks, kNone), open;
  for (uint32_t v = 0; v < uses.of().size(); ++v) {
    const Uses::Variable& variable = uses.of()[v];
    const auto find = [&](uint32_t b) {
      if (b < region.firstBlock || std::exchange(seen[b], v) == v) return;
      open.push_back(b);
    };
    std::ranges::for_each(variable.readIn, find);
    while (!open.empty()) {
      const uint32_t b = open.back();
      open.pop_back();
      for (const uint32_t call : callsBefore[b]) live[call].push_back(region.firstVariable + v);
      for (const uint32_t from : before[b])
        if (!variable.isWrittenIn(from)) find(from);
    }
  }
  return live;
}

}  // namespace vg::ptx::gen
