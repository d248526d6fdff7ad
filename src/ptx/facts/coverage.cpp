#include "ptx/facts/coverage.h"
#include "ptx/text/op.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vg::ptx::coverage {
namespace {

bool leaves(const Instruction& i) {
  return i.op == Op::Bra || i.op == Op::Brx || i.op == Op::Ret || i.op == Op::Exit || (i.op == Op::Trap && i.guard < 0);
}

// Behind a call there may be fewer lanes than before it.
bool endsBlock(const Instruction& i) { return leaves(i) || i.op == Op::Call; }

class FunctionPlanner {
 public:
  FunctionPlanner(const Function& f, uint32_t& counters) : f_(f), counters_(counters) {}

  FunctionPlan run() {
    findBlocks();
    waysIn_.assign(plan_.blocks.size(), 0);
    if (!waysIn_.empty()) waysIn_[0] = 1;
    for (uint32_t b = 0; b < plan_.blocks.size(); ++b)
      for (const uint32_t to : successors(b)) ++waysIn_[to];
    for (uint32_t b = 0; b < plan_.blocks.size(); ++b) planBlock(b);
    return std::move(plan_);
  }

 private:
  void findBlocks() {
    const auto size = static_cast<uint32_t>(f_.body.size());
    std::vector<bool> begins(size + 1, false);
    begins[0] = true;
    for (const Label& label : f_.labels)
      if (label.instruction < size) begins[label.instruction] = true;
    for (uint32_t n = 0; n < size; ++n)
      if (endsBlock(f_.body[n])) begins[n + 1] = true;
    blockAt_.assign(size + 1, kNoCounter);
    for (uint32_t n = 0; n < size; ++n) {
      if (begins[n]) plan_.blocks.push_back({n, n, kNoCounter});
      blockAt_[n] = static_cast<uint32_t>(plan_.blocks.size() - 1);
      plan_.blocks.back().end = n + 1;
    }
  }

  uint32_t targetOf(uint32_t label) const {
    const uint32_t at = f_.labels[label].instruction;
    return at < f_.body.size() ? blockAt_[at] : kNoCounter;
  }

  const BranchTable* tableOf(const Instruction& i) const {
    if (i.op != Op::Brx || i.count < 2) return nullptr;
    const Operand& table = f_.operands[i.first + 1];
    return table.symbolKind == SymbolKind::BranchTable ? &f_.branchTables[table.symbol] : nullptr;
  }

  // kNoCounter: the end of the function, or not known.
  uint32_t branchTarget(const Instruction& i) const {
    if (i.op != Op::Bra || !i.count) return kNoCounter;
    const Operand& target = f_.operands[i.first];
    return target.symbolKind == SymbolKind::Label ? targetOf(target.symbol) : kNoCounter;
  }

  uint32_t behind(uint32_t block) const { return block + 1 < plan_.blocks.size() ? block + 1 : kNoCounter; }

  // One for each way: a block that a branch and its failing both lead to is there twice.
  std::vector<uint32_t> successors(uint32_t block) const {
    const Instruction& last = f_.body[plan_.blocks[block].end - 1];
    std::vector<uint32_t> all;
    if (const BranchTable* const table = tableOf(last)) {
      for (const uint32_t label : table->labels) all.push_back(targetOf(label));
      std::ranges::sort(all);
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
    all.push_back(branchTarget(last));
    if (!leaves(last) || last.guard >= 0) all.push_back(behind(block));
    std::erase(all, kNoCounter);
    return all;
  }

  uint32_t newCounter() { return counters_++; }

  uint32_t counterOf(uint32_t block) {
    uint32_t& counter = plan_.blocks[block].counter;
    if (counter == kNoCounter) counter = newCounter();
    return counter;
  }

  bool onlyWayInto(uint32_t block) const { return block != kNoCounter && waysIn_[block] == 1; }

  void planBlock(uint32_t number) {
    const uint32_t counter = counterOf(number);
    const Block block = plan_.blocks[number];
    plan_.counts.push_back({block.begin, counter, false});
    for (uint32_t n = block.begin; n < block.end; ++n) {
      const Instruction& i = f_.body[n];
      if (const BranchTable* const table = tableOf(i))
        planTable(n, number, *table);
      else if (i.guard >= 0)
        planBranch(n, number);
    }
  }

  // The lanes whose predicate is true, and the others.
  void planBranch(uint32_t n, uint32_t block) {
    const Instruction& i = f_.body[n];
    const uint32_t all = plan_.blocks[block].counter, to = branchTarget(i), next = behind(block);
    if (onlyWayInto(to)) {
      const uint32_t taken = counterOf(to);
      plan_.branches.push_back({n, {{taken}, {all, taken}}});
    } else if (leaves(i) && onlyWayInto(next)) {
      const uint32_t others = counterOf(next);
      plan_.branches.push_back({n, {{all, others}, {others}}});
    } else {
      const uint32_t taken = countGuarded(n);
      plan_.branches.push_back({n, {{taken}, {all, taken}}});
    }
  }

  uint32_t countGuarded(uint32_t n) {
    const uint32_t counter = newCounter();
    plan_.counts.push_back({n, counter, true});
    return counter;
  }

  void planTable(uint32_t n, uint32_t block, const BranchTable& table) {
    const Instruction& i = f_.body[n];
    Branch branch{n, {}};
    std::map<uint32_t, bool> seen;  // by block; the end of the function among them
    for (const uint32_t label : table.labels) {
      const uint32_t to = targetOf(label);
      if (!seen.emplace(to, true).second) continue;
      branch.ways.push_back({onlyWayInto(to) ? counterOf(to) : detour(f_.operands[i.first + 1].symbol, label)});
    }
    if (i.guard >= 0) branch.ways.push_back({plan_.blocks[block].counter, countGuarded(n)});
    plan_.branches.push_back(std::move(branch));
  }

  uint32_t detour(uint32_t table, uint32_t label) {
    const uint32_t counter = newCounter();
    plan_.detours.push_back({table, label, counter});
    return counter;
  }

  const Function& f_;
  uint32_t& counters_;
  FunctionPlan plan_;
  std::vector<uint32_t> blockAt_;  // by instruction
  std::vector<uint32_t> waysIn_;   // by block
};

class Instrumentation {
 public:
  Instrumentation(Function& f, const FunctionPlan& plan) : f_(f), plan_(plan) {}

  void run() {
    if (plan_.blocks.empty()) return;
    placed_.resize(f_.body.size() + 1);
    insertCounts();
    for (Label& label : f_.labels) label.instruction = placed_[std::min<size_t>(label.instruction, placed_.size() - 1)];
    if (plan_.detours.empty()) return;
    end();
    for (const FunctionPlan::Detour& detour : plan_.detours) add(detour);
  }

 private:
  void insertCounts() {
    std::vector<Instruction> body;
    body.reserve(f_.body.size() + plan_.counts.size());
    auto next = plan_.counts.begin();
    for (uint32_t n = 0; n < f_.body.size(); ++n) {
      placed_[n] = static_cast<uint32_t>(body.size());
      for (; next != plan_.counts.end() && next->instruction == n; ++next)
        body.push_back(counting(f_.body[n], next->counter, next->guarded));
      body.push_back(f_.body[n]);
    }
    placed_[f_.body.size()] = static_cast<uint32_t>(body.size());
    f_.body = std::move(body);
  }

  Instruction counting(const Instruction& what, uint32_t counter, bool guarded) {
    Instruction i = made(Op::Pmevent, what);
    i.vectorWidth = 0;
    if (guarded) i.guard = what.guard, i.guardNegated = what.guardNegated;
    Operand number;
    number.kind = Operand::Kind::Immediate;
    number.bits = counter;
    give(i, number);
    return i;
  }

  static Instruction made(Op op, const Instruction& beside) {
    Instruction i;
    i.op = op;
    i.line = beside.line;
    i.location = beside.location;
    return i;
  }

  void give(Instruction& i, const Operand& operand) {
    i.first = static_cast<uint32_t>(f_.operands.size());
    i.count = 1;
    f_.operands.push_back(operand);
  }

  // What was behind the last instruction stays the end.
  void end() {
    const Instruction last = f_.body.back();
    f_.body.push_back(made(Op::Ret, last));
  }

  // All entries of the table that lead to the same place.
  void add(const FunctionPlan::Detour& detour) {
    const Instruction last = f_.body.back();
    const auto at = static_cast<uint32_t>(f_.body.size());
    f_.body.push_back(counting(last, detour.counter, false));
    Instruction back = made(Op::Bra, last);
    Operand target;
    target.kind = Operand::Kind::Symbol;
    target.symbolKind = SymbolKind::Label;
    target.symbol = detour.label;
    give(back, target);
    f_.body.push_back(back);
    const uint32_t place = f_.labels[detour.label].instruction;
    f_.labels.push_back({"", at});
    for (uint32_t& label : f_.branchTables[detour.table].labels)
      if (f_.labels[label].instruction == place) label = static_cast<uint32_t>(f_.labels.size() - 1);
  }

  Function& f_;
  const FunctionPlan& plan_;
  std::vector<uint32_t> placed_;  // by instruction of before: where it is, with what counts before it
};

}  // namespace

bool counts(const Instruction& i) { return i.op == Op::Pmevent && i.vectorWidth == 0; }

Plan planOf(const Module& module) {
  Plan plan;
  plan.functions.reserve(module.functions.size());
  for (const Function& f : module.functions) plan.functions.push_back(FunctionPlanner(f, plan.counters).run());
  return plan;
}

void instrument(Module& module, const Plan& plan) {
  for (size_t n = 0; n < module.functions.size(); ++n) Instrumentation(module.functions[n], plan.functions[n]).run();
}

}  // namespace vg::ptx::coverage
