#include "ipc/importer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vg::ipc {
namespace {

Result<Grant> ask(int socket, const Handle& handle) {
  if (!peerIsOurUser(socket)) return fail(CUDA_ERROR_NOT_PERMITTED, "the exporter belongs to another user");
  unsigned char bytes[kHandleBytes];
  handle.encode(bytes);
  Answer answer{};
  Grant grant{-1, {}};
  if (send(socket, bytes, sizeof bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof bytes) ||
      !receiveAnswer(socket, answer, grant.descriptor)) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return fail(CUDA_ERROR_MAP_FAILED, "the exporter does not answer");
    return fail(CUDA_ERROR_INVALID_HANDLE, "the exporting process has ended or refuses connections");
  }
  if (answer.verdict == Verdict::Unknown)
    return fail(CUDA_ERROR_NOT_PERMITTED, "the exporting process does not have the object, or no longer has it");
  if (answer.verdict != Verdict::Granted) return fail(CUDA_ERROR_MAP_FAILED, "the exporter is out of descriptors");
  // The system drops a descriptor for which the receiver has no room.
  if (grant.descriptor < 0) return fail(CUDA_ERROR_MAP_FAILED, "this process has no descriptor left");
  grant.note = answer.note;
  return grant;
}

}  // namespace

// An exporter drops who takes long to ask, as anybody may on a busy machine; one that has ended is not reached again.
Result<Grant> request(const Handle& handle) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const int socket = connectTo(handle.exporter, 0);
    if (socket < 0) {
      const bool nobody = errno == ECONNREFUSED || errno == ENOENT;
      return fail(nobody ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_MAP_FAILED, "no way to the exporter: %s",
                  strerror(errno));
    }
    Result<Grant> grant = ask(socket, handle);
    close(socket);
    if (grant.ok() || grant.error() != CUDA_ERROR_INVALID_HANDLE || attempt == kAttempts) return grant;
  }
}

bool alive(const Address& address) {
  const int socket = connectTo(address, SOCK_NONBLOCK);
  if (socket < 0) return errno != ECONNREFUSED && errno != ENOENT;
  close(socket);
  return true;
}

}  // namespace vg::ipc
