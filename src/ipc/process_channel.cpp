#include "ipc/process_channel.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "ipc/channel.h"

namespace vg::ipc {
namespace {

constexpr int kLook = 200;  // ms between looks whether the process lives

struct Name {
  char text[64];
};

Name nameOf(ino_t space, int number) {
  Name name;
  snprintf(name.text, sizeof name.text, "process-%llx-%d", static_cast<unsigned long long>(space), number);
  return name;
}

// The pid name space of a process, as long as we may know.
bool spaceOf(const char* process, ino_t& space) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/ns/pid", process);
  struct stat facts;
  if (stat(path, &facts)) return false;
  space = facts.st_ino;
  return true;
}

// A process, by the number of one of its threads.
struct Target {
  int process;    // its number in our name space
  int ownNumber;  // and in its own: the last that /proc/<pid>/status lists
};

Target targetOf(int thread) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  Target target{thread, thread};
  FILE* const file = fopen(path, "re");
  if (!file) return target;
  while (fgets(line, sizeof line, file)) {
    const char* const last = std::strrchr(line, '\t');
    if (!last) continue;
    if (!std::strncmp(line, "Tgid:", 5)) target.process = std::atoi(last + 1);
    if (!std::strncmp(line, "NStgid:", 7)) target.ownNumber = std::atoi(last + 1);
  }
  fclose(file);
  return target;
}

Name nameOf(const Target& target) {
  ino_t ours = 0, theirs = 0;
  char text[16];
  snprintf(text, sizeof text, "%d", target.process);
  if (!spaceOf("self", ours)) return nameOf(0, target.process);
  if (!spaceOf(text, theirs) || theirs == ours) return nameOf(ours, target.process);
  return nameOf(theirs, target.ownNumber);
}

bool exists(int pid) { return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM); }

CUresult gone(int pid) { return fail(CUDA_ERROR_OPERATING_SYSTEM, "there is no process %d", pid); }

class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  Connection(const Connection&) = delete;
  ~Connection() {
    if (socket_ >= 0) close(socket_);
  }
  int get() const { return socket_; }

 private:
  const int socket_;
};

bool listensThere(int socket, int pid) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == pid;
}

}  // namespace

int listenAsProcess() {
  ino_t space = 0;
  (void)spaceOf("self", space);
  return listenAt(nameOf(space, getpid()).text);
}

Result<ProcessAnswer> ask(int pid, const ProcessQuestion& question) {
  if (!exists(pid)) return gone(pid);
  const Target target = targetOf(pid);
  const Connection connection(connectTo(nameOf(target).text, 0));
  if (connection.get() < 0) {
    if (!exists(pid)) return gone(pid);
    return fail(CUDA_ERROR_NOT_INITIALIZED, "process %d cannot be asked, as it has not called cuInit: %s", pid,
                strerror(errno));
  }
  if (!listensThere(connection.get(), target.process))
    return fail(CUDA_ERROR_NOT_INITIALIZED, "another process answers under the name of process %d", pid);
  if (send(connection.get(), &question, sizeof question, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof question))
    return gone(pid);
  for (;;) {
    pollfd polled{connection.get(), POLLIN, 0};
    const int ready = poll(&polled, 1, kLook);
    if (ready == 0 && !exists(pid)) return gone(pid);
    if (ready <= 0) continue;
    ProcessAnswer answer;
    if (recv(connection.get(), &answer, sizeof answer, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer))
      return answer;
    if (!exists(pid)) return gone(pid);
    return fail(CUDA_ERROR_OPERATING_SYSTEM, "process %d does not answer, or is not ours", pid);
  }
}

bool tell(int client, const ProcessAnswer& answer) {
  return send(client, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer);
}

bool hear(int client, ProcessQuestion& question) {
  const ssize_t received = recv(client, &question, sizeof question, MSG_DONTWAIT | MSG_TRUNC);
  return received == static_cast<ssize_t>(sizeof question) && question.version == ProcessQuestion::kVersion &&
         question.pairCount <= ProcessQuestion::kMostPairs;
}

}  // namespace vg::ipc
