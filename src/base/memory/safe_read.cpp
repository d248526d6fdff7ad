#include "base/memory/safe_read.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace vg::safe_read {
namespace {

constexpr size_t kPage = 4096, kPlaces = 64;

// The kernel reads what is written into a pipe, and answers EFAULT where it cannot.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK)) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  size_t copy(char* to, const char* from, size_t size) {
    size_t done = 0;
    while (done < size) {
      const size_t piece = std::min(size - done, kPage - reinterpret_cast<uintptr_t>(from + done) % kPage);
      const ssize_t written = write(ends_[1], from + done, piece);
      if (written <= 0 || read(ends_[0], to + done, static_cast<size_t>(written)) != written) break;
      done += static_cast<size_t>(written);
    }
    return done;
  }

 private:
  int ends_[2];
};

size_t throughPipe(char* to, const iovec* places, size_t count) {
  Pipe pipe;
  size_t done = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t copied = pipe.copy(to + done, static_cast<const char*>(places[i].iov_base), places[i].iov_len);
    done += copied;
    if (copied < places[i].iov_len) break;
  }
  return done;
}

// Where mincore is refused.
bool eachPageCanBeRead(uintptr_t first, uintptr_t end) {
  while (first < end) {
    iovec places[kPlaces];
    size_t count = 0;
    for (; count < kPlaces && first < end; first += kPage) places[count++] = {reinterpret_cast<void*>(first), 1};
    char bytes[kPlaces];
    if (gather(bytes, places, count) != count) return false;
  }
  return true;
}

}  // namespace

size_t gather(void* to, const iovec* places, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += places[i].iov_len;
  const iovec local{to, bytes};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, places, count, 0);
  if (got >= 0) return static_cast<size_t>(got);
  return errno == EFAULT ? 0 : throughPipe(static_cast<char*>(to), places, count);
}

size_t some(void* to, const void* from, size_t size) {
  const iovec place{const_cast<void*>(from), size};
  return gather(to, &place, 1);
}

bool mapped(const void* start, size_t size) {
  uintptr_t end = 0;
  if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(start), size, &end)) return false;
  unsigned char pages[4096];
  for (uintptr_t at = reinterpret_cast<uintptr_t>(start) / kPage * kPage; at < end;) {
    const uintptr_t length = std::min<uintptr_t>(end - at, sizeof pages * kPage);
    if (mincore(reinterpret_cast<void*>(at), length, pages)) return errno != ENOMEM && eachPageCanBeRead(at, end);
    at += length;
  }
  return true;
}

}  // namespace vg::safe_read
