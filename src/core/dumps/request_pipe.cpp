#include "core/dumps/request_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/log.h"
#include "base/sync/mutex.h"
#include "base/system/os.h"

namespace vg::core::dump {
namespace {

constexpr mode_t kMode = 0640;

constinit Mutex mutex;
constinit int reader VG_GUARDED_BY(mutex) = -1;
constinit std::string* path VG_GUARDED_BY(mutex) = nullptr;  // never destroyed

void begin(void (*serve)(void* descriptor)) VG_REQUIRES(mutex) {
  // Open for writing too, so that it never ends when those who write close it.
  reader = mkfifo(path->c_str(), kMode) && errno != EEXIST ? -1 : open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct stat facts;
  if (reader >= 0 && (fstat(reader, &facts) || !S_ISFIFO(facts.st_mode))) {
    close(reader);
    reader = -1;
    errno = EEXIST;
  }
  if (reader < 0) {
    VG_LOG(Warn, "no core dumps on request: the pipe %s cannot be made: %s", path->c_str(), strerror(errno));
  } else if (!os::startThread("vg-dumps", serve, reinterpret_cast<void*>(static_cast<intptr_t>(reader)))) {
    close(reader);
    reader = -1;
    unlink(path->c_str());
  }
}

}  // namespace

void openPipe(const char* name, void (*serve)(void* descriptor)) {
  const MutexLock lock(mutex);
  if (reader >= 0) return;
  if (!path) path = new std::string;
  *path = name;
  begin(serve);
}

bool pipeIsOpen() {
  const MutexLock lock(mutex);
  return reader >= 0;
}

void endRequests() {
  const MutexLock lock(mutex);
  if (reader >= 0) unlink(path->c_str());
}

}  // namespace vg::core::dump
