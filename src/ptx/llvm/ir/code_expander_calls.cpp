// Calls: a copy of the function that is called, or of each that a register may name; see code_expander_recursion.cpp
// for functions that call themselves. Arguments and results pass through objects of the caller.
#include "ptx/llvm/ir/code_expander.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

CallGraph& CodeExpander::graph() {
  if (!graph_)
    graph_ = std::make_unique<CallGraph>(*program_.module, program_.references.functions, program_.root, copies_);
  return *graph_;
}

uint32_t CodeExpander::call(Instance& instance, const ptx::Instruction& i, uint32_t current) {
  const CallOperands operands = callOperands(*instance.function, i);
  if (!operands.target) unsupportedConstruct(i.line, "call of nothing");
  uint32_t after = kNone;
  if (i.guard >= 0) {
    const uint32_t taken = code_.newBlock();
    after = code_.newBlock();
    code_.blocks[current].terminator = Block::Branch;
    code_.blocks[current].condition = instance.firstVariable + static_cast<uint32_t>(i.guard);
    code_.blocks[current].negated = i.guardNegated;
    code_.blocks[current].successors = {taken, after};
    code_.blocks[current].line = i.line;
    current = taken;
  }
  current = operands.byName() ? callFunction(instance, i, operands, operands.target->symbol, current)
                              : callThroughRegister(instance, i, operands, current);
  if (after == kNone) return current;
  code_.jump(current, after);
  return after;
}

// Compares the address with that of each function that it may be; any other address is none of a function.
uint32_t CodeExpander::callThroughRegister(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                           uint32_t current) {
  if (call.target->kind != Operand::Kind::Register)
    unsupportedConstruct(i.line, "call of something that is no function");
  if (graph().apart()) {
    program_.callsApart = true;
    code_.blocks[current].items.push_back({&i, &instance});
    return current;
  }
  const uint32_t address = instance.firstVariable + call.target->reg;
  const uint32_t after = code_.newBlock();
  std::map<uint32_t, std::vector<CallWay>> cycles;
  for (uint32_t target : graph().targets(*instance.function, call)) {
    const uint32_t matches = code_.newVariable(Class::Pred), taken = code_.newBlock(), next = code_.newBlock();
    code_
        .make(code_.blocks[current].items, Op::Setp, Type::U64,
              {operand::variable(matches), operand::variable(address), operand::number(functionAddress(target))},
              i.line)
        .mods.set(static_cast<size_t>(Mod::Eq));
    code_.blocks[current].terminator = Block::Branch;
    code_.blocks[current].condition = matches;
    code_.blocks[current].successors = {taken, next};
    code_.blocks[current].line = i.line;
    if (const uint32_t cycle = graph().cycle(target); cycle != kNone)
      cycles[cycle].push_back({target, taken});
    else
      code_.jump(callInlined(instance, i, call, target, taken), after);
    current = next;
  }
  for (const auto& [cycle, ways] : cycles) code_.jump(callCycle(instance, i, call, ways), after);
  code_.make(code_.blocks[current].items, Op::Invalid, Type::None, {}, i.line);
  code_.jump(current, after);
  return after;
}

uint32_t CodeExpander::callFunction(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                    uint32_t target, uint32_t current) {
  if (program_.module->functions[target].isDeclaration) {
    code_.blocks[current].items.push_back({&i, &instance});
    return current;
  }
  if (graph().cycle(target) != kNone) return callCycle(instance, i, call, {{target, current}});
  return callInlined(instance, i, call, target, current);
}

uint32_t CodeExpander::callInlined(Instance& instance, const ptx::Instruction& i, const CallOperands& call,
                                   uint32_t target, uint32_t current) {
  const Function& callee = program_.module->functions[target];
  Instance* const inlined = code_.newInstance(target, &instance);
  inlined->parameters = passed(instance, call.arguments, callee.parameters, i.line);
  inlined->returns = passed(instance, call.returns, callee.returns, i.line);
  readArguments(instance, call.arguments, callee.parameters, inlined->parameters, current);
  const uint32_t back = code_.newBlock();
  code_.jump(current, expandBody(*inlined, back));
  writeResults(instance, call.returns, callee.returns, inlined->returns, back);
  return back;
}

// The objects that arguments or results pass through: the caller's own, or one for a register or constant.
std::vector<ParamObject*> CodeExpander::passed(Instance& instance, const Operand* list,
                                               const std::vector<Variable>& formals, uint32_t line) {
  const uint32_t count = list ? list->count : 0;
  if (count != formals.size()) unsupportedConstruct(line, "call with a wrong number of arguments");
  std::vector<ParamObject*> objects;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand& o = instance.function->operands[list->first + k];
    objects.push_back(o.kind == Operand::Kind::Symbol ? code_.objectOf(instance, o, line) : code_.newObject());
    if (o.kind != Operand::Kind::Symbol) code_.piecesOf(*objects.back(), 0, ptx::bitsOf(formals[k].type));
  }
  return objects;
}

void CodeExpander::readArguments(Instance& instance, const Operand* list, const std::vector<Variable>& formals,
                                 const std::vector<ParamObject*>& objects, uint32_t block) {
  for (uint32_t k = 0; list && k < list->count; ++k) {
    const Operand& o = instance.function->operands[list->first + k];
    if (o.kind == Operand::Kind::Symbol) continue;
    Item copy;
    copy.instance = &instance;
    copy.copyOperand = &o;
    copy.argument = objects[k];
    copy.bits = ptx::bitsOf(formals[k].type);
    code_.blocks[block].items.push_back(copy);
  }
}

void CodeExpander::writeResults(Instance& instance, const Operand* list, const std::vector<Variable>& formals,
                                const std::vector<ParamObject*>& objects, uint32_t block) {
  for (uint32_t k = 0; list && k < list->count; ++k) {
    const Operand& o = instance.function->operands[list->first + k];
    if (o.kind != Operand::Kind::Register) continue;
    Item copy;
    copy.instance = &instance;
    copy.copyTo = instance.firstVariable + o.reg;
    copy.argument = objects[k];
    copy.bits = ptx::bitsOf(formals[k].type);
    code_.blocks[block].items.push_back(copy);
  }
}

// The register of a parameter or result that is declared as one; kNone for one in memory.
uint32_t CodeExpander::formalRegister(const Function& f, const Variable& formal) const {
  for (uint32_t r = 0; formal.space == Space::None && r < f.registers.size(); ++r)
    if (f.registers[r].name == formal.name) return r;
  return kNone;
}

// A function's blocks with the copies between objects and registers around them; returns the first.
uint32_t CodeExpander::expandBody(Instance& instance, uint32_t after) {
  const Function& f = *instance.function;
  const uint32_t first = code_.newBlock(), last = code_.newBlock();
  const auto copy = [&](uint32_t block, uint32_t to, uint32_t from, ParamObject* argument, const Variable& formal) {
    Item item;
    item.instance = &instance;
    item.copyTo = to;
    item.copyFrom = from;
    item.argument = argument;
    item.bits = ptx::bitsOf(formal.type);
    code_.piecesOf(*argument, 0, item.bits);
    code_.blocks[block].items.push_back(item);
  };
  for (size_t k = 0; k < f.parameters.size(); ++k)
    if (const uint32_t r = formalRegister(f, f.parameters[k]); r != kNone)
      copy(first, instance.firstVariable + r, kNone, instance.parameters[k], f.parameters[k]);
  for (size_t k = 0; k < f.returns.size(); ++k)
    if (const uint32_t r = formalRegister(f, f.returns[k]); r != kNone)
      copy(last, kNone, instance.firstVariable + r, instance.returns[k], f.returns[k]);
  code_.jump(first, expand(instance, last));
  code_.jump(last, after);
  return first;
}

}  // namespace vg::ptx::gen
