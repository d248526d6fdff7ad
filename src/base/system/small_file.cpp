#include "base/system/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace vg {
namespace {

struct Descriptor {
  explicit Descriptor(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  const int number;
};

}  // namespace

std::string contentOf(const std::string& path) {
  std::string content;
  const Descriptor file(path);
  if (file.number < 0) return content;
  char part[4096];
  for (;;) {
    const ssize_t length = read(file.number, part, sizeof part);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return content;
    content.append(part, static_cast<size_t>(length));
  }
}

}  // namespace vg
