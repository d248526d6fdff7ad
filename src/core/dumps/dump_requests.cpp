#include "core/dumps/dump_requests.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/log.h"
#include "base/os.h"
#include "core/contexts/context.h"
#include "core/dumps/core_dump.h"
#include "core/dumps/core_dump_attributes.h"

namespace vg::core::dump {
namespace {

constexpr char kDefaultName[] = "corepipe_%h_%p";
constexpr mode_t kMode = 0640;

constinit std::mutex mutex;  // guards what follows
constinit int reader = -1;
constinit char path[DumpAttributes::kNameBytes] = {};

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

// Requires: the mutex is held.
void begin() {
  // Open for writing too, so that it never ends when those who write close it.
  reader = mkfifo(path, kMode) && errno != EEXIST ? -1 : open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct stat facts;
  if (reader >= 0 && (fstat(reader, &facts) || !S_ISFIFO(facts.st_mode))) {
    close(reader);
    reader = -1;
    errno = EEXIST;
  }
  if (reader < 0) {
    VG_LOG(Warn, "core dumps cannot be asked for at %s: %s", path, strerror(errno));
  } else if (!os::startThread("vg-dumps", threadMain, reinterpret_cast<void*>(static_cast<intptr_t>(reader)))) {
    close(reader);
    reader = -1;
    unlink(path);
  }
}

}  // namespace

void awaitRequests(bool byFlag) {
  DumpAttributes& attributes = processDumpAttributes();
  if (!byFlag && !attributes.values().onRequest) return;
  const std::lock_guard lock(mutex);
  if (reader >= 0) return;
  attributes.namePipe(expandDumpName(kDefaultName));
  std::memcpy(path, attributes.values().pipe, sizeof path);
  begin();
}

void endRequests() {
  const std::lock_guard lock(mutex);
  if (reader >= 0) unlink(path);
}

}  // namespace vg::core::dump
