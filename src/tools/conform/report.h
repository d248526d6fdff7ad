// What a run of the conformance suite means: the state of each rule, counted by function.
#pragma once

#include <string>
#include <vector>

#include "tools/conform/record.h"

namespace vg::tools {

enum class RuleState { Pass, Differs, NotTested };

// One test about a rule, on both sides.
struct Evidence {
  const TestResult* here = nullptr;   // null: not run
  const TestResult* there = nullptr;  // null: not in the record that is compared with
  // Fails here, or ends otherwise than in the record.
  bool differs() const;
};

struct RuleReport {
  Rule rule;
  RuleState state = RuleState::NotTested;
  std::vector<Evidence> evidence;
  std::string driverInstead;  // what the driver does where it is not what the rule says
};

struct FunctionReport {
  std::string name;
  std::vector<RuleReport> rules;
  size_t count(RuleState state) const;
};

struct ConformReport {
  ConformRecord here, there;
  bool compares = false;  // there is a record to compare with
  std::vector<FunctionReport> functions;
  size_t count(RuleState state) const;
};

// Functions in the order of `rules`.
ConformReport makeReport(const std::vector<Rule>& rules, ConformRecord here, ConformRecord there, bool compares);

// The table by function, on standard output.
void printReport(const ConformReport& report);

}  // namespace vg::tools
