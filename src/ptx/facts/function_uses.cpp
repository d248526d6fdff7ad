#include "ptx/facts/function_uses.h"

#include <algorithm>
#include <unordered_set>

#include "ptx/facts/reserved_shared.h"
#include "ptx/text/op.h"

namespace vg::ptx {
namespace {

class Search {
 public:
  explicit Search(const Function& function) : function_(function) {
    operands();
    instructions();
    for (const BranchTable& table : function_.branchTables)
      for (const uint32_t target : table.functions) name(false, target);
  }
  FunctionUses found;

 private:
  void name(bool variable, uint32_t index) {
    if (seen_.insert(uint64_t{index} << 1 | variable).second) found.names.push_back({variable, index});
  }

  void operands() {
    for (const Operand& o : function_.operands) {
      if (o.symbolKind == SymbolKind::ModuleVariable) name(true, o.symbol);
      if (o.symbolKind == SymbolKind::Function) name(false, o.symbol);
      found.reservedShared |= o.kind == Operand::Kind::Special && ptx::reservedShared(o.special);
    }
  }

  void instructions() {
    const std::vector<Operand>& operands = function_.operands;
    for (const Instruction& i : function_.body) {
      found.clusterAddresses |= i.space == Space::SharedCluster || i.space2 == Space::SharedCluster;
      found.clusterAddresses |= i.op == Op::Clusterlaunchcontrol && i.has(Mod::MulticastClusterAll);
      found.givenConstants |= i.space == Space::Const && (i.op == Op::Cvta || i.op == Op::Ld);
      if (i.op == Op::Call) {
        if (operands[i.first + 1].kind == Operand::Kind::Register) found.indirect = found.addressTaken = true;
      } else {
        for (uint32_t k = 0; k < i.count; ++k)
          found.addressTaken |= operands[i.first + k].symbolKind == SymbolKind::Function;
      }
    }
  }

  const Function& function_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

std::vector<uint32_t> addressedFunctions(const Module& module) {
  std::vector<uint32_t> found;
  for (const Variable& v : module.variables)
    for (const Variable::Reference& r : v.references)
      if (r.kind == SymbolKind::Function) found.push_back(r.symbol);
  for (const Function& f : module.functions)
    for (const Instruction& i : f.body)
      for (uint32_t k = 0; i.op != Op::Call && k < i.count; ++k)
        if (f.operands[i.first + k].symbolKind == SymbolKind::Function) found.push_back(f.operands[i.first + k].symbol);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

const FunctionUses& UsesOfFunctions::of(uint32_t function) {
  std::optional<FunctionUses>& known = known_[function];
  if (!known) known = std::move(Search(module_.functions[function]).found);
  return *known;
}

const std::vector<uint32_t>& UsesOfFunctions::addressed() {
  if (!addressed_) addressed_ = addressedFunctions(module_);
  return *addressed_;
}

}  // namespace vg::ptx
