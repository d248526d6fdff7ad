#include "base/memory/shortage.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/log.h"

namespace vg::shortage {
namespace {

constexpr const char* kNames[] = {"memory of the device",
                                  "memory of the host",
                                  "address space or mappings (ulimit -v, vm.max_map_count)",
                                  "threads (ulimit -u, pids.max of the cgroup)",
                                  "file descriptors (ulimit -n)",
                                  "disk space (ulimit -f, or a full file system)"};

constinit std::atomic<unsigned> told{0};  // a bit for each

bool firstTime(Shortage what) {
  const unsigned bit = 1u << static_cast<unsigned>(what);
  return !(told.fetch_or(bit, std::memory_order_relaxed) & bit);
}

}  // namespace

void tell(Shortage what, const char* reason, ...) noexcept {
  const log::Level level = firstTime(what) ? log::Level::Warn : log::Level::Info;
  if (!log::enabled(level)) return;
  char text[512];
  va_list args;
  va_start(args, reason);
  std::vsnprintf(text, sizeof text, reason, args);
  va_end(args);
  log::write(level, "out of %s: %s", kNames[static_cast<unsigned>(what)], text);
}

Shortage ofError(int error) noexcept {
  switch (error) {
    case EAGAIN:
      return Shortage::Threads;
    case EMFILE:
    case ENFILE:
      return Shortage::Descriptors;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Shortage::Disk;
    default:
      return Shortage::HostMemory;
  }
}

}  // namespace vg::shortage
