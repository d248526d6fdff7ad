#include "base/system/compile_attempts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <new>
#include <string>

#include "base/sync/patience.h"
#include "base/system/file_size_guard.h"
#include "base/system/small_file.h"

namespace vg {
namespace {

struct Name {
  char text[64];
  explicit Name(const KernelCache::Key& key) {
    std::snprintf(text, sizeof text, "%016llx%016llx%s", static_cast<unsigned long long>(key.high),
                  static_cast<unsigned long long>(key.low), KernelCache::kAttemptsSuffix);
  }
};

// Until the file is closed; others hold it as briefly.
bool lock(int file) {
  return inAMoment([&] {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return !fcntl(file, F_SETLK, &whole);
  });
}

bool isOurs(int file) {
  struct stat status;
  return !fstat(file, &status) && S_ISREG(status.st_mode) && !cache_folder::distrust(status);
}

// When a process began, in ticks since the system did; 0: there is none, or it has ended.
uint64_t beginOf(uint32_t process) {
  const std::string all = contentOf("/proc/" + std::to_string(process) + "/stat");
  const size_t name = all.rfind(')');  // which may hold anything
  char state = 'Z';
  unsigned long long begin = 0;
  constexpr const char* kFormat = " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
  if (name == std::string::npos || std::sscanf(all.c_str() + name + 1, kFormat, &state, &begin) != 2) return 0;
  return state == 'Z' || state == 'X' ? 0 : begin;
}

}  // namespace

CompileAttempt CompileAttempt::begin(const KernelCache& cache, const KernelCache::Key& key) noexcept {
  CompileAttempt attempt(cache, key);
  try {
    if (cache.active()) attempt.count();
  } catch (const std::bad_alloc&) {  // not counted
  }
  return attempt;
}

bool CompileAttempt::read(int file) {
  Kept found;
  if (pread(file, &found, sizeof found, 0) != sizeof found || found.magic != Kept::kMagic) return false;
  kept_ = found;
  return true;
}

void CompileAttempt::write(int file) const {
  const FileSizeGuard guard;
  (void)!pwrite(file, &kept_, sizeof kept_, 0);
}

OpenFile CompileAttempt::open(int folder, int flags) const {
  OpenFile file(openat(folder, Name(key_).text, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600));
  return file && isOurs(file.descriptor()) && lock(file.descriptor()) ? std::move(file) : OpenFile(-1);
}

// Another process owes it, and is still there.
bool CompileAttempt::isOwedByOther() const {
  const auto own = static_cast<uint32_t>(getpid());
  return kept_.owner && kept_.owner != own && kept_.ownerBegan && beginOf(kept_.owner) == kept_.ownerBegan;
}

void CompileAttempt::count() {
  const OpenFile folder = cache_folder::open(cache_->folder(), false);
  // Where no code can be added there is nothing to wait for.
  if (!folder || faccessat(folder.descriptor(), ".", W_OK, AT_EACCESS)) return;
  const OpenFile file = open(folder.descriptor(), O_CREAT);
  if (!file) return;
  (void)read(file.descriptor());
  if (isOwedByOther()) return;
  const bool owed = kept_.begun >= kPatient && std::has_single_bit(kept_.begun) && kept_.inVain < kMostInVain;
  ++kept_.begun;
  if (owed) {
    kept_.owner = static_cast<uint32_t>(getpid());
    kept_.ownerBegan = beginOf(kept_.owner);
  }
  write(file.descriptor());
  const uint32_t counted = kept_.begun;
  // Where it does not stay, nothing can be said of it.
  owed_ = owed && read(file.descriptor()) && kept_.begun == counted;
}

// Nothing where another process owes it now. By who owes it also in a handler of a signal: no memory is asked for.
template <class Change>
void CompileAttempt::change(const Change& what) noexcept {
  try {
    const OpenFile folder = cache_folder::open(cache_->folder(), false);
    if (!folder) return;
    const OpenFile file = open(folder.descriptor(), 0);
    if (!file || !read(file.descriptor())) return;
    if (owed() ? kept_.owner != static_cast<uint32_t>(getpid()) : isOwedByOther()) return;
    what(kept_);
    write(file.descriptor());
  } catch (const std::bad_alloc&) {  // not counted
  }
}

void CompileAttempt::waits() noexcept {
  if (owed()) change([](Kept& kept) { ++kept.ends; });
}

void CompileAttempt::waitedInVain() noexcept {
  if (owed()) change([](Kept& kept) { ++kept.inVain; });
}

void CompileAttempt::over(bool made) noexcept {
  if (!cache_->active()) return;
  if (made && cache_->holds(key_)) {
    const OpenFile folder = cache_folder::open(cache_->folder(), false);
    if (folder) unlinkat(folder.descriptor(), Name(key_).text, 0);
  } else if (made || owed()) {
    change([](Kept& kept) { kept.inVain = kMostInVain; });
  }
  owed_ = false;
}

}  // namespace vg
