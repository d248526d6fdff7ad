#include "cupti/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/tables/companion.h"
#include "base/sync/mutex.h"

namespace vg::cupti {
namespace {

constinit std::atomic<void*> library{nullptr};
constinit std::atomic<const api::ObserverTable*> found{nullptr};
constinit Mutex finding;
constinit bool told VG_GUARDED_BY(finding) = false;
constinit thread_local int ownCalls = 0;

void say(const char* what) VG_REQUIRES(finding) {
  const char* const level = std::getenv("VERDIGRIS_LOG");
  if (told || (level && (!std::strcmp(level, "off") || !std::strcmp(level, "critical")))) return;
  told = true;
  std::fprintf(stderr, "verdigris libcupti.so.13: %s\n", what);
}

const api::ObserverTable* find() VG_REQUIRES(finding) {
  void* const opened = api::driverLibrary();
  if (!opened) return say("there is no libcuda.so.1, so nothing can be profiled"), nullptr;
  const auto* const observer = api::exportTable<api::ObserverTable>(opened, api::kObserverTableId);
  if (!observer) return say("the libcuda.so.1 of this process is not Verdigris's; use its own libcupti.so.13"), nullptr;
  if (observer->size < sizeof(api::ObserverTable))
    return say("libcuda.so.1 is of an older build than this library; install both of one build"), nullptr;
  library.store(opened, std::memory_order_release);
  return observer;
}

}  // namespace

const api::ObserverTable* driver() {
  if (const api::ObserverTable* const table = found.load(std::memory_order_acquire)) return table;
  const MutexLock lock(finding);
  if (!found.load(std::memory_order_relaxed)) found.store(find(), std::memory_order_release);
  return found.load(std::memory_order_relaxed);
}

void* driverFunction(const char* symbol) {
  void* const opened = driver() ? library.load(std::memory_order_acquire) : nullptr;
  return opened ? dlsym(opened, symbol) : nullptr;
}

OwnCalls::OwnCalls() { ++ownCalls; }
OwnCalls::~OwnCalls() { --ownCalls; }
bool OwnCalls::here() { return ownCalls > 0; }

}  // namespace vg::cupti
