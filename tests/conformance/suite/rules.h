// The rules of the specification (tests/conformance/rules.tsv) as the executable carries them.
#pragma once

#include <cstddef>
#include <string_view>

namespace suite {

struct Rule {
  const char* id;
  const char* function;
  const char* kind;
  const char* text;
};

extern const size_t kRuleCount;
extern const Rule kRules[];  // sorted by id

// Null when there is no such rule.
const Rule* findRule(std::string_view id);

}  // namespace suite
