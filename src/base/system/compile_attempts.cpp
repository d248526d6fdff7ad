#include "base/system/compile_attempts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <new>

#include "base/system/file_size_guard.h"

namespace vg {
namespace {

struct Name {
  char text[64];
  explicit Name(const KernelCache::Key& key) {
    std::snprintf(text, sizeof text, "%016llx%016llx%s", static_cast<unsigned long long>(key.high),
                  static_cast<unsigned long long>(key.low), KernelCache::kAttemptsSuffix);
  }
};

// Of the process, not of the open file: a forked child does not have it.
bool lock(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return !fcntl(file, F_SETLK, &whole);
}

bool isOurs(int file) {
  struct stat status;
  return !fstat(file, &status) && S_ISREG(status.st_mode) && !cache_folder::distrust(status);
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

void CompileAttempt::count() {
  const OpenFile folder = cache_folder::open(cache_->folder(), false);
  if (!folder) return;
  OpenFile file(
      openat(folder.descriptor(), Name(key_).text, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file || !isOurs(file.descriptor()) || !lock(file.descriptor())) return;  // or another process owes it already
  (void)read(file.descriptor());
  const bool owed = kept_.begun >= kPatient && std::has_single_bit(kept_.begun) && kept_.inVain < kMostInVain;
  ++kept_.begun;
  write(file.descriptor());
  const uint32_t counted = kept_.begun;
  // Where it does not stay, nothing can be said of it.
  if (owed && read(file.descriptor()) && kept_.begun == counted) file_ = std::move(file);
}

void CompileAttempt::waits() noexcept {
  if (!owed()) return;
  ++kept_.ends;
  write(file_.descriptor());
}

void CompileAttempt::waitedInVain() noexcept {
  if (!owed()) return;
  ++kept_.inVain;
  write(file_.descriptor());
}

void CompileAttempt::over(bool made) noexcept {
  if (!cache_->active()) return;
  if (made) {
    const OpenFile folder = cache_folder::open(cache_->folder(), false);
    if (folder) unlinkat(folder.descriptor(), Name(key_).text, 0);
  } else if (owed()) {
    kept_.inVain = kMostInVain;
    write(file_.descriptor());
  }
  file_ = OpenFile(-1);
}

}  // namespace vg
