// Faults that nobody wants to hear of: those that a line of the file of VERDIGRIS_CHECK_SUPPRESSIONS fits, and those of
// kernels that VERDIGRIS_CHECK_KERNELS does not name.
//
// A line is "TOOL: PATTERN", or "PATTERN" for every tool. The pattern is a shell's (fnmatch), and fits a fault when it
// fits a part of its headline, of one of the lines below it, or of its source as "file:line". '#' begins a comment.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "check/reports/fault.h"

namespace vg::check {

class Suppressions {
 public:
  void read(std::istream& lines);
  // Patterns of the kernels that count; none: all.
  void keepOnly(std::vector<std::string> kernels) { kernels_ = std::move(kernels); }
  bool leavesOut(const FaultRecord& record) const;

 private:
  struct Rule {
    std::optional<Tool> tool;
    std::string pattern;
  };
  static std::optional<Rule> ruleOf(const std::string& line);
  static bool fits(const Rule& rule, const FaultRecord& record);

  std::vector<Rule> rules_;
  std::vector<std::string> kernels_;
};

// As the settings have it. Thread-safe.
bool isLeftOut(const FaultRecord& record);

}  // namespace vg::check
