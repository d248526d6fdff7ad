#include "ptx/facts/layout.h"

#include <algorithm>

#include "base/round.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kDynamicAlignment = 16;

// Everything an entry can reach: functions through calls and addresses, variables through operands and initialisers.
class Reach {
 public:
  Reach(UsesOfFunctions& uses, uint32_t entry)
      : uses_(uses),
        module_(uses.module()),
        entry_(entry),
        functionSeen_(module_.functions.size()),
        variableSeen_(module_.variables.size()) {
    function(entry);
    for (size_t next = 0; next < functions.size(); ++next) {
      follow(uses_.of(functions[next]));
      if (indirect_ && !allTaken_) addAllTaken();
    }
  }

  std::vector<uint32_t> functions;
  bool addressTaken = false, reservedShared = false;
  bool givenConstants = false, clusterAddresses = false;
  bool sees(uint32_t variable) const { return variableSeen_[variable]; }

 private:
  // Other kernels are launched, not called: what they need is not this one's.
  void function(uint32_t index) {
    if (functionSeen_[index] || (index != entry_ && module_.functions[index].isEntry)) return;
    functionSeen_[index] = true;
    functions.push_back(index);
  }

  void variable(uint32_t index) {
    std::vector<uint32_t> open{index};  // initialisers chain variables without bound
    while (!open.empty()) {
      const uint32_t next = open.back();
      open.pop_back();
      if (variableSeen_[next]) continue;
      variableSeen_[next] = true;
      for (const Variable::Reference& r : module_.variables[next].references) {
        if (r.kind == SymbolKind::ModuleVariable) open.push_back(r.symbol);
        if (r.kind == SymbolKind::Function) {
          addressTaken = true;
          function(r.symbol);
        }
      }
    }
  }

  void follow(const FunctionUses& uses) {
    for (const FunctionUses::Name& name : uses.names) name.variable ? variable(name.index) : function(name.index);
    reservedShared |= uses.reservedShared;
    givenConstants |= uses.givenConstants;
    clusterAddresses |= uses.clusterAddresses;
    addressTaken |= uses.addressTaken;
    indirect_ |= uses.indirect;
  }

  // A call through a register may reach whatever function's address is taken anywhere in the module.
  void addAllTaken() {
    allTaken_ = true;
    for (uint32_t f : uses_.addressed()) function(f);
  }

  UsesOfFunctions& uses_;
  const Module& module_;
  const uint32_t entry_;
  std::vector<bool> functionSeen_, variableSeen_;
  bool indirect_ = false, allTaken_ = false;
};

}  // namespace

std::vector<ParameterSlot> parameterLayout(const Function& entry) {
  std::vector<ParameterSlot> slots;
  uint64_t offset = 0;
  for (const Variable& v : entry.parameters) {
    offset = roundUp(offset, v.alignment);
    slots.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(v.size)});
    offset += v.size;
  }
  return slots;
}

SharedLayout sharedLayout(const Module& module, uint32_t entry) {
  UsesOfFunctions uses(module);
  return sharedLayout(uses, entry);
}

SharedLayout sharedLayout(UsesOfFunctions& uses, uint32_t entry) {
  const Reach reach(uses, entry);
  const Module& module = uses.module();
  SharedLayout layout;
  layout.reserved = reach.reservedShared ? kReservedShared : 0;
  uint64_t size = layout.reserved;
  uint64_t dynamicAlignment = kDynamicAlignment;
  const auto place = [&](const Variable& v, bool moduleScope, uint32_t function, uint32_t index) {
    if (v.space != Space::Shared) return;
    if (v.unsizedArray) {
      dynamicAlignment = std::max<uint64_t>(dynamicAlignment, v.alignment);
      layout.slots.push_back({moduleScope, function, index, UINT32_MAX});
      return;
    }
    size = roundUp(size, v.alignment);
    layout.slots.push_back(
        {moduleScope, function, index, static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX - 1))});
    size += v.size;
  };
  for (uint32_t i = 0; i < module.variables.size(); ++i)
    if (reach.sees(i)) place(module.variables[i], true, 0, i);
  for (uint32_t f : reach.functions)
    for (uint32_t i = 0; i < module.functions[f].variables.size(); ++i)
      place(module.functions[f].variables[i], false, f, i);
  // Sizes beyond 32 bits stay beyond any limit of a launch.
  const uint64_t limit = UINT32_MAX & ~uint64_t{0xFFFFF};
  layout.staticSize = static_cast<uint32_t>(std::min(size, limit));
  layout.dynamicOffset = static_cast<uint32_t>(roundUp(layout.staticSize, dynamicAlignment));
  for (SharedLayout::Slot& slot : layout.slots)
    if (slot.offset == UINT32_MAX) slot.offset = layout.dynamicOffset;
  return layout;
}

const Variable& variableOf(const Module& module, const SharedLayout::Slot& slot) {
  return slot.moduleScope ? module.variables[slot.variable] : module.functions[slot.function].variables[slot.variable];
}

uint32_t SharedLayout::offsetOf(bool moduleScope, uint32_t function, uint32_t variable) const {
  for (const Slot& slot : slots)
    if (slot.moduleScope == moduleScope && slot.variable == variable && (moduleScope || slot.function == function))
      return slot.offset;
  return 0;
}

// Where constants are is known by any of them: an address in 32 bits is near it.
static void addOneConstant(const Module& module, std::vector<uint32_t>& globals) {
  const auto isConstant = [&](uint32_t v) { return module.variables[v].space == Space::Const; };
  if (std::ranges::any_of(globals, isConstant)) return;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    if (!isConstant(i) || module.variables[i].linkage == Linkage::Extern) continue;
    globals.insert(std::ranges::lower_bound(globals, i), i);
    return;
  }
}

KernelReferences references(const Module& module, uint32_t entry) {
  UsesOfFunctions uses(module);
  return references(uses, entry);
}

KernelReferences references(UsesOfFunctions& uses, uint32_t entry) {
  const Reach reach(uses, entry);
  const Module& module = uses.module();
  KernelReferences found;
  found.functions = reach.functions;
  found.addressTaken = reach.addressTaken;
  found.clusterAddresses = reach.clusterAddresses;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const Space space = module.variables[i].space;
    if (reach.sees(i) && (space == Space::Global || space == Space::Const)) found.globals.push_back(i);
  }
  if (reach.givenConstants) addOneConstant(module, found.globals);
  return found;
}

}  // namespace vg::ptx
