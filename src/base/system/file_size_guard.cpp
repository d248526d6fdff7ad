#include "base/system/file_size_guard.h"

#include <sys/resource.h>
#include <time.h>

#include <cerrno>

namespace vg {
namespace {

sigset_t theSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeGuard::FileSizeGuard() {
  rlimit limit{};
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == RLIM_INFINITY) return;
  const sigset_t set = theSignal();
  // Whoever blocks it already may want what is pending.
  blocked_ = !pthread_sigmask(SIG_BLOCK, &set, &before_) && !sigismember(&before_, SIGXFSZ);
}

FileSizeGuard::~FileSizeGuard() {
  if (!blocked_) return;
  const int error = errno;
  const sigset_t set = theSignal();
  const timespec atOnce{};
  while (sigtimedwait(&set, nullptr, &atOnce) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace vg
