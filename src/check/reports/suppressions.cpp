#include "check/reports/suppressions.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/log.h"
#include "base/settings.h"
#include "base/sync/once.h"
#include "base/undying.h"

namespace vg::check {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

bool fitsPart(const std::string& pattern, const std::string& text) {
  return !fnmatch(("*" + pattern + "*").c_str(), text.c_str(), 0);
}

struct FromSettings {
  Once once;
  Suppressions all;  // by once
};

void readSettings(Suppressions& all) {
  all.keepOnly(splitList(settings().checkKernels));
  const std::string& path = settings().checkSuppressions;
  if (path.empty()) return;
  std::ifstream file(path);
  if (!file) VG_LOG(Warn, "VERDIGRIS_CHECK_SUPPRESSIONS=%s: %s", path.c_str(), std::strerror(errno));
  all.read(file);
}

}  // namespace

std::optional<Suppressions::Rule> Suppressions::ruleOf(const std::string& line) {
  const std::string text = trimmed(line.substr(0, line.find('#')));
  if (text.empty()) return {};
  const size_t colon = text.find(':');
  for (unsigned k = 0; colon != std::string::npos && k < kToolCount; ++k)
    if (text.substr(0, colon) == nameOf(static_cast<Tool>(k)))
      return Rule{static_cast<Tool>(k), trimmed(text.substr(colon + 1))};
  return Rule{{}, text};
}

void Suppressions::read(std::istream& lines) {
  for (std::string line; std::getline(lines, line);)
    if (std::optional<Rule> rule = ruleOf(line)) rules_.push_back(std::move(*rule));
}

bool Suppressions::fits(const Rule& rule, const FaultRecord& record) {
  if (rule.tool && *rule.tool != record.tool) return false;
  const FaultPlace& place = record.place;
  const std::string source = place.file.empty() ? "" : place.file + ":" + std::to_string(place.line);
  // A number of a line ends where the pattern does.
  return fitsPart(rule.pattern, record.headline) || !fnmatch(("*" + rule.pattern).c_str(), source.c_str(), 0) ||
         std::ranges::any_of(record.details, [&](const std::string& line) { return fitsPart(rule.pattern, line); });
}

bool Suppressions::leavesOut(const FaultRecord& record) const {
  const std::string& kernel = record.place.kernel;
  if (!kernel.empty() && !kernels_.empty() &&
      std::ranges::none_of(kernels_, [&](const std::string& pattern) { return fitsPart(pattern, kernel); }))
    return true;
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return fits(rule, record); });
}

bool isLeftOut(const FaultRecord& record) {
  FromSettings& rules = undying<FromSettings, FromSettings>();
  rules.once.call([&] { readSettings(rules.all); });
  return rules.all.leavesOut(record);
}

}  // namespace vg::check
