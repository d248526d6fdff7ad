// While it lives, writing or growing a file beyond `ulimit -f` fails with EFBIG on this thread, as any other failure
// does. By itself the system ends the process with SIGXFSZ, also for files that are only memory.
#pragma once

#include <signal.h>

namespace vg {

class FileSizeGuard {
 public:
  FileSizeGuard();
  ~FileSizeGuard();
  FileSizeGuard(const FileSizeGuard&) = delete;

 private:
  bool blocked_ = false;
  sigset_t before_;
};

}  // namespace vg
