#include "evidence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "events.h"
#include "rules.h"

namespace suite {

const Rule* findRule(std::string_view id) {
  const Rule* const end = kRules + kRuleCount;
  const Rule* const found = std::lower_bound(
      kRules, end, id, [](const Rule& rule, std::string_view wanted) { return std::string_view(rule.id) < wanted; });
  return found != end && found->id == id ? found : nullptr;
}

void proves(std::initializer_list<std::string_view> ids) {
  for (std::string_view id : ids) {
    EXPECT_TRUE(findRule(id)) << "no rule has the id " << id;
    writeEvent("rule", id);
  }
}

void differs(std::string_view id, std::string_view instead) {
  EXPECT_TRUE(findRule(id)) << "no rule has the id " << id;
  writeEvent("differs", id, instead);
}

}  // namespace suite
