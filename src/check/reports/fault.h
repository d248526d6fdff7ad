// What a fault is: which of them are the same, where it lies, and in which words it is told.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "check/tools.h"

namespace vg::check {

// Equal keys are the same fault.
struct FaultKey {
  Tool tool = Tool::Memory;
  unsigned kind = 0;                                  // of the tool's own
  const void* kernel = nullptr;                       // ptx::Function of the entry, or the name of a call
  uint32_t line = 0, other = 0;                       // PTX lines of the instruction, and of the one that it meets
  uint64_t memory = 0;                                // id of the allocation, or who called
  auto operator<=>(const FaultKey&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
};

// Where a fault is; what is not known is empty or 0.
struct FaultPlace {
  std::string kernel, file;
  uint32_t line = 0, ptxLine = 0;
};

// A fault in words, as it is listed.
struct FaultRecord {
  Tool tool = Tool::Memory;
  uint64_t times = 0;
  std::string headline;
  std::vector<std::string> details;
  FaultPlace place;
};

}  // namespace vg::check
