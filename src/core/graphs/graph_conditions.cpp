#include "core/graphs/graph_conditions.h"

#include <map>
#include <new>

#include "backend/device_side/condition_table.h"
#include "base/undying.h"

namespace vg::core::graphs {
namespace {

std::map<CUgraphConditionalHandle, Condition>& conditions() {
  return undying<std::map<CUgraphConditionalHandle, Condition>, Condition>();
}
constinit CUgraphConditionalHandle lastHandle = 0;

}  // namespace

Result<CUgraphConditionalHandle> createCondition(uint64_t graph, unsigned initial, unsigned flags) {
  VG_CHECK(backend::conditions::add(lastHandle + 1));
  conditions().emplace(++lastHandle, Condition{graph, initial, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0});
  return lastHandle;
}

const Condition* findCondition(CUgraphConditionalHandle handle) {
  const auto found = conditions().find(handle);
  return found == conditions().end() ? nullptr : &found->second;
}

bool hasUnusedCondition(uint64_t graph) {
  for (const auto& [handle, condition] : conditions())
    if (condition.graph == graph && !condition.used) return true;
  return false;
}

void useCondition(CUgraphConditionalHandle handle) { conditions().at(handle).used = true; }

void releaseCondition(CUgraphConditionalHandle handle) {
  if (const auto found = conditions().find(handle); found != conditions().end()) found->second.used = false;
}

// Of a graph that goes, so nothing may fail here.
void dropConditions(uint64_t graph) {
  try {
    std::erase_if(conditions(), [&](const auto& entry) { return entry.second.graph == graph; });
  } catch (const std::bad_alloc&) {  // not even the table was made before
  }
}

}  // namespace vg::core::graphs
