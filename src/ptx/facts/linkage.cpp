#include "ptx/facts/linkage.h"

#include <algorithm>

#include "ptx/facts/words.h"

namespace vg::ptx {
namespace {

// The name behind `.func`; results in parentheses may stand before it.
std::string_view nameOfFunction(Words& words) {
  std::string_view word = words.next();
  if (word != "(") return word;
  while (!word.empty() && word != ")") word = words.next();
  return words.next();
}

// visit(name, linkage, begin of `.func`) for each function and declaration; the linkage is the word before.
template <class Visit>
void eachFunction(std::string_view text, Visit visit) {
  Words words(text);
  std::string_view before;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".func") {
      const size_t begin = words.begin(word);
      visit(nameOfFunction(words), before, begin);
    }
    before = word;
  }
}

bool isLinkage(std::string_view word) { return word == ".visible" || word == ".extern" || word == ".weak"; }

std::string withoutVariables(std::string_view text, std::string_view mark) {
  std::string result;
  size_t copied = 0, statement = 0;
  bool begins = true, marked = false;
  Words words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (begins) statement = words.begin(word);
    begins = word == ";" || word == "{" || word == "}";
    marked |= word.starts_with(mark);
    if (!begins) continue;
    if (marked && word == ";") {
      result.append(text.substr(copied, statement - copied));
      copied = words.begin(word) + 1;
    }
    marked = false;
  }
  return result.append(text.substr(copied));
}

}  // namespace

std::vector<std::string> functionsWanted(std::string_view text) {
  std::vector<std::string> found;
  eachFunction(text, [&](std::string_view name, std::string_view linkage, size_t) {
    if (linkage == ".extern") found.emplace_back(name);
  });
  return found;
}

std::vector<std::string> functionsOf(std::string_view text) {
  std::vector<std::string> found;
  eachFunction(text, [&](std::string_view name, std::string_view linkage, size_t) {
    if (linkage != ".extern") found.emplace_back(name);
  });
  return found;
}

std::string withVisible(std::string_view text, const std::vector<std::string>& functions, std::string_view mark) {
  std::string result;
  size_t copied = 0;
  eachFunction(text, [&](std::string_view name, std::string_view linkage, size_t begin) {
    if (isLinkage(linkage) || std::ranges::find(functions, name) == functions.end()) return;
    result.append(text.substr(copied, begin - copied)) += ".visible ";
    copied = begin;
  });
  return withoutVariables(result.append(text.substr(copied)), mark);
}

}  // namespace vg::ptx
