#include "backend/cpu/run/kernel_context.h"

#include <map>
#include <mutex>

#include "base/undying.h"

namespace vg::backend::cpu {
namespace {

struct Contexts {
  std::mutex mutex;  // guards living
  std::map<const KernelLimits*, std::weak_ptr<KernelContext>> living;
};

}  // namespace

std::shared_ptr<KernelContext> KernelContext::of(const KernelLimits* limits) {
  Contexts* const contexts = &undying<Contexts, Contexts>();
  if (!limits) return std::make_shared<KernelContext>(kDefaultLimits);
  const std::lock_guard lock(contexts->mutex);
  std::weak_ptr<KernelContext>& slot = contexts->living[limits];
  std::shared_ptr<KernelContext> context = slot.lock();
  if (!context) slot = context = std::make_shared<KernelContext>(*limits);
  return context;
}

}  // namespace vg::backend::cpu
