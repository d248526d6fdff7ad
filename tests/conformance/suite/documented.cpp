#include "documented.h"

#include <cctype>

#include "rules.h"

namespace suite {
namespace {

// The sentence that lists the set: up to the first full stop.
std::string_view listOf(const Rule& rule) {
  const std::string_view text = rule.text;
  return text.substr(0, text.find('.'));
}

bool hasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (end == text.size() || (!std::isalnum(static_cast<unsigned char>(text[end])) && text[end] != '_')) return true;
  }
  return false;
}

}  // namespace

testing::AssertionResult isDocumented(std::string_view id, CUresult result) {
  const Rule* const rule = findRule(id);
  if (!rule) return testing::AssertionFailure() << "no rule has the id " << id;
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return testing::AssertionFailure() << "result " << static_cast<int>(result) << " has no name";
  if (hasWord(listOf(*rule), name)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << rule->function << " answers " << name << ", which it does not document";
}

}  // namespace suite
