// How large what a module declares may be: what ptxas and the driver take, and what addresses and layouts here can
// hold.
#pragma once

#include <optional>
#include <string>

#include "ptx/text/ast.h"

namespace vg::ptx {

struct LimitFault {
  uint32_t line = 0;  // 0: of the whole module
  std::string text;   // what is too large, by how much, and what to do
};

// The first limit that the module exceeds; none for a module that may be loaded.
std::optional<LimitFault> exceededLimit(const Module& module);

}  // namespace vg::ptx
