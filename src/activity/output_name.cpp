#include "activity/output_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace vg::activity {
namespace {

std::string withNumber(std::string text) {
  const std::string number = std::to_string(getpid());
  for (size_t at = 0; (at = text.find("%p", at)) != std::string::npos; at += number.size()) text.replace(at, 2, number);
  return text;
}

std::string besides(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  const size_t at = extension ? dot : path.size();
  return path.substr(0, at) + "." + std::to_string(getpid()) + path.substr(at);
}

int openLocked(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0) return -1;
  // What knows no locks, such as some file systems, is written all the same.
  if (!flock(file, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) return file;
  ::close(file);
  errno = EEXIST;
  return -1;
}

// Pipes, devices and links are not made by who opens them first.
bool isSpecial(const std::string& path) {
  struct stat found;
  return !lstat(path.c_str(), &found) && !S_ISREG(found.st_mode);
}

// ext4 puts a file that was truncated to nothing on the disk as soon as it is closed, even if it was empty before: some
// milliseconds. A new file of that name takes its place where nobody can tell them apart: ours, with no other name.
bool canBeReplaced(const std::string& path, const struct stat& found) {
  return S_ISREG(found.st_mode) && found.st_uid == geteuid() && found.st_nlink == 1 && !isSpecial(path);
}

// -1, EEXIST: another process has taken the name.
int openEmpty(const std::string& path, int flags) {
  const int file = openLocked(path, flags);
  struct stat found;
  if (file < 0 || (!fstat(file, &found) && S_ISREG(found.st_mode) && !found.st_size)) return file;
  if (!canBeReplaced(path, found) || ::unlink(path.c_str())) {
    (void)!ftruncate(file, 0);  // fails for pipes and devices
    return file;
  }
  const int fresh = openLocked(path, O_EXCL);
  if (fresh >= 0) (void)!fchmod(fresh, found.st_mode & 07777);
  const int error = errno;
  ::close(file);
  errno = error;
  return fresh;
}

}  // namespace

int openOutput(const std::string& wanted, bool keep, std::string* path) {
  *path = withNumber(wanted);
  int file = openEmpty(*path, keep && !isSpecial(*path) ? O_EXCL : 0);
  if (file < 0 && errno == EEXIST) {
    *path = besides(*path);
    file = openEmpty(*path, 0);
  }
  return file;
}

}  // namespace vg::activity
