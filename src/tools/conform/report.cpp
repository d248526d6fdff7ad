#include "tools/conform/report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace vg::tools {
namespace {

using Tests = std::map<std::string, Evidence>;  // by name, of one rule

std::map<std::string, Tests> gather(const ConformReport& report) {
  std::map<std::string, Tests> byRule;
  for (const TestResult& test : report.here.tests)
    for (const std::string& rule : test.rules) byRule[rule][test.name].here = &test;
  for (const TestResult& test : report.there.tests)
    for (const std::string& rule : test.rules) byRule[rule][test.name].there = &test;
  return byRule;
}

RuleState stateOf(const std::vector<Evidence>& evidence) {
  bool passed = false;
  for (const Evidence& one : evidence) {
    if (one.differs()) return RuleState::Differs;
    passed |= one.here && one.here->result == "pass";
  }
  return passed ? RuleState::Pass : RuleState::NotTested;
}

RuleReport reportRule(const Rule& rule, const Tests& tests) {
  RuleReport report{rule, RuleState::NotTested, {}, {}};
  for (const auto& [name, evidence] : tests) {
    report.evidence.push_back(evidence);
    const TestResult& said = evidence.here ? *evidence.here : *evidence.there;
    if (const auto found = said.differs.find(rule.id); found != said.differs.end())
      report.driverInstead = found->second;
  }
  report.state = stateOf(report.evidence);
  return report;
}

}  // namespace

bool Evidence::differs() const {
  if (here && here->bad()) return true;
  return here && there && here->result != there->result;
}

size_t FunctionReport::count(RuleState state) const {
  return static_cast<size_t>(
      std::count_if(rules.begin(), rules.end(), [&](const RuleReport& rule) { return rule.state == state; }));
}

size_t ConformReport::count(RuleState state) const {
  size_t sum = 0;
  for (const FunctionReport& function : functions) sum += function.count(state);
  return sum;
}

ConformReport makeReport(const std::vector<Rule>& rules, ConformRecord here, ConformRecord there, bool compares) {
  ConformReport report{std::move(here), std::move(there), compares, {}};
  std::map<std::string, Tests> byRule = gather(report);
  std::map<std::string, size_t> places;
  for (const Rule& rule : rules) {
    const auto [place, isNew] = places.emplace(rule.function, report.functions.size());
    if (isNew) report.functions.push_back({rule.function, {}});
    report.functions[place->second].rules.push_back(reportRule(rule, byRule[rule.id]));
  }
  return report;
}

void printReport(const ConformReport& report) {
  printf("%-42s %6s %6s %7s %11s\n", "function", "rules", "pass", "differ", "not tested");
  const auto line = [](const std::string& name, size_t rules, size_t pass, size_t differ, size_t untested) {
    printf("%-42s %6zu %6zu %7zu %11zu\n", name.c_str(), rules, pass, differ, untested);
  };
  size_t rules = 0;
  for (const FunctionReport& function : report.functions) {
    rules += function.rules.size();
    line(function.name, function.rules.size(), function.count(RuleState::Pass), function.count(RuleState::Differs),
         function.count(RuleState::NotTested));
  }
  line("all", rules, report.count(RuleState::Pass), report.count(RuleState::Differs),
       report.count(RuleState::NotTested));
}

}  // namespace vg::tools
