#include "ipc/handle.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>

namespace vg::ipc {
namespace {

// How a handle lies in its 64 bytes, on every machine that can share memory with another process of its own.
struct Layout {
  char magic[8];
  Subject subject;
  uint32_t zero;
  Random exporter, secret;
  uint64_t id, alsoZero;
};
static_assert(sizeof(Layout) == kHandleBytes);
constexpr char kMagic[8] = {'v', 'g', '-', 'i', 'p', 'c', '0', '1'};

}  // namespace

void Handle::encode(void* bytes) const {
  Layout layout{{}, subject, 0, exporter.bytes, secret, id, 0};
  std::memcpy(layout.magic, kMagic, sizeof kMagic);
  std::memcpy(bytes, &layout, sizeof layout);
}

Result<Handle> Handle::decode(const void* bytes) {
  Layout layout;
  std::memcpy(&layout, bytes, sizeof layout);
  if (std::memcmp(layout.magic, kMagic, sizeof kMagic) || layout.zero || layout.alsoZero)
    return fail(CUDA_ERROR_INVALID_VALUE, "the bytes are not a handle of another process");
  return Handle{layout.subject, {layout.exporter}, layout.secret, layout.id};
}

CUresult fillRandom(Random& random) {
  // Requests of up to 256 bytes are never answered in part.
  if (getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size())) return CUDA_SUCCESS;
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);  // sandboxes may refuse the call
  const bool filled = file >= 0 && read(file, random.data(), random.size()) == static_cast<ssize_t>(random.size());
  if (file >= 0) close(file);
  return filled ? CUDA_SUCCESS : fail(CUDA_ERROR_NOT_SUPPORTED, "the system has no random numbers");
}

}  // namespace vg::ipc
