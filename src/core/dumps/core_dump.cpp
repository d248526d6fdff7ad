#include "core/dumps/core_dump.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "check/memory/host_pages.h"
#include "core/contexts/context.h"
#include "core/dumps/dump_writer.h"
#include "core/dumps/request_pipe.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"

namespace vg::core::dump {
namespace {

constexpr char kDefaultName[] = "core_%t_%h_%p.nvcudmp";

struct Registered {
  Moment moment;
  CUcoredumpStatusCallback callback;
  void* data;
  uintptr_t number;  // the handle, from 1 on
};
constinit Mutex callbacksMutex;
std::vector<Registered>& callbacks() VG_REQUIRES(callbacksMutex) {
  return undying<std::vector<Registered>, Registered>();
}
constinit uintptr_t lastNumber VG_GUARDED_BY(callbacksMutex) = 0;

void tell(Moment moment, const Context& context) {
  std::vector<Registered> all;
  {
    const MutexLock lock(callbacksMutex);
    all = callbacks();
  }
  const InsideHostFunction inside;
  for (const Registered& each : all)
    if (each.moment == moment) each.callback(each.data, getpid(), context.device().handle());
}

constinit Mutex mutex;
constinit bool dumped VG_GUARDED_BY(mutex) = false;
constinit bool endDue VG_GUARDED_BY(mutex) = false;  // when the kernel that was dumped has ended

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char text[1280];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (truthy(settings().dumpProgress)) {
    std::fprintf(stderr, "verdigris: core dump: %s\n", text);
  } else {
    VG_LOG(Warn, "core dump: %s", text);
  }
}

void write(Context& context, const backend::FaultScene* scene, const DumpAttributes::Values& wishes) noexcept {
  try {
    const std::string path = expandDumpName(*wishes.file ? wishes.file : kDefaultName);
    say("device %d goes to %s", context.device().ordinal(), path.c_str());
    check::host_pages::openAll();
    if (const CUresult result = writeFile(context, scene, path, wishes.flags)) {
      say("%s is not written, or only in part (error %d)", path.c_str(), static_cast<int>(result));
    } else {
      say("%s is complete", path.c_str());
    }
  } catch (const std::bad_alloc&) {
    say("the host has no memory for it");
  }
}

void endUnlessSkipped(Context& context, const DumpAttributes::Values& wishes) noexcept {
  if (wishes.flags & CU_COREDUMP_SKIP_ABORT) return;
  context.device().backend().flushOutput();
  say("the process ends now, as CU_COREDUMP_SKIP_ABORT is not set");
  endRequests();
  std::abort();
}

}  // namespace

CUcoredumpCallbackHandle addCallback(Moment moment, CUcoredumpStatusCallback callback, void* data) {
  const MutexLock lock(callbacksMutex);
  callbacks().push_back({moment, callback, data, ++lastNumber});
  return reinterpret_cast<CUcoredumpCallbackHandle>(lastNumber);
}

CUresult removeCallback(Moment moment, CUcoredumpCallbackHandle handle) {
  const MutexLock lock(callbacksMutex);
  const auto removed = std::erase_if(callbacks(), [&](const Registered& each) {
    return each.moment == moment && reinterpret_cast<CUcoredumpCallbackHandle>(each.number) == handle;
  });
  if (removed) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no callback for that", static_cast<void*>(handle));
}

void writeFor(Context& context, const backend::FaultScene& scene) noexcept {
  const DumpAttributes::Values wishes = context.dumpAttributes().values();
  if (!wishes.armed || !wishes.onException) return;
  {
    const MutexLock lock(mutex);
    if (std::exchange(dumped, true)) return;
  }
  tell(Moment::Start, context);
  {
    const MutexLock lock(mutex);
    write(context, &scene, wishes);
  }
  tell(Moment::Complete, context);
  const MutexLock lock(mutex);
  if (scene.goesOn)
    endDue = true;
  else
    endUnlessSkipped(context, wishes);
}

void afterFailure(Context& context) noexcept {
  const DumpAttributes::Values wishes = context.dumpAttributes().values();
  const MutexLock lock(mutex);
  if (endDue) endUnlessSkipped(context, wishes);
  if (wishes.armed && wishes.onException && !dumped) say("there is none: only kernels of emulated devices leave one");
}

void writeOnRequest(Context& context) noexcept {
  tell(Moment::Start, context);
  const DumpAttributes::Values wishes = context.dumpAttributes().values();
  {
    const MutexLock lock(mutex);
    write(context, nullptr, wishes);
  }
  tell(Moment::Complete, context);
  const MutexLock lock(mutex);
  endUnlessSkipped(context, wishes);
}

}  // namespace vg::core::dump
