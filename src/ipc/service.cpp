#include "ipc/service.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "base/sync/spin.h"
#include "ipc/channel.h"

namespace vg::ipc {

void Service::run() {
  for (;;) {
    // When no more can be taken the queue of the socket holds the rest.
    polled_[0].events = count_ < kMost && !resting() ? POLLIN : 0;
    const int wanted = turn(), own = count_ || resting() ? kTick : -1;
    const int ready = poll(polled_, count_ + 1, wanted < 0 || own < 0 ? std::max(wanted, own) : std::min(wanted, own));
    if (ready < 0 && errno != EINTR) rest();
    if (ready > 0) serve();
    dropLate();
  }
}

bool Service::resting() const { return restUntil_ && monotonicNanoseconds() < restUntil_; }
void Service::rest() { restUntil_ = monotonicNanoseconds() + kRestPeriod; }

void Service::serve() {
  for (unsigned i = count_; i > 0; --i) {
    if (!polled_[i].revents) continue;
    const bool kept = (polled_[i].revents & POLLIN) && asked(polled_[i].fd);
    drop(i, !kept);
  }
  if (polled_[0].revents & POLLIN) take();
}

void Service::take() {
  const int client = accept4(polled_[0].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) rest();
    return;
  }
  if (!peerIsOurUser(client, rootWillDo_)) {
    VG_LOG(Warn, "a request of a process of another user was refused");
    close(client);
    return;
  }
  ++count_;
  polled_[count_] = {client, POLLIN, 0};
  until_[count_] = monotonicNanoseconds() + kPatience;
}

void Service::drop(unsigned i, bool closing) {
  if (closing) close(polled_[i].fd);
  polled_[i] = polled_[count_];
  until_[i] = until_[count_];
  --count_;
}

void Service::dropLate() {
  if (!count_) return;
  const uint64_t now = monotonicNanoseconds();
  for (unsigned i = count_; i > 0; --i)
    if (now > until_[i]) drop(i, true);
}

}  // namespace vg::ipc
