// What of a program's source ran: the counts of all programs in a folder, by line of the files that they were made
// from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/cover/recorded.h"

namespace vg::tools::cover {

// A branch of the source. Copies that a compiler made of it, of inlined functions, templates and unrolled loops, are
// one where they compare alike: `form` says how.
struct BranchPlace {
  uint32_t line = 0, column = 0;
  uint64_t form = 0;
  bool operator<(const BranchPlace& other) const {
    return std::tie(line, column, form) < std::tie(other.line, other.column, other.form);
  }
};

struct FunctionCount {
  uint32_t line = 0;
  uint64_t lanes = 0;  // that entered it
};

// Counts are of lanes: threads of kernels.
struct SourceFile {
  bool isPtx = false;                                     // a text without line information
  std::map<uint32_t, uint64_t> lines;                     // that have code
  std::map<BranchPlace, std::vector<uint64_t>> branches;  // lanes by way
  std::map<std::string, FunctionCount> functions;         // by mangled name
};

struct Totals {
  size_t lines = 0, linesHit = 0, branches = 0, branchesHit = 0, functions = 0, functionsHit = 0;
  Totals& operator+=(const Totals& other);
};
Totals totalsOf(const SourceFile& file);

using Report = std::map<std::string, SourceFile>;  // by path
Totals totalsOf(const Report& report);

// Adds a program. PTX without line information is a source file itself, written to `ptxFolder`.
void addProgram(Report& report, const Recorded& program, const std::string& countsFolder, const std::string& ptxFolder);

// Leaves files below one of the folders `only`, if there are any, and drops those below one of `skip`.
void filter(Report& report, const std::vector<std::string>& only, const std::vector<std::string>& skip);

}  // namespace vg::tools::cover
