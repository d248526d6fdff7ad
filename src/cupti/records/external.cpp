#include "cupti/records/external.h"

#include <map>
#include <utility>
#include <vector>

#include "cupti/records/records.h"

namespace vg::cupti::external {
namespace {

using Stacks = std::map<std::pair<const Collector*, uint32_t>, std::vector<uint64_t>>;
// Null again when the thread's objects have ended: calls come even later, at the end of the process.
constinit thread_local Stacks* stacks = nullptr;
struct AtThreadEnd {
  ~AtThreadEnd() { delete std::exchange(stacks, nullptr); }
};

Stacks& stacksOfThread() {
  if (stacks) return *stacks;
  static thread_local AtThreadEnd atEnd;
  (void)atEnd;
  return *(stacks = new Stacks);
}

bool isKind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace

CUptiResult push(const Collector& collector, CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  stacksOfThread()[{&collector, kind}].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult pop(const Collector& collector, CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto found = stacks ? stacks->find({&collector, kind}) : Stacks::iterator();
  if (!stacks || found == stacks->end() || found->second.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = found->second.back();
  found->second.pop_back();
  return CUPTI_SUCCESS;
}

void tell(Collector& collector, uint32_t correlation) {
  if (!stacks || !collector.wants(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (auto at = stacks->lower_bound({&collector, 0}); at != stacks->end() && at->first.first == &collector; ++at) {
    if (at->second.empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(at->first.second);
    record.externalId = at->second.back();
    record.correlationId = correlation;
    collector.add(record);
  }
}

}  // namespace vg::cupti::external
