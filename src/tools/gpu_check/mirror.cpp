#include "tools/gpu_check/mirror.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace vg::tools {
namespace {

void writeAll(int file, const char* bytes, size_t count) {
  while (count) {
    const ssize_t written = write(file, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

// Who is interrupted at the terminal still has what was said before.
[[noreturn]] void copyTo(int from, int terminal, int file) {
  signal(SIGINT, SIG_IGN);
  char bytes[4096];
  ssize_t count;
  while ((count = read(from, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR)) {
    if (count < 0) continue;
    writeAll(file, bytes, static_cast<size_t>(count));
    writeAll(terminal, bytes, static_cast<size_t>(count));
  }
  _exit(0);
}

}  // namespace

Mirror::Mirror(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int ends[2];
  if (file < 0 || pipe2(ends, O_CLOEXEC)) {
    if (file >= 0) close(file);
    return;
  }
  std::fflush(nullptr);
  writer_ = fork();
  if (!writer_) {
    close(ends[1]);
    copyTo(ends[0], STDOUT_FILENO, file);
  }
  if (writer_ > 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
  }
  for (const int end : {file, ends[0], ends[1]}) close(end);
}

Mirror::~Mirror() {
  if (!ok()) return;
  std::fflush(nullptr);
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  waitpid(writer_, nullptr, 0);
}

}  // namespace vg::tools
