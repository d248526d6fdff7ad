#include "tools/explain.h"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "tools/explain/index.h"
#include "tools/explain/nearest.h"
#include "tools/explain/page.h"

namespace vg::tools {
namespace {

using namespace knowledge;

constexpr size_t kMostPlaces = 16, kMostRules = 24;

struct Result {
  std::string_view name, text;
  int number;
};
const Result kResults[] = {
#define VG_RESULT(name, text) {#name, text, name},
#include "api/entry/results.inc"
#undef VG_RESULT
};

const Result* resultNamed(std::string_view word) {
  for (const Result& result : kResults)
    if (result.name == word || std::to_string(result.number) == word) return &result;
  return nullptr;
}

bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of "src/core/work/copy.cpp:checkPitch": its file, and its function.
std::string_view fileOf(std::string_view place) { return place.substr(0, place.find(':')); }
std::string_view functionOf(std::string_view place) {
  return place.substr(std::min(place.size(), fileOf(place).size() + 1));
}

bool isAt(std::string_view place, std::string_view word) {
  const std::string_view function = functionOf(place);
  const size_t owner = function.rfind("::");
  return word == fileOf(place) || word == function || (owner != function.npos && word == function.substr(owner + 2)) ||
         word == place;
}

bool anyAt(const Words& places, std::string_view word) {
  return std::any_of(places.begin(), places.end(), [&](std::string_view place) { return isAt(place, word); });
}

void printHeading(std::string_view name, const std::string& remark) {
  printParagraph(std::string(name) + (remark.empty() ? "" : " (" + remark + ")"));
}

// Those of `items` that come first, and how many are left.
Words atMost(Words items, size_t most, std::string& left) {
  if (items.size() <= most) return items;
  left = "and " + std::to_string(items.size() - most) + " more";
  items.resize(most);
  items.push_back(left);
  return items;
}

// ---- rules

std::string driverVerdict(const Rule& rule) {
  if (rule.state == "proven") return "does as the rule says: the tests pass on driver 580.159.04, too";
  if (rule.state == "differs") return "differs: " + std::string(rule.note);
  return "not asked; no test can tell: " + std::string(rule.note);
}

const Entry* entryNamed(const Index& index, std::string_view name) {
  for (const Entry& entry : index.entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

// Handlers of the rule's entry points and what they call.
Words waysOf(const Index& index, const Rule& rule) {
  Words ways;
  const auto add = [&ways](std::string_view place) {
    if (!place.empty() && !holds(ways, place)) ways.push_back(place);
  };
  for (const std::string_view name : rule.entries) {
    const Entry* const entry = entryNamed(index, name);
    if (!entry) continue;
    add(entry->handler);
    for (const std::string_view call : entry->calls) add(call);
  }
  return ways;
}

void printRule(const Index& index, const Rule& rule) {
  printHeading(rule.id, std::string(rule.subject) + ", " + std::string(rule.kind));
  printParagraph(rule.text, "  ");
  printList("entry points", rule.entries);
  printList("checked in", rule.checks);
  printList("values used in", rule.users);
  std::string left;
  printList("carried out in", atMost(waysOf(index, rule), kMostPlaces / 2, left));
  printList("tests", rule.tests);
  printList("real driver", {driverVerdict(rule)});
}

// One line each: "MEMCPY2D-020  If srcMemoryType is ...".
void printRuleLines(const std::vector<const Rule*>& rules) {
  for (const Rule* rule : rules) printParagraph(rule->text, "    " + std::string(rule->id) + "  ");
}

template <class Predicate>
std::vector<const Rule*> rulesOf(const Index& index, Predicate predicate) {
  std::vector<const Rule*> found;
  for (const Rule& rule : index.rules)
    if (predicate(rule)) found.push_back(&rule);
  return found;
}

void printRules(const char* title, const std::vector<const Rule*>& rules) {
  if (rules.empty()) return;
  std::printf("  %s (%zu)\n", title, rules.size());
  printRuleLines(rules);
}

// ---- what the real driver does

void printBehaviour(const Index& index, std::string_view word) {
  bool first = true;
  for (const Behaviour& row : index.behaviour) {
    if (!mentions(row.question, word) && !mentions(row.driver, word)) continue;
    if (first) std::puts("  what NVIDIA's driver 580.159.04 does (docs/driver-behaviour.md)");
    first = false;
    const std::string head = "    " + std::string(row.number) + "  ";
    printParagraph(row.question, head);
    printParagraph(row.driver, std::string(head.size(), ' ') + "-> ");
    if (row.ours != "same") printParagraph("here: " + std::string(row.ours), std::string(head.size(), ' ') + "-> ");
  }
}

// ---- entry points

std::string versionOf(const Entry& entry) {
  if (!entry.since) return "not known to cuGetProcAddress";
  return "since CUDA " + std::to_string(entry.since / 1000) + "." + std::to_string(entry.since % 1000 / 10);
}

Words checksOf(const std::vector<const Rule*>& rules) {
  Words checks;
  for (const Rule* rule : rules)
    for (const std::string_view place : rule->checks)
      if (!holds(checks, place)) checks.push_back(place);
  return checks;
}

void printEntry(const Index& index, const Entry& entry) {
  printHeading(entry.name, versionOf(entry) + (entry.live ? "" : "; not implemented: CUDA_ERROR_NOT_SUPPORTED"));
  printParagraph("CUresult " + std::string(entry.name) + std::string(entry.parameters), "  ");
  if (entry.live) printList("row", {"src/api/entry/entry_points.inc"});
  if (!entry.handler.empty()) printList("handler", {entry.handler});
  printList("calls", entry.calls);
  const auto about = rulesOf(index, [&](const Rule& rule) { return holds(rule.entries, entry.name); });
  std::string left;
  printList("checked in", atMost(checksOf(about), kMostPlaces, left));
  printList("tests", entry.tests);
}

bool explainEntryPoint(const Index& index, std::string_view word) {
  const std::string_view base = baseOf(word);
  bool found = false;
  for (const Entry& entry : index.entries) {
    if (entry.name != word && baseOf(entry.name) != base) continue;
    printEntry(index, entry);
    found = true;
  }
  if (!found) return false;
  printRules("rules", rulesOf(index, [&](const Rule& rule) {
               return std::any_of(rule.entries.begin(), rule.entries.end(),
                                  [&](std::string_view name) { return baseOf(name) == base; });
             }));
  printBehaviour(index, base);
  return true;
}

// ---- errors

bool explainError(const Index& index, std::string_view word) {
  const Result* const result = resultNamed(word);
  if (!result) return false;
  printHeading(result->name, std::to_string(result->number));
  printParagraph(result->text, "  ");
  if (result->number) {
    printParagraph(
        "VERDIGRIS_LOG=info has the log say why a call fails, with the numbers; so does "
        "verdigris run --log info.",
        "  ");
  }
  std::string left;
  for (const Error& error : index.errors)
    if (error.name == result->name) printList("answered in", atMost(error.places, kMostPlaces, left));
  auto rules = rulesOf(index, [&](const Rule& rule) { return mentions(rule.text, result->name); });
  const size_t all = rules.size();
  rules.resize(std::min(all, kMostRules));
  printRules("rules that name it", rules);
  if (rules.size() < all) std::printf("    and %zu more in docs/conformance.md\n", all - rules.size());
  if (all < kMostRules) printBehaviour(index, result->name);
  return true;
}

// ---- settings, subjects of rules, places of the source

bool explainSetting(const Index& index, std::string_view word) {
  for (const Setting& setting : index.settings) {
    if (setting.name != word) continue;
    printHeading(setting.name, "setting");
    const auto text = index.settingTexts.find(word);
    if (text != index.settingTexts.end()) printParagraph(text->second, "  ");
    printList("declared in", {"src/base/settings.h"});
    printList("read in", setting.readers);
    printList("tests", setting.tests);
    return true;
  }
  return false;
}

bool explainRule(const Index& index, std::string_view word) {
  for (const Rule& rule : index.rules)
    if (rule.id == word) return printRule(index, rule), true;
  return false;
}

bool explainSubject(const Index& index, std::string_view word) {
  const auto rules = rulesOf(index, [&](const Rule& rule) { return rule.subject == word; });
  if (rules.empty()) return false;
  printHeading(word, "include/cuda.h");
  printRules("rules", rules);
  printBehaviour(index, word);
  return true;
}

bool explainPlace(const Index& index, std::string_view word) {
  const auto rules =
      rulesOf(index, [&](const Rule& rule) { return anyAt(rule.checks, word) || anyAt(rule.users, word); });
  Words entries, errors, settings;
  for (const Entry& entry : index.entries)
    if (isAt(entry.handler, word) || anyAt(entry.calls, word)) entries.push_back(entry.name);
  for (const Error& error : index.errors)
    if (anyAt(error.places, word)) errors.push_back(error.name);
  for (const Setting& setting : index.settings)
    if (anyAt(setting.readers, word)) settings.push_back(setting.name);
  if (word.empty() || (rules.empty() && entries.empty() && errors.empty() && settings.empty())) return false;
  printHeading(word, "source");
  printList("reached from", entries);
  printList("answers", errors);
  printList("reads", settings);
  printRules("rules that it checks or whose values it uses", rules);
  return true;
}

// ---- what is not there

std::set<std::string_view> allNames(const Index& index) {
  std::set<std::string_view> names;
  for (const Entry& entry : index.entries) names.insert(baseOf(entry.name));
  for (const Rule& rule : index.rules) names.insert({rule.id, rule.subject});
  for (const Setting& setting : index.settings) names.insert(setting.name);
  for (const Result& result : kResults) names.insert(result.name);
  return names;
}

bool explainOne(const Index& index, const std::string& word) {
  const std::string name(asSpelt(word, allNames(index)));
  return explainRule(index, name) || explainEntryPoint(index, name) || explainError(index, name) ||
         explainSetting(index, name) || explainSubject(index, name) || explainPlace(index, name);
}

void printNearest(const Index& index, const std::string& word) {
  std::string line;
  for (const std::string_view name : nearest(word, allNames(index)))
    line += (line.empty() ? "" : ", ") + std::string(name);
  std::fprintf(stderr, "verdigris explain: there is no rule, entry point, error, setting or function %s\nNearest: %s\n",
               word.c_str(), line.c_str());
}

void printNames(const Index& index) {
  for (const std::string_view name : allNames(index)) std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
}

}  // namespace

int explain(const ExplainOptions& options) {
  const Index index = readIndex();
  if (options.list) return printNames(index), 0;
  if (options.names.empty() || std::count(options.names.begin(), options.names.end(), "")) {
    std::fputs("verdigris explain: NAME is missing\nRun `verdigris explain --help`.\n", stderr);
    return 2;
  }
  int status = 0;
  for (const std::string& name : options.names) {
    if (&name != &options.names.front()) std::puts("");
    if (explainOne(index, name)) continue;
    printNearest(index, name);
    status = 2;
  }
  return status;
}

}  // namespace vg::tools
