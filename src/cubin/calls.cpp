#include "cubin/calls.h"

#include <algorithm>

namespace vg::cubin {

std::vector<bool> sectionsReaching(const Cubin& cubin, const std::function<bool(const Symbol&)>& wanted) {
  const size_t count = cubin.sections.size();
  std::vector<bool> reaching(count, false);
  std::vector<std::vector<uint32_t>> namedBy(count);  // sections that hold an address in this one
  std::vector<uint32_t> found;
  for (uint32_t section = 0; section < count; ++section)
    for (const Relocation& relocation : cubin.relocations[section]) {
      const Symbol& symbol = cubin.symbols[relocation.symbol];
      if (wanted(symbol) && !reaching[section]) {
        reaching[section] = true;
        found.push_back(section);
      }
      if (symbol.section != kNone) namedBy[symbol.section].push_back(section);
    }
  while (!found.empty()) {
    const uint32_t section = found.back();
    found.pop_back();
    for (const uint32_t by : namedBy[section]) {
      if (reaching[by]) continue;
      reaching[by] = true;
      found.push_back(by);
    }
  }
  return reaching;
}

bool mayReach(const Kernel& kernel, const std::vector<bool>& reaching) {
  const auto reaches = [&](const Bank& bank) { return reaching[bank.section]; };
  return kernel.unknownStack || reaching[kernel.section] ||
         std::any_of(kernel.banks.begin(), kernel.banks.end(), reaches);
}

}  // namespace vg::cubin
