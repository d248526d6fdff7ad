// What both ends of a connection share: sockets of the abstract name space, one request and one answer each.
//
// The name is random and belongs to no file, so nothing is left behind however a process ends, and processes in
// different pid name spaces meet as long as they share the network name space. Either end checks that the other belongs
// to the same user.
#pragma once

#include "ipc/handle.h"

namespace vg::ipc {

// What an exporter says of an object besides its descriptor; the object's owner knows the meaning.
using Note = std::array<std::byte, 64>;

enum class Verdict : uint32_t { Granted = 1, Unknown = 2, Exhausted = 3 };

// A request is the 64 bytes of a handle; this is the answer, with one descriptor when it is granted.
struct Answer {
  Verdict verdict;
  uint32_t zero;
  Note note;
};

// A socket that listens there, or is connected to who does; -1 with errno. O_CLOEXEC; the listener does not block.
int listenAt(const Address& address);
int connectTo(const Address& address, int flags);
// The same by a name that others can work out: at most 80 characters, which "verdigris-" goes before.
int listenAt(const char* name);
int connectTo(const char* name, int flags);

// Whether the process at the other end belongs to our user, or to root where that will do.
bool peerIsOurUser(int socket, bool rootWillDo = false);

// False when the other end is gone or will not take it. Does not block. `descriptor` -1: none.
bool sendAnswer(int socket, const Answer& answer, int descriptor);
// Waits as long as the socket's time limit. The descriptor is O_CLOEXEC and the caller's, -1 when there is none.
bool receiveAnswer(int socket, Answer& answer, int& descriptor);

}  // namespace vg::ipc
