#include "core/modules/variable_ranges.h"

#include <atomic>
#include <iterator>
#include <map>

#include "base/sync/mutex.h"
#include "base/sync/shared_mutex.h"
#include "base/undying.h"

namespace vg::core::variables {
namespace {

struct Variable {
  size_t size;
  const Module* module;
};
struct Known {
  SharedMutex mutex;
  std::map<CUdeviceptr, Variable> byAddress VG_GUARDED_BY(mutex);
};
Known& known() {  // never destroyed
  return undying<Known, Known>();
}
constinit std::atomic<bool> any{false};  // most programs never ask for one

}  // namespace

void note(const Module& module, const backend::Global& variable) {
  if (!variable.size) return;
  const ExclusiveLock lock(known().mutex);
  known().byAddress[variable.address] = {variable.size, &module};
  any.store(true, std::memory_order_release);
}

void forget(const Module& module) {
  if (!any.load(std::memory_order_acquire)) return;
  const ExclusiveLock lock(known().mutex);
  std::erase_if(known().byAddress, [&](const auto& entry) { return entry.second.module == &module; });
}

std::optional<backend::Global> at(CUdeviceptr address) {
  if (!any.load(std::memory_order_acquire)) return std::nullopt;
  const SharedLock lock(known().mutex);
  auto found = known().byAddress.upper_bound(address);
  if (found == known().byAddress.begin()) return std::nullopt;
  --found;
  if (address - found->first >= found->second.size) return std::nullopt;
  return backend::Global{found->first, found->second.size};
}

}  // namespace vg::core::variables
