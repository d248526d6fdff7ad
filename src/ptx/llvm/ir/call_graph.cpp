#include "ptx/llvm/ir/call_graph.h"

#include <algorithm>

#include "ptx/facts/async_form.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

// Instructions of a kernel with copies of functions for all calls: beyond them it would get quick code for ever, takes
// longer than a launch should wait, and is refused. Where the copies are only a few times the text, it is the text that
// takes long.
constexpr double kMostCopied = 20'000, kMostCopiedSoon = 4'000, kMostWhereLanesMeet = 60'000, kTimesTheText = 2;
// Of a function that may be copied as often as it is called, and what a call takes of one that is not.
constexpr double kSmall = 100, kSizeOfCall = 40;

// Tarjan's strongly connected components, without recursion: chains of calls may be long.
class Components {
 public:
  explicit Components(const std::vector<std::vector<uint32_t>>& successors)
      : successors_(successors), number_(successors.size(), kNone), low_(successors.size()), component(number_) {
    for (uint32_t n = 0; n < successors.size(); ++n)
      if (number_[n] == kNone) visit(n);
  }

 private:
  void enter(uint32_t n) {
    number_[n] = low_[n] = next_++;
    open_.push_back(n);
    path_.push_back({n, 0});
  }

  void visit(uint32_t start) {
    enter(start);
    while (!path_.empty()) {
      auto& [n, edge] = path_.back();
      if (edge == successors_[n].size()) {
        leave(n);
        continue;
      }
      const uint32_t to = successors_[n][edge++];
      if (number_[to] == kNone)
        enter(to);
      else if (component[to] == kNone)
        low_[n] = std::min(low_[n], number_[to]);
    }
  }

  void leave(uint32_t n) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().first] = std::min(low_[path_.back().first], low_[n]);
    if (low_[n] != number_[n]) return;
    for (uint32_t member = kNone; member != n;) {
      member = open_.back();
      open_.pop_back();
      component[member] = n;
    }
  }

  const std::vector<std::vector<uint32_t>>& successors_;
  std::vector<uint32_t> number_, low_, open_;
  std::vector<std::pair<uint32_t, size_t>> path_;
  uint32_t next_ = 0;

 public:
  std::vector<uint32_t> component;  // a member that stands for all of them
};

}  // namespace

std::vector<uint64_t> sizesOf(const std::vector<Variable>& formals) {
  std::vector<uint64_t> sizes;
  sizes.reserve(formals.size());
  for (const Variable& v : formals) sizes.push_back(std::max<uint64_t>(v.size, (ptx::bitsOf(v.type) + 7) / 8));
  return sizes;
}

CallOperands callOperands(const Function& caller, const ptx::Instruction& call) {
  CallOperands found;
  for (uint32_t k = 0; k < call.count; ++k) {
    const Operand& o = caller.operands[call.first + k];
    const bool names = o.kind == Operand::Kind::Symbol || o.kind == Operand::Kind::Register;
    if (o.kind == Operand::Kind::Vector)
      (found.target ? found.arguments : found.returns) = &o;
    else if (names)
      (found.target ? found.prototype : found.target) = &o;
  }
  return found;
}

bool lanesMeet(const ptx::Instruction& i) {
  const Meets meets = rowOf(i.op).meets;
  return (meets != Meets::Apart && meets != Meets::Sees) || ptx::isAsync(i);
}

CallGraph::CallGraph(const Module& module, const std::vector<uint32_t>& functions, uint32_t entry, Copies copies)
    : module_(module), addressed_(addressedFunctions(module)), cycles_(module.functions.size(), kNone) {
  std::erase_if(addressed_,
                [&](uint32_t n) { return module.functions[n].isDeclaration || module.functions[n].isEntry; });
  findCycles(functions);
  shareBodies(entry, copies);
  if (apart_) findCycles(functions);
}

std::vector<uint32_t> CallGraph::targets(const Function& caller, const CallOperands& call) const {
  if (!call.prototype) return {};
  std::vector<uint32_t> candidates = addressed_;
  if (call.prototype->symbolKind == SymbolKind::BranchTable) {
    candidates = caller.branchTables[call.prototype->symbol].functions;
    std::erase_if(candidates, [&](uint32_t n) { return module_.functions[n].isDeclaration; });
  } else if (call.prototype->symbolKind == SymbolKind::Prototype) {
    const Prototype& wanted = caller.prototypes[call.prototype->symbol];
    std::erase_if(candidates, [&](uint32_t n) {
      const Function& f = module_.functions[n];
      return sizesOf(f.parameters) != sizesOf(wanted.parameters) || sizesOf(f.returns) != sizesOf(wanted.returns);
    });
  }
  return candidates;
}

// With one place for each function that a call through a register may mean.
std::vector<uint32_t> CallGraph::callSites(uint32_t function) const {
  const Function& f = module_.functions[function];
  std::vector<uint32_t> all;
  for (const ptx::Instruction& i : f.body) {
    if (i.op != Op::Call) continue;
    const CallOperands call = callOperands(f, i);
    if (call.byName()) {
      all.push_back(call.target->symbol);
    } else if (!apart_) {
      const std::vector<uint32_t> through = targets(f, call);
      all.insert(all.end(), through.begin(), through.end());
    }
  }
  return all;
}

std::vector<uint32_t> CallGraph::callees(uint32_t function) const {
  std::vector<uint32_t> all = callSites(function);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Every function behind those that it calls, as far as calls do not go in circles.
std::vector<uint32_t> CallGraph::calleesFirst(uint32_t entry) const {
  std::vector<uint32_t> order;
  std::vector<bool> seen(cycles_.size(), false);
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> path{{entry, callees(entry)}};
  seen[entry] = true;
  while (!path.empty()) {
    if (path.back().second.empty()) {
      order.push_back(path.back().first);
      path.pop_back();
      continue;
    }
    const uint32_t next = path.back().second.back();
    path.back().second.pop_back();
    if (seen[next]) continue;
    seen[next] = true;
    path.push_back({next, callees(next)});
  }
  return order;
}

bool CallGraph::lanesMeetIn(const std::vector<uint32_t>& functions) const {
  return std::ranges::any_of(functions,
                             [&](uint32_t f) { return std::ranges::any_of(module_.functions[f].body, lanesMeet); });
}

// Whether everything that is called through registers could be: it takes and gives nothing, and no lane ends in it.
bool CallGraph::mayBeApart(const std::vector<uint32_t>& functions) const {
  bool calls = false;
  const auto fits = [&](uint32_t n) {
    const Function& f = module_.functions[n];
    return f.parameters.empty() && f.returns.empty();
  };
  for (const uint32_t n : functions) {
    const Function& f = module_.functions[n];
    for (const ptx::Instruction& i : f.body) {
      if (i.op == Op::Exit && !f.isEntry) return false;
      if (i.op != Op::Call || callOperands(f, i).byName()) continue;
      calls = true;
      if (!std::ranges::all_of(targets(f, callOperands(f, i)), fits)) return false;
    }
  }
  return calls;
}

// Instructions that a kernel may have with copies for all calls.
double CallGraph::mostCopied(const std::vector<uint32_t>& functions, Copies copies) const {
  // In functions that are in a kernel once lanes wait for those in other states of it, which takes longer than copies.
  if (lanesMeetIn(functions)) return kMostWhereLanesMeet;
  double text = 0;
  for (uint32_t f : functions) text += static_cast<double>(module_.functions[f].body.size());
  return std::max(copies == Copies::FewForNow ? kMostCopiedSoon : kMostCopied, kTimesTheText * text);
}

void CallGraph::shareBodies(uint32_t entry, Copies copies) {
  const std::vector<uint32_t> order = calleesFirst(entry);
  std::vector<std::vector<uint32_t>> sites(cycles_.size());
  std::vector<uint32_t> places(cycles_.size(), 0);
  for (uint32_t f : order) {
    sites[f] = callSites(f);
    for (uint32_t callee : sites[f]) ++places[callee];
  }
  std::vector<double> size(cycles_.size(), 0);  // with all copies in it
  const auto measure = [&](uint32_t f) {
    size[f] = static_cast<double>(module_.functions[f].body.size());
    for (uint32_t callee : sites[f]) size[f] += cycles_[callee] == kNone ? size[callee] : kSizeOfCall;
  };
  for (uint32_t f : order) measure(f);
  apart_ = size[entry] > kMostCopiedSoon && lanesMeetIn(order) && mayBeApart(order);
  if (apart_ || size[entry] <= mostCopied(order, copies)) return;
  forNow_ = size[entry] <= mostCopied(order, Copies::Many);
  shared_ = static_cast<uint32_t>(cycles_.size());
  for (uint32_t f : order) {
    measure(f);
    if (f != entry && (cycles_[f] != kNone || (places[f] > 1 && size[f] > kSmall))) cycles_[f] = *shared_;
  }
}

void CallGraph::findCycles(const std::vector<uint32_t>& functions) {
  std::ranges::fill(cycles_, kNone);
  std::vector<std::vector<uint32_t>> calls(module_.functions.size());
  for (uint32_t f : functions) calls[f] = callees(f);
  const Components components(calls);
  std::vector<uint32_t> members(calls.size(), 0);
  for (uint32_t f : functions) ++members[components.component[f]];
  for (uint32_t f : functions)
    if (members[components.component[f]] > 1 || std::ranges::find(calls[f], f) != calls[f].end())
      cycles_[f] = components.component[f];
}

}  // namespace vg::ptx::gen
