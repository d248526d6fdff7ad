#include "backend/cpu/blocks/warp_waits.h"

#include <bit>
#include <set>

namespace vg::backend::cpu {

uint32_t WarpWaits::lineOf(uint32_t warp, const LoadedKernel& code) const {
  const Wait& wait = waits_[warp];
  return CodePages::contains(wait.codeAddress) ? code.lineAt(static_cast<const std::byte*>(wait.codeAddress) - 1)
                                               : wait.line;
}

std::string WarpWaits::describe(uint32_t warps, const LoadedKernel& code) const {
  std::set<uint32_t> lines;
  for (; warps; warps &= warps - 1) lines.insert(lineOf(static_cast<uint32_t>(std::countr_zero(warps)), code));
  lines.erase(0);
  std::string text;
  for (const uint32_t line : lines) text += (text.empty() ? "" : ",") + std::to_string(line);
  return text.empty() ? text : (lines.size() > 1 ? " (PTX lines " : " (PTX line ") + text + ")";
}

}  // namespace vg::backend::cpu
