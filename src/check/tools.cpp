#include "check/tools.h"

#include <iterator>

#include "base/settings.h"

namespace vg::check {

constinit std::atomic<ToolSet> toolsOn{0};

namespace {
constexpr const char* kNames[] = {"memory", "race", "sync", "init", "exits", "api", "leaks"};
static_assert(std::size(kNames) == kToolCount);
}  // namespace

const char* nameOf(Tool tool) { return kNames[static_cast<unsigned>(tool)]; }

ToolSet parseTools(const std::string& text, std::string* unknown) {
  ToolSet tools = 0;
  for (const std::string& word : splitList(text)) {
    if (word == "all") {
      tools |= kAllTools;
      continue;
    }
    ToolSet found = word == "continue" ? kGoOn : 0;
    for (unsigned k = 0; k < std::size(kNames); ++k)
      if (word == kNames[k]) found = 1u << k;
    if (!found && unknown) *unknown = word;
    tools |= found;
  }
  return tools == kGoOn ? 0 : tools;
}

}  // namespace vg::check
