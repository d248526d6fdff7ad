#include "backend/cpu/code/upgrades.h"

#include <list>
#include <new>
#include <optional>

#include "base/log.h"
#include "base/sync/mutex.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend::cpu::upgrades {
namespace {

struct Upgrade {
  std::weak_ptr<const void> owner;
  Upgradable* kernel;
  CodeVariant variant;
};

// Never destroyed: the thread may be at work while the process exits.
struct Queue {
  Mutex mutex;
  std::list<Upgrade> waiting VG_GUARDED_BY(mutex);
  bool running VG_GUARDED_BY(mutex) = false;  // there is a thread, which looks again before it ends
};

Queue& queue() { return undying<Queue, Queue>(); }

std::optional<Upgrade> takeNext() {
  const MutexLock lock(queue().mutex);
  if (queue().waiting.empty()) {
    queue().running = false;
    return {};
  }
  Upgrade next = std::move(queue().waiting.front());
  queue().waiting.pop_front();
  return next;
}

void run(const Upgrade& upgrade) {
  const std::shared_ptr<const void> owner = upgrade.owner.lock();
  if (!owner) return;
  try {
    upgrade.kernel->upgrade(upgrade.variant);
  } catch (const std::bad_alloc&) {
    VG_LOG(Info, "no memory to compile optimised code of kernel %s", upgrade.kernel->name().c_str());
  }
}

void work(void*) {
  while (const std::optional<Upgrade> next = takeNext()) run(*next);
}

// Whether the caller has to start the thread.
bool add(Upgrade upgrade) {
  const MutexLock lock(queue().mutex);
  queue().waiting.push_back(std::move(upgrade));
  return !std::exchange(queue().running, true);
}

void giveUp() {
  const MutexLock lock(queue().mutex);
  queue().waiting.clear();
  queue().running = false;
}

}  // namespace

void enqueue(std::weak_ptr<const void> owner, Upgradable& kernel, const CodeVariant& variant) {
  bool starts = false;
  try {
    starts = add({std::move(owner), &kernel, variant});
    if (starts && !os::startThread("vg-upgrades", work, nullptr)) giveUp();
  } catch (const std::bad_alloc&) {
    if (starts) giveUp();
    VG_LOG(Info, "no memory to schedule optimised code of kernel %s", kernel.name().c_str());
  }
}

}  // namespace vg::backend::cpu::upgrades
