#include "cubin/calls.h"

#include <algorithm>

namespace vg::cubin {
namespace {

// Kinds of relocations that are the target of a branch, and so no address that code could hand on.
bool isBranch(uint32_t type) { return type == 58 || type == 75 || type == 114; }

}  // namespace

Calls::Calls(const Cubin& cubin, const SymbolTest& wanted, const SymbolTest& elsewhere)
    : leads_(cubin.sections.size(), false) {
  std::vector<std::vector<uint32_t>> namedBy(leads_.size());  // sections that hold an address in this one
  std::vector<bool> kernels(leads_.size(), false);            // launched by their addresses, not called
  for (const Kernel& kernel : cubin.kernels) kernels[kernel.section] = true;
  std::vector<uint32_t> found, pointedTo;
  for (uint32_t section = 0; section < leads_.size(); ++section)
    for (const Relocation& relocation : cubin.relocations[section]) {
      const Symbol& symbol = cubin.symbols[relocation.symbol];
      const bool pointer = !isBranch(relocation.type) && symbol.section != section;
      if (wanted(symbol)) {
        pointersLead_ |= pointer;
        if (!leads_[section]) found.push_back(section);
        leads_[section] = true;
      }
      if (symbol.section == kNone || elsewhere(symbol) || kernels[symbol.section]) continue;
      namedBy[symbol.section].push_back(section);
      if (pointer) pointedTo.push_back(symbol.section);
    }
  while (!found.empty()) {
    const uint32_t section = found.back();
    found.pop_back();
    for (const uint32_t by : namedBy[section]) {
      if (!leads_[by]) found.push_back(by);
      leads_[by] = true;
    }
  }
  for (const uint32_t section : pointedTo)
    pointersLead_ |= leads_[section] && cubin.sections[section].kind == Kind::Code;
}

bool Calls::names(const Kernel& kernel) const {
  return leads_[kernel.section] ||
         std::any_of(kernel.banks.begin(), kernel.banks.end(), [&](const Bank& bank) { return leads_[bank.section]; });
}

}  // namespace vg::cubin
