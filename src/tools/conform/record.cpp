#include "tools/conform/record.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace vg::tools {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + separator.size());
    if (end != std::string_view::npos && text.empty()) parts.emplace_back();
  }
  return parts;
}

TestResult parseTest(const std::vector<std::string>& cells) {
  TestResult test{cells[0], split(cells[1], "; "), cells[2], {}, cells.size() > 4 ? cells[4] : ""};
  for (const std::string& part : split(cells[3], "; "))
    if (const size_t colon = part.find(": "); colon != std::string::npos)
      test.differs[part.substr(0, colon)] = part.substr(colon + 2);
  return test;
}

}  // namespace

std::vector<std::vector<std::string>> readCells(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(split(line, "\t"));
  return rows;
}

std::vector<Rule> parseRules(const std::vector<std::vector<std::string>>& rows) {
  std::vector<Rule> rules;
  for (const auto& cells : rows)
    if (cells.size() >= 4) rules.push_back({cells[0], cells[1], cells[2], cells[3]});
  return rules;
}

const TestResult* ConformRecord::find(const std::string& name) const {
  const auto found =
      std::find_if(tests.begin(), tests.end(), [&](const TestResult& test) { return test.name == name; });
  return found == tests.end() ? nullptr : &*found;
}

ConformRecord readRecord(const std::string& path) {
  ConformRecord record;
  for (const auto& cells : readCells(path)) {
    if (cells.size() < 2) continue;
    if (cells[0] == "# device") {
      record.device = cells[1];
    } else if (cells[0] == "# driver") {
      record.driver = cells[1];
    } else if (cells[0][0] != '#' && cells[0] != "test" && cells.size() >= 4) {
      record.tests.push_back(parseTest(cells));
    }
  }
  return record;
}

}  // namespace vg::tools
