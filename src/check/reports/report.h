// What checked mode has found: one record for each distinct fault, printed when it is first seen, counted afterwards,
// listed with counts when the process ends.
//
// Records go to VERDIGRIS_LOG_FILE, or to standard error; at the end of the process also to the files of
// VERDIGRIS_CHECK_OUTPUT (report_files.h). What VERDIGRIS_CHECK_SUPPRESSIONS or VERDIGRIS_CHECK_KERNELS leaves out
// (suppressions.h) is neither printed nor a fault. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/reports/fault.h"

namespace vg::check {

bool isKnown(const FaultKey& key);
// Counts the fault. True when it is new: then somebody must describe() it.
bool isNew(const FaultKey& key);
// The text of a new fault: a headline and indented lines below it.
void describe(const FaultKey& key, const std::string& headline, const std::vector<std::string>& details,
              const FaultPlace& place = {});

// Those that nothing leaves out.
size_t distinctFaults();
// Calls `visit` for every distinct fault that was met since the last call, and how often: its tool, and its text with
// an indented line for each detail. `visit` must not call this folder.
void takeNewFaults(void (*visit)(void* state, const char* tool, const char* text, uint64_t times), void* state);
// Writes the list of what was found, or that nothing was, and the files that were asked for.
void summarise();

}  // namespace vg::check
