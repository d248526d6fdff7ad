#include "backend/cpu/run/kernel_context.h"

#include <map>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::backend::cpu {
namespace {

struct Contexts {
  Mutex mutex;
  std::map<const KernelLimits*, std::weak_ptr<KernelContext>> living VG_GUARDED_BY(mutex);
};

}  // namespace

std::shared_ptr<KernelContext> KernelContext::of(const KernelLimits* limits) {
  Contexts* const contexts = &undying<Contexts, Contexts>();
  if (!limits) return std::make_shared<KernelContext>(kDefaultLimits);
  const MutexLock lock(contexts->mutex);
  std::weak_ptr<KernelContext>& slot = contexts->living[limits];
  std::shared_ptr<KernelContext> context = slot.lock();
  if (!context) slot = context = std::make_shared<KernelContext>(*limits);
  return context;
}

}  // namespace vg::backend::cpu
