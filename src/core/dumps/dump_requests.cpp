#include "core/dumps/dump_requests.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/dumps/core_dump.h"
#include "core/dumps/core_dump_attributes.h"
#include "core/dumps/request_pipe.h"

namespace vg::core::dump {
namespace {

constexpr char kDefaultName[] = "corepipe_%h_%p";
constinit Mutex mutex;  // one thread at a time names the pipe

void threadMain(void* descriptor) {
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(descriptor));
  for (;;) {
    pollfd polled{file, POLLIN, 0};
    if (poll(&polled, 1, -1) < 0 && errno != EINTR) return;
    char bytes[256];
    bool asked = false;
    while (read(file, bytes, sizeof bytes) > 0) asked = true;
    if (!asked) continue;
    Context* const context = findLiving([](Context& c) { return c.dumpAttributes().values().armed; });
    if (context) writeOnRequest(*context);
  }
}

}  // namespace

void awaitRequests(bool byFlag) {
  DumpAttributes& attributes = processDumpAttributes();
  if (!byFlag && !attributes.values().onRequest) return;
  const MutexLock lock(mutex);
  if (pipeIsOpen()) return;
  attributes.namePipe(expandDumpName(kDefaultName));
  openPipe(attributes.values().pipe, threadMain);
}

}  // namespace vg::core::dump
