#include "cupti/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/mutex.h"

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

// The driver library that the program has, else the one of this installation (in the folder above this library's or in
// the same), else the one that is found.
void* openLibrary() {
  if (void* const loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return loaded;
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&openLibrary), &own) && own.dli_fname) {
    const std::string path = own.dli_fname;
    for (const char* place : {"../libcuda.so.1", "libcuda.so.1"})
      if (void* const there = dlopen((path.substr(0, path.rfind('/') + 1) + place).c_str(), RTLD_NOW)) return there;
  }
  return dlopen("libcuda.so.1", RTLD_NOW);
}

const api::ObserverTable* find() VG_REQUIRES(finding) {
  void* const opened = openLibrary();
  if (!opened) return say("there is no libcuda.so.1, so nothing can be profiled"), nullptr;
  const auto tables = reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(dlsym(opened, "cuGetExportTable"));
  const void* table = nullptr;
  if (!tables || tables(&table, &api::kObserverTableId) != CUDA_SUCCESS || !table)
    return say("the libcuda.so.1 of this process is not Verdigris's; use its own libcupti.so.13"), nullptr;
  const auto* const observer = static_cast<const api::ObserverTable*>(table);
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
