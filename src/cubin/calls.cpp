#include "cubin/calls.h"

#include <algorithm>

#include "base/walk.h"

namespace vg::cubin {
namespace {

// Kinds of relocations that are the target of a branch, and so no address that code could hand on.
bool isBranch(uint32_t type) { return type == 58 || type == 75 || type == 114; }

}  // namespace

Calls::Calls(const Cubin& cubin, const SymbolTest& wanted, const SymbolTest& elsewhere) {
  const size_t count = cubin.sections.size();
  std::vector<std::vector<uint32_t>> namedBy(count);  // sections that hold an address in this one
  std::vector<bool> kernels(count, false);            // launched by their addresses, not called
  for (const Kernel& kernel : cubin.kernels) kernels[kernel.section] = true;
  std::vector<uint32_t> pointedTo;
  Walk leading(count);
  for (uint32_t section = 0; section < count; ++section)
    for (const Relocation& relocation : cubin.relocations[section]) {
      const Symbol& symbol = cubin.symbols[relocation.symbol];
      const bool pointer = !isBranch(relocation.type) && symbol.section != section;
      if (wanted(symbol)) {
        pointersLead_ |= pointer;
        leading.find(section);
      }
      if (symbol.section == kNone || elsewhere(symbol) || kernels[symbol.section]) continue;
      namedBy[symbol.section].push_back(section);
      if (pointer) pointedTo.push_back(symbol.section);
    }
  while (const auto section = leading.next()) leading.findAll(namedBy[*section]);
  leads_ = leading.takeFound();
  for (const uint32_t section : pointedTo)
    pointersLead_ |= leads_[section] && cubin.sections[section].kind == Kind::Code;
}

bool Calls::names(const Kernel& kernel) const {
  return leads_[kernel.section] ||
         std::any_of(kernel.banks.begin(), kernel.banks.end(), [&](const Bank& bank) { return leads_[bank.section]; });
}

}  // namespace vg::cubin
