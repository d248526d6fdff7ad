#include "ipc/channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vg::ipc {
namespace {

constexpr int kBacklog = 256;

struct Name {
  sockaddr_un address{};
  socklen_t bytes;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A name that begins with a zero byte is no file.
Name nameOf(const char* text) {
  Name name;
  name.address.sun_family = AF_UNIX;
  char* const at = name.address.sun_path + 1;
  const int length = snprintf(at, sizeof name.address.sun_path - 1, "verdigris-%s", text);
  name.bytes = static_cast<socklen_t>(at + length - reinterpret_cast<char*>(&name.address));
  return name;
}

struct Digits {
  explicit Digits(const Address& address) {
    char* at = text;
    for (uint8_t byte : address.bytes) at += snprintf(at, 3, "%02x", byte);
  }
  char text[2 * sizeof(Address) + 1];
};

int closed(int socket) {
  const int error = errno;
  if (socket >= 0) close(socket);
  errno = error;
  return -1;
}

// One message with room for one descriptor. Zeroed by its users' initialisation.
struct Message {
  iovec part{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  explicit Message(const Answer& answer) {
    part = {const_cast<Answer*>(&answer), sizeof answer};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  Message(const Message&) = delete;
};

int descriptorIn(msghdr& header) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int))) continue;
    int descriptor;
    std::memcpy(&descriptor, CMSG_DATA(c), sizeof descriptor);
    return descriptor;
  }
  return -1;
}

}  // namespace

int listenAt(const Address& address) { return listenAt(Digits(address).text); }
int connectTo(const Address& address, int flags) { return connectTo(Digits(address).text, flags); }

int listenAt(const char* text) {
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const Name name = nameOf(text);
  if (made < 0 || bind(made, name.get(), name.bytes) || listen(made, kBacklog)) return closed(made);
  return made;
}

int connectTo(const char* text, int flags) {
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
  const Name name = nameOf(text);
  const timeval patience{5, 0};  // an exporter that is stopped must not stop us
  if (made < 0 || setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
      setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience))
    return closed(made);
  while (connect(made, name.get(), name.bytes))
    if (errno != EINTR) return closed(made);
  return made;
}

bool peerIsOurUser(int socket, bool rootWillDo) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes)) return false;
  return peer.uid == geteuid() || (rootWillDo && peer.uid == 0);
}

bool sendAnswer(int socket, const Answer& answer, int descriptor) {
  Message message(answer);
  if (descriptor < 0) {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  } else {
    cmsghdr* c = CMSG_FIRSTHDR(&message.header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  return sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer);
}

bool receiveAnswer(int socket, Answer& answer, int& descriptor) {
  Message message(answer);
  ssize_t received;
  do {
    received = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return false;
  descriptor = descriptorIn(message.header);
  if (received == static_cast<ssize_t>(sizeof answer)) return true;
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
  return false;
}

}  // namespace vg::ipc
