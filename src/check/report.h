// What checked mode has found: one record for each distinct fault, printed when it is first seen, counted afterwards,
// listed with counts when the process ends.
//
// Records go to VERDIGRIS_LOG_FILE, or to standard error. All functions are thread-safe.
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
  const void* kernel = nullptr;                       // ptx::Function of the entry
  uint32_t line = 0, other = 0;                       // PTX lines of the instruction, and of the one that it meets
  uint64_t memory = 0;                                // id of the allocation
  auto operator<=>(const FaultKey&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
};

// Counts the fault. True when it is new: then somebody must describe() it.
bool isNew(const FaultKey& key);
// The text of a new fault: a headline and indented lines below it.
void describe(const FaultKey& key, const std::string& headline, const std::vector<std::string>& details);

size_t distinctFaults();
// Calls `visit` for every distinct fault that was met since the last call, and how often: its tool, and its text with
// an indented line for each detail. `visit` must not call this folder.
void takeNewFaults(void (*visit)(void* state, const char* tool, const char* text, uint64_t times), void* state);
// Writes the list of what was found, or that nothing was.
void summarise();

}  // namespace vg::check
