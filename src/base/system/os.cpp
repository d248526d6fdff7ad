#include "base/system/os.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/memory/own_memory.h"
#include "base/memory/shortage.h"
#include "base/system/cgroups.h"
#include "base/system/small_file.h"

namespace vg::os {
namespace {

constexpr uint32_t kNoLimit = UINT32_MAX;

std::string firstLine(const std::string& path) {
  std::string content = contentOf(path);
  content.resize(std::min(content.find('\n'), content.size()));
  return content;
}

uint32_t coresOf(double quota, double period) {
  if (quota <= 0 || period <= 0) return kNoLimit;
  return static_cast<uint32_t>(std::clamp((quota + period - 1) / period, 1.0, 65536.0));
}

// cgroup v2: "max 100000" or "150000 100000".
uint32_t quotaOf(const std::string& folder) {
  double quota = 0, period = 0;
  if (sscanf(firstLine(folder + "/cpu.max").c_str(), "%lf %lf", &quota, &period) != 2) return kNoLimit;
  return coresOf(quota, period);
}

// The limits of the process's own group and of all groups above it.
uint32_t cgroupCores() {
  const std::string root = "/sys/fs/cgroup";
  const std::string_view membership = cgroupMembership();
  const CgroupVersion version = versionOfController(membership, "cpu");
  uint32_t cores = version == CgroupVersion::First ? kNoLimit : quotaOf(root);
  std::string group(membership.substr(0, membership.find('\n')));
  if (group.rfind("0::", 0) == 0) {
    for (group.erase(0, 3); group.size() > 1; group.resize(group.rfind('/')))
      cores = std::min(cores, quotaOf(root + group));
  }
  if (version == CgroupVersion::Second) return cores;
  const std::string quota = firstLine(root + "/cpu/cpu.cfs_quota_us"),
                    period = firstLine(root + "/cpu/cpu.cfs_period_us");
  if (!quota.empty() && !period.empty()) cores = std::min(cores, coresOf(atof(quota.c_str()), atof(period.c_str())));
  return cores;
}

uint32_t affinityCores() {
  for (int size = 1024; size <= 1 << 16; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return static_cast<uint32_t>(std::max(count, 1));
  }
  return 1;
}

struct Start {
  void (*main)(void*);
  void* argument;
  char name[16];
};

constinit thread_local bool ownThread [[gnu::tls_model("initial-exec")]] = false;

void* threadMain(void* argument) {
  ownThread = true;
  const Start start = *static_cast<Start*>(argument);
  delete static_cast<Start*>(argument);
  pthread_setname_np(pthread_self(), start.name);
  const own_memory::AdoptedStack stack;
  start.main(start.argument);
  return nullptr;
}

}  // namespace

bool isOwnThread() { return ownThread; }

uint32_t usableCores() {
  try {
    return std::min(affinityCores(), cgroupCores());
  } catch (const std::bad_alloc&) {  // to read files
    return affinityCores();
  }
}

uint32_t cores() {
  static constinit std::atomic<uint32_t> kept{0};
  uint32_t found = kept.load(std::memory_order_relaxed);
  if (!found) kept.store(found = usableCores(), std::memory_order_relaxed);
  return found;
}

sigset_t asynchronousSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int caused : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, caused);
  return signals;
}

bool startThread(const char* name, void (*main)(void*), void* argument) {
  std::unique_ptr<Start> start(new (std::nothrow) Start{main, argument, {}});
  if (!start) {
    shortage::tell(Shortage::HostMemory, "thread %s", name);
    return false;
  }
  snprintf(start->name, sizeof start->name, "%s", name);
  const sigset_t blocked = asynchronousSignals();
  sigset_t before;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);  // inherited by the new thread
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, threadMain, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error) {
    shortage::tell(Shortage::Threads, "thread %s: %s", name, strerror(error));
    return false;
  }
  static_cast<void>(start.release());  // the thread's own now
  return true;
}

}  // namespace vg::os
