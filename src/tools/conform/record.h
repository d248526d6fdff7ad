// What the conformance suite writes: its rules, and the record of a run (tests/conformance/suite/record.h).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace vg::tools {

struct Rule {
  std::string id, function, kind, text;
};

struct TestResult {
  std::string name;                            // Suite.Name
  std::vector<std::string> rules;              // that it proves
  std::string result;                          // pass, fail, skip, crash
  std::map<std::string, std::string> differs;  // rule -> what the driver does instead of what the manual says
  std::string detail;                          // first failure, or why it was skipped
  bool bad() const { return result == "fail" || result == "crash"; }
};

struct ConformRecord {
  std::string device, driver;
  std::vector<TestResult> tests;

  const TestResult* find(const std::string& name) const;
};

// The lines of tab-separated text; each cell by its place.
std::vector<std::vector<std::string>> readCells(const std::string& path);

std::vector<Rule> parseRules(const std::vector<std::vector<std::string>>& rows);

// Without tests when the file is no record.
ConformRecord readRecord(const std::string& path);

}  // namespace vg::tools
